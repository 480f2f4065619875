//! From sightings to the log: what each packet says of hosts and queues, in one pass.

use crate::decode::{Skip, quic};
use crate::delay::discard::Discard;
use crate::delay::flow::Flow;
use crate::delay::flow::spin_bit::Spin;
use crate::delay::flow::utp::{Candidate, Decided};
use crate::delay::host::Hosts;
use crate::delay::meter_state::MeterState;
use crate::delay::options::Options;
use crate::delay::sighting::classifier::Classifier;
use crate::delay::sighting::flow_table::Key;
use crate::delay::sighting::{Batch, Sighting, What};
use crate::read::Frame;
use std::convert::Infallible;

/// Tracks that are made between two finalizations; half a kilobyte each.
const MOST_NEW_TRACKS: usize = 1 << 16;

/// Packets that flows remember until they are answered, on average over all that may be told apart; some 40 bytes each.
const MOST_REMEMBERED: usize = 32;

/// Reads frames, and settles what they say when asked.
#[derive(Default)]
pub struct Meter {
    pub(crate) state: MeterState,
    /// By place, with their keys.
    pub(crate) flows: Vec<(Key, Flow)>,
    pub(crate) start_ns: Option<i64>,
    pub(crate) frames: u64,
    pub(crate) skipped: [u64; Skip::ALL.len()],
    pub(crate) last_time: i64,
    /// Tracks that the last finalization kept.
    pub(crate) tracks_kept: usize,
    most_remembered: usize,
    /// Not here while another thread looks out.
    pub(crate) classifier: Option<Classifier>,
    /// What was seen of the last single frame.
    single: Batch,
    /// Captures were not given in order of time.
    pub(crate) out_of_order: bool,
}

impl Meter {
    /// Captures were not given in order of time: packets may be counted twice, or as seen from two places, so that no
    /// delay is certain.
    pub fn captures_out_of_order(&mut self) {
        self.out_of_order = true;
    }

    /// A meter that has seen nothing.
    pub fn new(options: Options) -> Self {
        let hosts = Hosts::new(options.local.clone());
        let classifier = Some(Classifier::new(options.most_flows));
        let most_remembered = MOST_REMEMBERED * options.most_flows.max(1 << 10);
        let state = MeterState { options, hosts, ..MeterState::default() };
        Self { state, most_remembered, classifier, ..Self::default() }
    }

    /// Take in one frame. Returns whether the log is full and wants to be finalized.
    pub fn frame(&mut self, frame: &Frame<'_>) -> bool {
        let mut single = std::mem::take(&mut self.single);
        single.clear();
        if let Some(classifier) = &mut self.classifier {
            classifier.look(frame, &mut single);
            single.start_ns = classifier.start_ns;
        }
        let mut full = false;
        let Ok(()) = self.batch::<Infallible>(&single, |_| {
            full = true;
            Ok(())
        });
        self.single = single;
        full
    }

    /// Take in a batch; `full` is called whenever the log is full and wants to be finalized.
    pub(crate) fn batch<E>(
        &mut self,
        batch: &Batch,
        mut full: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.frames += batch.frames;
        self.skipped.iter_mut().zip(batch.skipped).for_each(|(all, more)| *all += more);
        self.state.discarded[Discard::TimeOutOfRange as usize] += batch.out_of_range;
        self.start_ns = self.start_ns.or(batch.start_ns);
        let mut keys = batch.keys.iter();
        let mut told = (batch.payloads.as_slice(), batch.round_trips.iter().copied());
        for sighting in &batch.sightings {
            if sighting.fresh
                && let Some(key) = keys.next()
            {
                self.renew(sighting, key);
            }
            self.last_time = sighting.time;
            self.sighting(sighting, batch.first, &mut told);
            let MeterState { log, tracks, options, remembered, .. } = &self.state;
            let is_full = log.len() >= options.log_packets || tracks.len() - self.tracks_kept >= MOST_NEW_TRACKS;
            if *remembered > self.most_remembered {
                self.forget();
            }
            if is_full {
                full(self)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn sighting(
        &mut self,
        sighting: &Sighting,
        first: u64,
        (payloads, round_trips): &mut (&[u8], impl Iterator<Item = i64>),
    ) {
        let Self { flows, state, .. } = self;
        let (key, flow) = &mut flows[sighting.place as usize];
        match &sighting.what {
            What::Segment(segment, stamp) => {
                let heard = sighting.heard(*stamp, round_trips);
                if let Flow::Tcp(flow) = flow {
                    flow.segment(state, &sighting.of(key, first), segment, &heard);
                }
            }
            What::Datagram(kept, length) => {
                let (payload, rest) = payloads.split_at(*kept as usize);
                *payloads = rest;
                let seen = sighting.of(key, first);
                match flow {
                    Flow::Utp(utp) => utp.datagram(state, &seen, (payload, *length)),
                    Flow::Undecided(candidate) => {
                        if quic::seen(payload) == Some(quic::Seen::Long) {
                            *flow = Flow::Quic(Box::new(Spin::new(state, key)));
                        } else if let Some(decided) = candidate.datagram(state, &seen, (payload, *length)) {
                            *flow = match decided {
                                Decided::Utp(utp) => Flow::Utp(utp),
                                Decided::Other => Flow::Other,
                            };
                        }
                    }
                    Flow::Quic(spin) => {
                        state.hosts.sent_besides(seen.time, *length);
                        spin.datagram(state, seen.side, payload, seen.time);
                    }
                    // Known once some had passed: the few of a name's lookup, which often goes before a connection,
                    // fill no queue.
                    Flow::Other => state.hosts.sent_besides(seen.time, *length),
                    Flow::Tcp(_) => {}
                }
            }
        }
    }

    /// A new flow takes its place, perhaps another's.
    #[cold]
    fn renew(&mut self, sighting: &Sighting, key: &Key) {
        let flow = match sighting.what {
            What::Segment(..) => Flow::Tcp(Box::default()),
            What::Datagram(..) => Flow::Undecided(Candidate::default()),
        };
        match self.flows.get_mut(sighting.place as usize) {
            None => self.flows.push((*key, flow)),
            Some(place) => {
                let (_, old) = std::mem::replace(place, (*key, flow));
                old.close(&mut self.state);
            }
        }
    }

    /// Forget what waits for an answer, as most of it does in vain: flows go on with what comes next.
    #[cold]
    fn forget(&mut self) {
        for (_, flow) in &mut self.flows {
            flow.forget(&mut self.state);
        }
    }

    /// The capture is over: what waits for an answer waits in vain. The log is not finalized.
    pub fn end(&mut self) {
        self.forget();
    }

    /// Frames taken in.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Flows told apart at the moment.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Places for packets that flows remember until they are answered.
    pub fn remembered(&self) -> usize {
        self.state.remembered
    }

    /// Hosts and what was found of them.
    pub fn hosts(&self) -> &Hosts {
        &self.state.hosts
    }
}
