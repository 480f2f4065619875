//! What packets from a far host and to it waited in queues, over time, as [`crate::Meter`] infers it.
//!
//! A queue that is first in, first out keeps packets in order. Where packets are seen as they come, one waited no less
//! than the one before it still had to wait at that time; where they are seen as they leave, no less than the one
//! behind it had waited by then.

use super::queue::{self, Flow, Lacking, Round, Told, Way};
use super::way::Answer;
use crate::Meter;
use crate::decode::Address;
use crate::delay::host::transmission::Transmission;
use crate::delay::options::Options;
use crate::read::Frame;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};

/// Samples that are kept, 16 bytes each.
const MOST: usize = 1 << 24;
/// Packets of the meter's log, 50 bytes each: all that is told is kept beside it.
const LOGGED: usize = 1 << 21;
/// Ethernet, IPv4 and TCP with timestamps.
const HEADERS: u32 = 66;

/// A far host, and whether packets went to it.
type Side = (Address, bool);

#[derive(Default)]
pub(super) struct Waits {
    meter: Meter,
    /// Logs of the meter so far.
    logs: u32,
    told: BTreeMap<Side, Told>,
    /// By flow, those that may lack something: their queue was never seen empty.
    lacking: BTreeMap<Side, BTreeMap<Flow, Lacking>>,
    own: BTreeMap<Address, [Transmission; 2]>,
    /// What flows tell of the shortest round trips of hosts, and those, as no echo and most flows tell.
    flows: BTreeMap<Address, BTreeMap<Flow, Round>>,
    rounds: BTreeMap<Address, i64>,
    kept: usize,
}

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waits").field("kept", &self.kept).finish_non_exhaustive()
    }
}

/// What packets of one host waited, and those to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host<'a> {
    pub(super) from: &'a [(i64, i64)],
    pub(super) to: &'a [(i64, i64)],
    /// What the transmission of long packets takes, from the host and to it.
    pub(super) own: [Transmission; 2],
    /// Its shortest round trip as stamps and others tell.
    pub(super) round: Option<i64>,
}

impl Waits {
    pub(super) fn new() -> Self {
        let options = Options { prompt: true, log_packets: LOGGED, ..Options::default() };
        Self { meter: Meter::new(options), ..Self::default() }
    }

    pub(super) fn frame(&mut self, frame: &Frame<'_>) {
        if self.meter.frame(frame) {
            self.take();
        }
    }

    fn take(&mut self) {
        let (mut finalized, mut samples) = (self.meter.finalize(), Vec::new());
        while finalized.fill(&mut samples, 1 << 16) {
            for sample in samples.iter().take(MOST.saturating_sub(self.kept)) {
                let host = finalized.remote(sample.flow);
                let waited = (sample.time_ns, sample.delay_ns.max(0.0) as i64);
                let side = (host, sample.toward);
                if finalized.is_whole(sample.flow, sample.toward) {
                    self.told.entry(side).or_default().push(waited);
                } else {
                    let flow = self.lacking.entry(side).or_default().entry((self.logs, sample.flow)).or_default();
                    flow.told.push(waited);
                }
                if let Some(left) = finalized.round_trip(sample.flow) {
                    let round = self.flows.entry(host).or_default().entry((self.logs, sample.flow)).or_default();
                    (round.packets, round.left) = (round.packets + 1, left as i64);
                }
                self.kept += 1;
            }
        }
        self.logs += 1;
    }

    /// All that the frames so far tell.
    pub(super) fn settle(&mut self) {
        self.take();
        self.own = self.told.keys().chain(self.lacking.keys()).map(|(host, _)| (*host, Default::default())).collect();
        let hosts = &self.meter.hosts().all;
        self.own.extend(hosts.iter().map(|host| (host.address, host.left_out().0)));
        self.rounds.extend(hosts.iter().map(|host| (host.address, host.echo_min)));
        // Its log takes as much as all that is told.
        self.meter = Meter::default();
        let hosts_of: Vec<Address> = self.own.keys().copied().collect();
        let mut sides: [Vec<Way<'_>>; 2] = Default::default();
        for (host, [from, to]) in &mut self.own {
            for (own, to) in [(from, false), (to, true)] {
                let known = self.told.remove(&(*host, to)).unwrap_or_default();
                let lacking = self.lacking.remove(&(*host, to)).unwrap_or_default();
                sides[usize::from(to)].push(Way { known, lacking, own });
            }
        }
        let [from, to] = &mut sides;
        queue::settle(from, false);
        queue::settle(to, true);
        let calm = [queue::calm(from), queue::calm(to)];
        let both = from.iter_mut().zip(to.iter_mut());
        let settled = both.zip(&hosts_of).map(|((from, to), host)| {
            let flows = self.flows.remove(host).unwrap_or_default();
            (*host, queue::round([&*from, &*to], &flows, calm), [from.take_told(), to.take_told()])
        });
        for (host, round, told) in settled.collect::<Vec<_>>() {
            let least = self.rounds.entry(host).or_insert(i64::MAX);
            *least = (*least).min(round.unwrap_or(i64::MAX));
            for (told, to) in told.into_iter().zip([false, true]).filter(|(told, _)| !told.is_empty()) {
                self.told.insert((host, to), told);
            }
        }
    }

    /// What packets from a host waited, of the one that tells most.
    pub(super) fn most(&self) -> &[(i64, i64)] {
        let from = self.told.iter().filter(|((_, to), _)| !to).map(|(_, told)| told.as_slice());
        from.max_by_key(|told| told.len()).unwrap_or_default()
    }

    /// What packets from all such hosts waited, or to them, in the order in which they were seen: one by one, as of a
    /// long capture there is no room for it twice.
    pub(super) fn all(&self, to: bool, such: impl Fn(Address) -> bool) -> impl Iterator<Item = (i64, i64)> {
        let of = self.told.iter().filter(|((host, toward), _)| *toward == to && such(*host));
        let mut rests: Vec<_> = of.map(|(_, told)| told.iter().copied()).collect();
        let firsts = rests.iter_mut().enumerate().filter_map(|(of, rest)| Some(Reverse((rest.next()?, of))));
        let mut heads: BinaryHeap<_> = firsts.collect();
        std::iter::from_fn(move || {
            let mut head = heads.peek_mut()?;
            let Reverse((told, of)) = *head;
            match rests[of].next() {
                Some(next) => *head = Reverse((next, of)),
                None => _ = PeekMut::pop(head),
            }
            Some(told)
        })
    }

    pub(super) fn of(&self, host: Address) -> Host<'_> {
        let [from, to] = [false, true].map(|to| self.told.get(&(host, to)).map_or(&[][..], Vec::as_slice));
        let own = self.own.get(&host).copied().unwrap_or_default();
        Host { from, to, own, round: self.rounds.get(&host).copied() }
    }
}

impl Host<'_> {
    /// The base round trip, of the quickest answer of the host without what packets take longer that are long, or as
    /// stamps and others tell.
    pub(super) fn round(&self, answer: &Answer) -> i64 {
        let long = [answer.came, answer.sent].into_iter().zip(self.own).map(|((_, of), own)| transmission(own, of));
        long.fold(answer.took(), i64::saturating_sub).min(self.round.unwrap_or(i64::MAX)).max(0)
    }

    /// True if something is known of packets from it, then nearly all is, and of those to it that were seen by then.
    pub(super) fn is_known(&self, at: i64) -> bool {
        !self.from.is_empty() && self.to.first().is_some_and(|(first, _)| *first <= at)
    }

    /// When a packet from the host that was seen `at` would have been, without queues and as short as any.
    pub(super) fn went(&self, at: i64, payload: u32) -> i64 {
        at.saturating_sub(waited(self.from, at, false)).saturating_sub(transmission(self.own[0], payload))
    }

    /// When a packet to the host that was seen `at` had left the queues behind it, as a short one would be seen.
    pub(super) fn came(&self, at: i64, payload: u32) -> i64 {
        at.saturating_add(waited(self.to, at, true)).saturating_add(transmission(self.own[1], payload))
    }
}

fn transmission(own: Transmission, payload: u32) -> i64 {
    own.of((payload + HEADERS).min(u32::from(u16::MAX)) as u16) as i64
}

/// What a packet seen `at` waited; `ahead`: it was seen before it waited.
pub(super) fn waited(told: &[(i64, i64)], at: i64, ahead: bool) -> i64 {
    queue::between(told, at, ahead).unwrap_or_else(|| {
        let next = told.partition_point(|(time, _)| *time < at);
        match if ahead { next.checked_sub(1).and_then(|last| told.get(last)) } else { told.get(next) } {
            Some(&(time, wait)) => wait.saturating_sub(at.saturating_sub(time).saturating_abs()).max(0),
            None => 0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_hosts_waited_is_in_order() {
        let mut waits = Waits::new();
        let hosts = [(1, vec![(10, 5), (30, 0), (30, 2)]), (2, vec![(20, 1), (30, 1)]), (3, vec![(1, 1)]), (4, vec![])];
        waits.told.extend(hosts.map(|(host, told)| ((Address(host), true), told)));
        waits.told.insert((Address(1), false), vec![(15, 9)]);
        let all: Vec<_> = waits.all(true, |host| host != Address(3)).collect();
        assert_eq!(all, [(10, 5), (20, 1), (30, 0), (30, 1), (30, 2)]);
        assert_eq!(waits.all(false, |_| true).collect::<Vec<_>>(), [(15, 9)]);
    }

    #[test]
    fn what_a_queue_that_was_never_empty_and_length_took_is_no_part_of_the_round_trip() {
        let own = [0.1, 0.2].map(|ns_per_byte| Transmission { short: 66, ns_per_byte });
        let answer = |took: i64, sent, came| Answer { sent: (100, sent), came: (100 + took, came) };
        let round = |round, of: Answer| Host { own, round, ..Host::default() }.round(&of);
        assert_eq!(round(None, answer(160, 0, 0)), 160);
        assert_eq!(round(None, answer(160, 100, 200)), 120, "20 there, 20 back");
        assert_eq!([-1, 150, 170].map(|told| round(Some(told), answer(160, 0, 0))), [0, 150, 160]);
        // That this very packet waited, as others tell, is less certain than that none was quicker.
        let told = [(100, 50), (260, 50)];
        assert_eq!(Host { from: &told, to: &told, ..Host::default() }.round(&answer(160, 0, 0)), 160);
    }

    #[test]
    fn between_two_packets_a_queue_changed_evenly_unless_it_may_have_emptied() {
        let told = [(100, 50), (120, 30), (400, 60), (500, 10)];
        assert_eq!([100, 110, 120].map(|at| waited(&told, at, true)), [50, 40, 30]);
        // It had emptied by 150, and nobody was seen to fill it.
        assert_eq!([130, 150, 390, 460, 600].map(|at| waited(&told, at, true)), [20, 0, 0, 0, 0]);
        // Who leaves at 380 came before the one that leaves at 400 did.
        assert_eq!([90, 110, 380, 330, 600].map(|at| waited(&told, at, false)), [40, 40, 40, 0, 0]);
        assert_eq!(waited(&[], 5, true), 0);
    }
}
