//! What packets from a far host and to it waited in queues, over time, as [`crate::Meter`] infers it.
//!
//! A queue that is first in, first out keeps packets in order. Where packets are seen as they come, one waited no less
//! than the one before it still had to wait at that time; where they are seen as they leave, no less than the one
//! behind it had waited by then.

use super::beside::{self, Beside};
use super::level::{self, Data};
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
    /// Who tells of a host's packets between its own, by how much that one's wait more, and how much earlier than seen
    /// their transmission begins.
    beside: BTreeMap<Side, (Address, [i64; 2])>,
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
    /// What others waited in the same queues, from them and to them.
    pub(super) beside: [Beside<'a>; 2],
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
                let left = finalized.round_trip(sample.flow).map(|left| left as i64);
                if finalized.is_whole(sample.flow, sample.toward) {
                    self.told.entry(side).or_default().push(waited);
                } else {
                    let flow = self.lacking.entry(side).or_default().entry((self.logs, sample.flow)).or_default();
                    flow.told.push(waited);
                    flow.whole = left.filter(|left| is_told(*left));
                    flow.left = flow.whole;
                }
                if let Some(left) = left {
                    let round = self.flows.entry(host).or_default().entry((self.logs, sample.flow)).or_default();
                    (round.packets, round.left) = (round.packets + 1, left);
                }
                self.kept += 1;
            }
        }
        self.logs += 1;
    }

    /// All that the frames so far tell; `data` is what came from each host, and went to it.
    pub(super) fn settle(&mut self, data: &BTreeMap<Address, [Data; 2]>) {
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
            let left = self
                .flows
                .get(host)
                .into_iter()
                .flat_map(BTreeMap::values)
                .map(|flow| flow.left)
                .filter(|left| is_told(*left))
                .min();
            let echo = self.rounds.get(host).copied().unwrap_or(i64::MAX);
            let shortest = left.map_or(echo, |left| left.min(echo));
            for (own, to) in [(from, false), (to, true)] {
                let known = self.told.remove(&(*host, to)).unwrap_or_default();
                let lacking = self.lacking.remove(&(*host, to)).unwrap_or_default();
                let [this, back] = [to, !to].map(|to| data.get(host).copied().unwrap_or_default()[usize::from(to)]);
                let long = this.is_long(back).then_some(this.packets);
                sides[usize::from(to)].push(Way { known, lacking, own, long, shortest });
            }
        }
        let [from, to] = &mut sides;
        queue::settle(from, false);
        queue::settle(to, true);
        level::of_both(&mut sides);
        let [from, to] = &mut sides;
        let calm = [queue::calm(from), queue::calm(to)];
        let round = |((from, to), host): ((&Way<'_>, &Way<'_>), &Address)| {
            let flows = self.flows.remove(host).unwrap_or_default();
            queue::round([from, to], &flows, calm).unwrap_or(i64::MAX).min(from.shortest)
        };
        let rounds: Vec<i64> = from.iter().zip(&*to).zip(&hosts_of).map(round).collect();
        let settled = from.iter_mut().zip(to).zip(&rounds).map(|((from, to), round)| {
            to.close(from, *round);
            from.close(to, *round);
            (from.earlier(false), [from.take_told(), to.take_told()])
        });
        let settled: Vec<_> = settled.collect();
        let mut begins: BTreeMap<Address, i64> = BTreeMap::new();
        for ((host, round), (earlier, told)) in hosts_of.into_iter().zip(rounds).zip(settled) {
            begins.insert(host, earlier);
            self.rounds.insert(host, round);
            for (told, to) in told.into_iter().zip([false, true]).filter(|(told, _)| !told.is_empty()) {
                self.told.insert((host, to), told);
            }
        }
        for to in [false, true] {
            let earlier = |host: &Address| if to { 0 } else { begins.get(host).copied().unwrap_or(0) };
            let of = self.told.iter().filter(|((_, toward), _)| *toward == to);
            let (hosts, told): (Vec<_>, Vec<_>) =
                of.map(|((host, _), told)| (*host, (told.as_slice(), earlier(host)))).unzip();
            for (host, found) in hosts.iter().zip(beside::find(&told, to)) {
                let Some((other, more)) = found else { continue };
                self.beside.insert((*host, to), (hosts[other], [more, told[other].1]));
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
        let beside = [false, true].map(|to| {
            let Some((other, [more, earlier])) = self.beside.get(&(host, to)) else { return Beside::default() };
            let told = self.told.get(&(*other, to)).map_or(&[][..], Vec::as_slice);
            Beside { told, more: *more, earlier: *earlier }
        });
        Host { from, to, beside, own, round: self.rounds.get(&host).copied() }
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
        let mut to = [self.to, self.beside[1].told].into_iter().filter_map(<[_]>::first);
        !self.from.is_empty() && to.any(|(first, _)| *first <= at)
    }

    /// What a packet seen `at` waited: as others of its queue tell between its own.
    fn waited(&self, at: i64, to: bool, payload: u32) -> i64 {
        let (own, beside) = (if to { self.to } else { self.from }, self.beside[usize::from(to)]);
        let begins = if to { at } else { at.saturating_sub(transmission(self.own[0], payload)) };
        let others = || {
            let other = queue::between(beside.told, begins.saturating_add(beside.earlier), to);
            other.map(|wait| wait.saturating_sub(beside.more).max(0))
        };
        match own.binary_search_by_key(&at, |(time, _)| *time) {
            Ok(_) => waited(own, at, to),
            Err(_) => others().unwrap_or_else(|| waited(own, at, to)),
        }
    }

    /// When a packet from the host that was seen `at` would have been, without queues and as short as any.
    pub(super) fn went(&self, at: i64, payload: u32) -> i64 {
        at.saturating_sub(self.waited(at, false, payload)).saturating_sub(transmission(self.own[0], payload))
    }

    /// When a packet to the host that was seen `at` had left the queues behind it, as a short one would be seen.
    pub(super) fn came(&self, at: i64, payload: u32) -> i64 {
        at.saturating_add(self.waited(at, true, payload)).saturating_add(transmission(self.own[1], payload))
    }
}

/// Of bases that nothing tells nothing is left, or no end of it.
fn is_told(left: i64) -> bool {
    (1..i64::MAX).contains(&left)
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
    fn between_the_packets_of_a_host_others_of_its_queue_tell() {
        let own = [Transmission { short: 66, ns_per_byte: 0.01 }, Transmission::default()];
        let (few, others) = ([(100, 50), (900, 50)], [(190, 70), (210, 90)]);
        let beside = Beside { told: &others, more: 10, earlier: 0 };
        let host = Host { from: &few, to: &few, beside: [beside; 2], own, ..Host::default() };
        // Its own, then as the others less what these wait more, then where nobody tells.
        assert_eq!([100, 190, 200, 400].map(|at| host.came(at, 0) - at), [50, 60, 70, 0]);
        assert_eq!([100, 190, 200, 400].map(|at| at - host.went(at, 0)), [50, 60, 70, 0]);
        // A packet of 1000 bytes took 10: it began to leave when the other one did.
        assert_eq!(200 - host.went(200, 1000), 60 + 10);
        let later = Host { beside: [Beside { earlier: 10, ..beside }; 2], ..host };
        assert_eq!([200 - later.went(200, 1000), 190 - later.went(190, 0)], [70 + 10, 70]);
        // What the others tell is told of it before its own first.
        assert_eq!([50, 100, 189, 190].map(|at| Host { to: &[], ..host }.is_known(at)), [false, false, false, true]);
        assert!(host.is_known(100) && !Host { from: &[], ..host }.is_known(300));
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
