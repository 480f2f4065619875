//! The queueing delay of each packet of a track: last step of a finalization.

use crate::delay::clock::unwrapped::Unwrapped;
use crate::delay::discard::Discard;
use crate::delay::estimate::tcp_observer::Estimate;
use crate::delay::estimate::{Estimator, tcp_observer, utp_observer};
use crate::delay::host::Hosts;
use crate::delay::host::statistics::Stats;
use crate::delay::host::transmission::Transmission;
use crate::delay::log::entry::{AWAITED, DATA, ECHOED, Entry, LONE, SPOKEN, Sampled, TOWARD, UNPROMPTED};
use crate::delay::prefetch::{self, ENTRIES_AHEAD};
use crate::delay::protocol::Protocol;
use crate::delay::track::clock_model::ClockModel;
use crate::delay::track::{Before, Track};

/// A receiver's delayed acknowledgement waits for no less, ns (40 ms in Linux): a queue grows less from one to the
/// next.
pub(crate) const DELAYED_ACK: f64 = 25e6;
/// After so many in a row that seem delayed, and were sent soon after each other, the queue did grow.
const MOST_DELAYED: u8 = 8;
/// Echoes by senders that paused for no longer than this, ns, tell when the packet that they echo arrived.
pub(crate) const PAUSE: f64 = 3e6;
/// No queue holds a packet for longer, ns.
const LONGEST_DELAY: f64 = 300e9;
/// Places in [`Before::left_out`].
const UNKNOWN: usize = 0;
const IMPLAUSIBLE: usize = 1;

/// Why a delay is not told, and the least and the most that the answer leaves, ns.
type Untold = (Discard, [f64; 2]);

/// Which way a track's packets go, whose delays they are, and all that the delays are worked out by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampler {
    /// They come from a remote host; otherwise they go to one.
    from: bool,
    /// The remote host.
    pub(crate) owner: u32,
    pub(crate) protocol: Protocol,
    estimator: Estimator,
    transmission: [Transmission; 2],
    /// What delays lack, ns, if that is none.
    unproven: [f64; 2],
    clocks: ClockModel,
    timed: bool,
    lines: bool,
    tick: f64,
    peer_tick: f64,
    base: f64,
    cross_flow_base: f64,
    base_error: f64,
    round_trip_base: f64,
    unassigned: f64,
    empty: [bool; 2],
    paced: bool,
}

impl Sampler {
    /// None of a track that gives no samples.
    pub(crate) fn of(track: &Track, hosts: &Hosts) -> Option<Self> {
        let [host, peer] = track.host;
        let from = hosts.remote(host, peer);
        let to = track.estimator == Estimator::Reported && hosts.remote(peer, host);
        let (transmission, unproven) = match track.estimator {
            Estimator::Observer => hosts.all[host as usize].left_out(),
            Estimator::Reported => ([track.transmission; 2], [0.0; 2]),
        };
        (!track.silent && (from || to)).then(|| Self {
            from,
            owner: if from { host } else { peer },
            protocol: track.protocol,
            estimator: track.estimator,
            transmission,
            unproven,
            clocks: track.clock_model(),
            timed: track.timed(),
            lines: track.lines(),
            tick: track.tick_ns.unwrap_or(0.0),
            peer_tick: track.peer_tick_ns.unwrap_or(0.0),
            base: track.base,
            cross_flow_base: track.cross_flow_base,
            base_error: track.base_error,
            round_trip_base: track.round_trip_base,
            unassigned: track.unassigned,
            empty: track.empty,
            paced: track.pace.is_kept(),
        })
    }

    /// Whether it is the commonest: stamps of TCP against the observer's clock, whose tick is known.
    #[inline]
    pub(crate) fn plain(&self) -> bool {
        let observed = self.estimator == Estimator::Observer && self.protocol == Protocol::Tcp;
        observed && self.timed && self.from && !self.lines
    }

    /// The sample of the next entry, whose delay `stats` take in, of a track that is [plain](Self::plain) or may not
    /// be; `line` is where the receiver's stamps stand.
    #[inline(always)]
    pub(crate) fn sample<const PLAIN: bool>(
        &self,
        entry: &Entry,
        line: &mut Unwrapped,
        before: &mut Before,
        stats: &mut Stats,
    ) -> Option<Sampled> {
        prefetch::behind(entry, ENTRIES_AHEAD);
        let line = if !PLAIN && self.lines { follow(line, entry) } else { 0 };
        if !PLAIN && !self.timed {
            before.left_out[UNKNOWN] += 1;
            return None;
        }
        let delay = if PLAIN {
            self.clocks.observed(entry.time, entry.stamp)
        } else {
            self.clocks.delay(entry.time, entry.stamp, line)
        };
        let excess = delay - self.base + self.cross_flow_base;
        let own = self.transmission[usize::from(entry.is(TOWARD))].of(entry.length());
        if entry.is(TOWARD) {
            let round_trip = entry.extra().map_or(0, |micros| i64::from(micros) * 1000);
            let over = round_trip as f64 - self.round_trip_base - own;
            let sent = entry.time - round_trip;
            return match self.toward(before, (entry, sent), excess, over) {
                Ok((estimate, paused)) => {
                    before.given[1] += 1;
                    stats.to.add(estimate, of_stamp(entry));
                    stats.interpolation.told((sent, entry.frame()), own, estimate, paused);
                    Some(((sent, estimate), true))
                }
                Err((why, answer)) => {
                    let awaited = (entry.is(AWAITED) && why == Discard::Paused).then_some(self.tick);
                    stats.interpolation.paused((sent, entry.frame()), of_stamp(entry), answer, awaited);
                    stats.to.discarded[why as usize] += 1;
                    None
                }
            };
        }
        before.sent_at = [entry.stamp, before.sent_at[0]];
        if entry.is(UNPROMPTED) && self.pause(before) > PAUSE + self.tick {
            stats.interpolation.unprompted();
        }
        let observed = PLAIN || (self.estimator == Estimator::Observer && self.protocol == Protocol::Tcp);
        let estimate = if observed {
            let round_trip = entry.extra().map(|micros| i64::from(micros) * 1000);
            let over = round_trip.map(|ns| ns as f64 - self.round_trip_base);
            let phase = before.phase.filter(|(stamp, _)| *stamp == entry.stamp).map(|(_, phase)| phase);
            let estimate = tcp_observer::estimate(excess, self.tick, over, phase);
            before.phase = Some((entry.stamp, (excess - estimate.delay).clamp(0.0, self.tick)));
            if let (Some(ns), true) = (round_trip, over == Some(estimate.delay)) {
                stats.rtt.add_whole(ns, 1);
            }
            estimate
        } else if self.protocol == Protocol::Tcp {
            Estimate { delay: excess.max(0.0), error: (self.tick + self.peer_tick) / 2.0 }
        } else {
            utp_observer::estimate(excess)
        };
        let (delay, error) = ((estimate.delay - own).max(0.0), estimate.error + self.base_error);
        let estimate = Estimate { delay, error };
        if !(estimate.delay.is_finite() && estimate.delay < LONGEST_DELAY) {
            before.left_out[IMPLAUSIBLE] += 1;
            return None;
        }
        if !PLAIN && !self.from {
            before.given[1] += 1;
            stats.to.add(estimate, 1);
            return Some(((entry.time, estimate), true));
        }
        before.given[0] += 1;
        stats.from.add(estimate, 1);
        stats.series.add(entry.time, estimate.delay);
        Some(((entry.time, estimate), false))
    }

    /// Count the samples that were given.
    pub(crate) fn count(&self, given: [u64; 2], stats: &mut Stats) {
        let [from, to] = given;
        stats.from.count(from, self.lacks(false));
        stats.to.count(to, self.lacks(true));
        stats.by_estimator[usize::from(self.estimator == Estimator::Reported)] += from;
    }

    /// The delay of a packet to the remote host, sent then: the round trip `over` the shortest, less what of it the
    /// packet that came back waited, whose delay is `excess` but for its stamp's tick; and whether that came after a
    /// pause.
    #[inline]
    fn toward(
        &self,
        before: &mut Before,
        (entry, sent): (&Entry, i64),
        excess: f64,
        over: f64,
    ) -> Result<(Estimate, bool), Untold> {
        let tick = self.tick;
        let phase = before.phase.filter(|(stamp, _)| *stamp == entry.stamp).map(|(_, phase)| phase);
        let back = tcp_observer::estimate(excess, tick, None, phase);
        let mut delay = (over - self.unassigned - back.delay).max(0.0);
        if delay.is_nan() || delay >= LONGEST_DELAY {
            return Err((Discard::Implausible, [0.0, over.max(0.0)]));
        }
        let (last, waited, delayed) = before.toward;
        // What stood then has drained since.
        let stands = (waited - (sent - last) as f64).max(0.0);
        if entry.is(LONE) && !entry.is(SPOKEN) && delay > stands + DELAYED_ACK && delayed < MOST_DELAYED {
            // The second that arrives ends any delay of the first's (RFC 5681 §4.2).
            let soon = (sent.saturating_sub(std::mem::replace(&mut before.alone, sent)) as f64) < DELAYED_ACK;
            before.toward.2 += u8::from(soon);
            return Err((Discard::DelayedAck, [0.0, delay]));
        }
        let (mut error, mut paused) = (back.error, false);
        if entry.is(ECHOED) || entry.is(SPOKEN) {
            // It arrived after the sender's packet before this one, and before this one.
            let pause = self.pause(before);
            paused = pause > PAUSE + tick;
            if paused && delay > PAUSE + tick {
                return Err((Discard::Paused, [(delay - pause - tick).max(0.0), delay]));
            }
            error += pause.min(delay) / 2.0;
            if paused || self.paced {
                // A sender that keeps its own pace echoes when it sends: any time since it last did is as likely.
                delay -= pause.min(delay) / 2.0;
            }
        }
        before.toward = (sent, delay, 0);
        Ok((Estimate { delay, error: error + self.base_error }, paused))
    }

    /// For how long its sender had sent nothing before the last packet, ns.
    #[inline]
    fn pause(&self, before: &Before) -> f64 {
        let [last, earlier] = before.sent_at;
        last.saturating_sub(earlier) as f64 * self.tick
    }

    /// What a delay may lack, ns, in one direction: of the base, and if its own transmission is none.
    pub(crate) fn lacks(&self, toward: bool) -> f64 {
        self.base_lacks(toward) + self.unproven[usize::from(toward)]
    }

    /// Of that, what it may lack where the base is not known to be that of an empty queue.
    pub(crate) fn base_lacks(&self, toward: bool) -> f64 {
        if self.empty[usize::from(toward)] {
            0.0
        } else if self.unassigned > 0.0 {
            self.unassigned
        } else {
            f64::INFINITY
        }
    }
}

/// How many packets its delay is that of: those without data that were sent within one tick.
fn of_stamp(entry: &Entry) -> u32 {
    if entry.is(DATA) { 1 } else { entry.packets() }
}

/// Where the receiver's stamps stand after this entry.
#[inline]
pub(crate) fn follow(line: &mut Unwrapped, entry: &Entry) -> i64 {
    entry.extra().map_or(0, |extra| {
        line.follow(extra);
        line.highest()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::log::entry::{DATA, UNCAUSED};
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;
    use crate::delay::track::own_pace::OwnPace;

    /// Delay (ms) to a host by an echo `over` ms later than the quickest, of a sender that had been silent for `pause`.
    fn echoed(over: i64, pause: i64) -> Result<Estimate, Discard> {
        ask_sampler(0.0, |sampler| {
            let mut before = Before { sent_at: [100, 100 - pause], ..Before::default() };
            let entry = Entry::new(1, 100_000_000, 100, DATA | TOWARD | ECHOED, Some((40_000 + over * 1000) as u32));
            let toward = sampler.toward(&mut before, (&entry, 0), 0.0, over as f64 * 1e6);
            toward.map(|(estimate, _)| estimate).map_err(|(why, _)| why)
        })
    }

    /// What is asked of the sampler of a connection whose round trips leave so many ns to neither way.
    fn ask_sampler<R>(unassigned: f64, ask: impl FnOnce(&Sampler) -> R) -> R {
        ask_paced(unassigned, OwnPace::default(), ask)
    }

    fn ask_paced<R>(unassigned: f64, pace: OwnPace, ask: impl FnOnce(&Sampler) -> R) -> R {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        (track.tick_ns, track.round_trip_base, track.unassigned) = (Some(1e6), 40e6, unassigned);
        track.pace = pace;
        let hosts = &mut Hosts::new(Vec::new());
        key.address.into_iter().for_each(|address| _ = hosts.of(address));
        ask(&Sampler::of(&track, hosts).unwrap())
    }

    #[test]
    fn what_was_echoed_after_a_pause_counts_as_those_sent_beside_it_did() {
        ask_sampler(0.0, |sampler| {
            let (mut stats, mut line) = (Stats::default(), Unwrapped::default());
            // Echoed by packets that did not wait themselves, so many ms later than the quickest.
            let mut give = |stats: &mut Stats, ms: i64, over: u32, pause: i64| {
                let mut before = Before { sent_at: [ms, ms - pause], ..Before::default() };
                let extra = Some(40_000 + over * 1000);
                let entry = Entry::new(ms as u64, ms * 1_000_000, ms, TOWARD | ECHOED, extra).covering(9);
                sampler.sample::<true>(&entry, &mut line, &mut before, stats).is_some()
            };
            assert!(give(&mut stats, 100, 50, 1));
            // Sent 2 ms later; its receiver paused.
            assert!(!give(&mut stats, 302, 250, 202));
            assert_eq!(stats.interpolation.settle(&mut stats.to.delay).packets, 0);
            assert_eq!(stats.to.delay.count(), 18);
            assert_eq!((stats.to.delay.min(), stats.to.delay.max()), (48e6, 50e6));
            assert!(give(&mut stats, 1200, 200, 1) && !give(&mut stats, 2200, 150, 200));
            let alone = stats.interpolation.settle(&mut stats.to.delay);
            assert_eq!((alone.packets, alone.most), (9, 9.0 * 150e6), "no more than its answer says");
        });
    }

    #[test]
    fn an_answer_after_a_pause_leaves_no_more_than_its_own_wait_and_no_less_than_the_pause() {
        ask_sampler(0.0, |sampler| {
            let answer = |flag: u64, pause: i64| {
                let mut before = Before { sent_at: [100, 100 - pause], ..Before::default() };
                let entry = Entry::new(1, 100_000_000, 100, TOWARD | flag, Some(140_000));
                // 30 ms of the round trip were the way back's; its tick is 1 ms.
                sampler.toward(&mut before, (&entry, 0), 31e6, 100e6).map_err(|(_, answer)| answer.map(|ns| ns / 1e6))
            };
            assert_eq!(answer(ECHOED, 50).unwrap_err(), [18.5, 69.5]);
            assert_eq!(answer(ECHOED, 90).unwrap_err(), [0.0, 69.5]);
            assert_eq!(answer(DATA | LONE, 1).unwrap_err(), [0.0, 69.5], "nothing bounds how long it was held back");
        });
    }

    #[test]
    fn the_answers_of_a_sender_that_waits_for_acknowledgements_count() {
        ask_sampler(0.0, |sampler| {
            // Each 50 ms one is answered that waited 20 ms, after a pause; the other end sends so many more by itself.
            for (unprompted, pause, counted) in [(0, 50, 40), (1, 50, 40), (2, 50, 0), (2, 2, 40)] {
                let (mut stats, mut line, mut before) = (Stats::default(), Unwrapped::default(), Before::default());
                let mut at = 0;
                let mut give = |stats: &mut Stats, pause: i64, flags: u64| {
                    at += pause;
                    let sent = |flags, extra| Entry::new(at as u64, at * 1_000_000, at, flags, extra);
                    sampler.sample::<true>(&sent(flags & !TOWARD, None), &mut line, &mut before, stats);
                    if flags & TOWARD != 0 {
                        sampler.sample::<true>(&sent(flags, Some(60_000)), &mut line, &mut before, stats);
                    }
                };
                give(&mut stats, 0, DATA);
                (0..40).for_each(|_| give(&mut stats, 50, TOWARD | ECHOED | AWAITED));
                (0..unprompted).for_each(|_| give(&mut stats, pause, DATA | UNPROMPTED));
                stats.interpolation.settle(&mut stats.to.delay);
                assert_eq!(stats.to.delay.count(), counted, "{unprompted} {pause}");
                assert!(counted == 0 || stats.to.delay.mean() > 19e6);
            }
        });
    }

    #[test]
    fn one_that_was_acknowledged_alone_waited_for_what_the_last_left_or_its_acknowledgement_was_held_back() {
        // One waited 30 ms; the next was sent so many ms later, and seems to have waited 40 ms.
        for (later, told) in [(10, true), (14, true), (16, false), (300, false)] {
            ask_sampler(0.0, |sampler| {
                let mut before = Before::default();
                let mut alone = |sent: i64, over: i64| {
                    let round_trip = 40 + over;
                    let time = (sent + round_trip) * 1_000_000;
                    let entry = Entry::new(1, time, 0, DATA | TOWARD | LONE, Some(round_trip as u32 * 1000));
                    sampler.toward(&mut before, (&entry, sent * 1_000_000), 0.0, over as f64 * 1e6).is_ok()
                };
                assert!(alone(1000, 20) && alone(1001, 30));
                assert_eq!(alone(1001 + later, 40), told, "{later}");
            });
        }
    }

    #[test]
    fn many_that_seem_acknowledged_late_show_a_queue_only_where_the_next_would_have_ended_that() {
        // Twelve that seem to have waited 40 ms, sent so many ms after each other; how many are told of.
        for (apart, told) in [(10, 3), (24, 3), (25, 0), (300, 0)] {
            ask_sampler(0.0, |sampler| {
                let mut before = Before::default();
                let alone = (0..12i64).filter(|i| {
                    let sent = i * apart * 1_000_000;
                    let entry = Entry::new(1, sent + 80_000_000, 0, DATA | TOWARD | LONE, Some(80_000));
                    sampler.toward(&mut before, (&entry, sent), 0.0, 40e6).is_ok()
                });
                assert_eq!(alone.count(), told, "{apart}");
            });
        }
    }

    #[test]
    fn what_a_delay_may_lack_has_no_bound_unless_round_trips_leave_one() {
        assert_eq!(ask_sampler(3e6, |sampler| sampler.lacks(false)), 3e6);
        assert_eq!(ask_sampler(0.0, |sampler| sampler.lacks(false)), f64::INFINITY);
    }

    #[test]
    fn an_answer_with_data_of_its_own_tells_nothing_after_a_pause() {
        let answered = |over: u32, pause: i64, flag: u64| {
            ask_sampler(0.0, |sampler| {
                let mut before = Before { sent_at: [100, 100 - pause], ..Before::default() };
                let entry = Entry::new(1, 100_000_000, 100, DATA | TOWARD | flag, Some(40_000 + over * 1000));
                let toward = sampler.toward(&mut before, (&entry, 0), 0.0, f64::from(over) * 1e6);
                toward.map(|(estimate, _)| estimate.delay).map_err(|(why, _)| why)
            })
        };
        assert_eq!([0, SPOKEN].map(|flag| answered(20, 10, flag)), [Ok(20e6), Err(Discard::Paused)]);
        assert_eq!(answered(20, 1, SPOKEN), Ok(20e6), "it was sent among others");
    }

    #[test]
    fn what_a_pace_of_its_own_echoes_arrived_at_any_time_since_it_sent_last() {
        let mut pace = OwnPace::default();
        (0..9).for_each(|i| pace.add(&Entry::new(i, 0, i as i64 * 3, DATA | UNCAUSED, None)));
        ask_paced(0.0, pace, |paced| {
            for (over, pause, flag, told) in [
                (2, 3, ECHOED, 1.0),
                (20, 3, ECHOED, 18.5),
                (2, 0, ECHOED, 2.0),
                (20, 3, SPOKEN, 18.5),
                (20, 3, 0, 20.0),
            ] {
                let mut before = Before { sent_at: [100, 100 - pause], ..Before::default() };
                let entry = Entry::new(1, 100_000_000, 100, DATA | TOWARD | flag, Some(40_000 + over * 1000));
                let (estimate, paused) = paced.toward(&mut before, (&entry, 0), 0.0, f64::from(over) * 1e6).unwrap();
                assert_eq!((estimate.delay / 1e6, paused), (told, false), "{over} {pause}");
                assert!(f64::from(over) * 1e6 <= estimate.delay + estimate.error);
            }
        });
    }

    #[test]
    fn a_sender_that_keeps_its_own_pace_tells_less() {
        assert_eq!(echoed(2, 1).unwrap(), Estimate { delay: 2e6, error: 0.5e6 });
        assert_eq!(echoed(50, 1).unwrap().delay, 50e6);
        // Silent for longer than the delay can be: it lies anywhere between nothing and what the echo says.
        assert_eq!(echoed(2, 10).unwrap(), Estimate { delay: 1e6, error: 1e6 });
        assert_eq!(echoed(50, 10), Err(Discard::Paused));
    }
}
