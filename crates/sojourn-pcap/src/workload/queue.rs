//! A queue that the packets of several hosts share, and what it tells of those that never met it empty.
//!
//! Who first sends when a queue is filled has a base that holds a part of it, and its packets seem to wait for so much
//! less. But packets that pass a queue one right after the other wait for the same time. Where what a host's packets
//! wait differs by a constant from what packets beside them do whose base is known, while that rises and falls, they
//! share a queue, and the constant is what the base holds of it. They share its link, too: what a long packet takes on
//! it. Connections of one host have one base, so those that are too short are compared together.
//! Where no base is known, [`super::level`] says what they lack at least.

use crate::delay::host::transmission::Transmission;
use std::collections::BTreeMap;

/// Number of a log, and of a flow in it.
pub(super) type Flow = (u32, u32);

/// What packets of one queue differ by anyhow, ns.
const LITTLE: i64 = 1_000_000;

/// When packets were seen, and what they waited, ns.
pub(super) type Told = Vec<(i64, i64)>;

/// Packets beside others without which nothing is a constant.
pub(super) const LEAST: usize = 20;
/// A full frame of Ethernet, bytes.
pub(super) const LONG: u16 = 1514;
/// Of a hundred waits or differences, in order, most lie between the tenth and the ninetieth.
const OUTER: usize = 10;
/// What is known rises and falls by so many times more than what is to be constant.
const STEADY: i64 = 2;

/// What is told of a flow's packets of one direction that never met an empty queue.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    pub(super) told: Told,
    /// What these waits leave of its round trips, ns, if that is known, and the same less what those of the other way
    /// lack.
    pub(super) whole: Option<i64>,
    pub(super) left: Option<i64>,
    /// What this one lacks, if others tell; it is no longer missing then.
    pub(super) lacks: Option<i64>,
    /// What it lacks at least, as others of its queue tell that lack something too; likewise.
    pub(super) lacks_at_least: Option<i64>,
}

impl Lacking {
    /// What others say that it lacks, at least.
    fn told_by_others(&self) -> Option<i64> {
        self.lacks.or(self.lacks_at_least)
    }

    pub(super) fn raise(&mut self, lacks: i64) {
        self.told.iter_mut().for_each(|(_, wait)| *wait = wait.saturating_add(lacks).max(0));
    }

    /// No others have told anything yet.
    pub(super) fn is_open(&self) -> bool {
        self.told_by_others().is_none()
    }
}

/// What the packets of a flow tell of its shortest round trip: how many they are, and what of it their waits leave, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) packets: usize,
    pub(super) left: i64,
}

/// What is told of a host's packets of one direction: of those that met an empty queue, and by flow of others; what the
/// transmission of long ones takes, how many went that way if most are long, and the shortest round trip of the host
/// that was seen.
#[derive(Debug)]
pub(super) struct Way<'a> {
    pub(super) known: Told,
    pub(super) lacking: BTreeMap<Flow, Lacking>,
    pub(super) own: &'a mut Transmission,
    pub(super) long: Option<u64>,
    pub(super) shortest: i64,
}

impl Way<'_> {
    /// How long before they are seen the transmission of most packets begins, where their waits end there.
    pub(super) fn earlier(&self, ahead: bool) -> i64 {
        if ahead || self.long.is_none() { 0 } else { self.own.of(LONG) as i64 }
    }

    /// What those lack of which no others have told yet, beside what is `known` of the same queue.
    pub(super) fn differ(&self, known: &[(i64, i64)], ahead: bool) -> Vec<(Flow, i64)> {
        let (mut found, mut short, mut together) = (Vec::new(), Vec::new(), Told::new());
        let earlier = self.earlier(ahead);
        for (&number, flow) in self.lacking.iter().filter(|(_, flow)| flow.is_open()) {
            if let Some(lacks) = lacks((&flow.told, earlier), known, ahead) {
                found.push((number, lacks));
            } else if let Some(left) = flow.left {
                short.push((number, left));
                together.extend(flow.told.iter().map(|(at, wait)| (*at, wait.saturating_add(left))));
            }
        }
        together.sort_unstable();
        // Their base less than nothing.
        if let Some(base) = lacks((&together, earlier), known, ahead) {
            found.extend(short.iter().map(|(number, left)| (*number, left.saturating_add(base))));
        }
        found
    }

    /// Set right what is of the same queue as what is `known`; returns what is known more.
    fn raise(&mut self, known: &Told, link: Option<Transmission>, ahead: bool) -> Told {
        let (mut raised, mut shared) = (Told::new(), false);
        let earlier = self.earlier(ahead);
        for (number, lacks) in self.differ(known, ahead) {
            let Some(flow) = self.lacking.get_mut(&number) else { continue };
            flow.raise(lacks);
            flow.lacks = Some(lacks);
            raised.extend(began(&flow.told, earlier));
            shared = true;
        }
        if let Some(link) = link.filter(|_| !self.own.known())
            && (shared || lacks((&self.known, earlier), known, ahead).is_some())
        {
            *self.own = link;
            raised.extend(began(&self.known, earlier));
        }
        raised
    }

    /// Of round trips that these waits leave less is left, as what went the other way lacks something.
    pub(super) fn leave(&mut self, other: &Self) {
        for (number, flow) in self.lacking.iter_mut().filter(|(_, flow)| flow.is_open()) {
            let lacks = other.lacking.get(number).and_then(Lacking::told_by_others).unwrap_or(0);
            flow.left = flow.whole.map(|whole| whole.saturating_sub(lacks));
        }
    }

    /// What is still open lacks what its round trips have beyond `round`, if it is known what those of the other way
    /// do.
    pub(super) fn close(&mut self, other: &Self, round: i64) {
        self.leave(other);
        let is_told = |number: &Flow| other.lacking.get(number).is_none_or(|flow| !flow.is_open());
        for (_, flow) in self.lacking.iter_mut().filter(|(number, flow)| flow.is_open() && is_told(number)) {
            let Some(left) = flow.left else { continue };
            let lacks = left.saturating_sub(round).clamp(0, left.max(0));
            flow.raise(lacks);
            flow.lacks_at_least = Some(lacks);
        }
    }

    /// All that is told, taken from here: of a long capture there is no room for it twice.
    pub(super) fn take_told(&mut self) -> Told {
        let mut told = std::mem::take(&mut self.known);
        std::mem::take(&mut self.lacking).into_values().for_each(|flow| told.extend_from_slice(&flow.told));
        told.sort_unstable();
        told
    }
}

/// Set right what lacks something, or has too much, of those that share a queue with others of which all is known;
/// then it is known too. `ahead`: packets were seen before they waited.
pub(super) fn settle(ways: &mut [Way<'_>], ahead: bool) {
    let mut links: Vec<Transmission> = ways.iter().map(|way| *way.own).filter(Transmission::known).collect();
    links.sort_unstable_by(|a, b| a.ns_per_byte.total_cmp(&b.ns_per_byte));
    let link = links.get(links.len() / 2).copied();
    for way in ways.iter_mut() {
        way.known.sort_unstable();
        way.lacking.values_mut().for_each(|flow| flow.told.sort_unstable());
    }
    // Of a long capture what is known is held twice only where that may set something right.
    let open = |way: &Way<'_>| way.lacking.values().any(Lacking::is_open);
    if ways.iter().all(|way| !open(way) && (link.is_none() || way.own.known())) {
        return;
    }
    let tells = || ways.iter().filter(|way| link.is_none() || way.own.known());
    let mut known = Told::with_capacity(tells().map(|way| way.known.len()).sum());
    for way in tells() {
        let settled = way.lacking.values().filter(|flow| flow.lacks.is_some()).map(|flow| &flow.told);
        settled.chain([&way.known]).for_each(|told| known.extend(began(told, way.earlier(ahead))));
    }
    loop {
        known.sort_unstable();
        let raised: Told = ways.iter_mut().flat_map(|way| way.raise(&known, link, ahead)).collect();
        if raised.is_empty() {
            return;
        }
        known.extend(raised);
    }
}

/// The round trip of a host without queues, ns, by its ways and flows: what waits leave of it, less what these lack, as
/// most packets agree of those that tell it. Where they are not half of all, nothing that others lack is taken off, and
/// it is no more than that. `calm`: packets waited nowhere that way.
pub(super) fn round(ways: [&Way<'_>; 2], rounds: &BTreeMap<Flow, Round>, calm: [bool; 2]) -> Option<i64> {
    let (mut found, mut at_most) = (Vec::new(), Vec::new());
    for (flow, round) in rounds {
        let lacking = [0, 1].map(|to| ways[to].lacking.get(flow));
        let lacks = [0, 1].map(|to| match lacking[to] {
            Some(flow) => flow.lacks.or(calm[to].then_some(0)),
            None => Some(0),
        });
        let at_least = [0, 1].map(|to| lacks[to].or(lacking[to]?.lacks_at_least));
        let left = at_least.iter().flatten().fold(round.left, |left, lacks| left.saturating_sub(*lacks));
        at_most.push((left, round.packets));
        if lacks.iter().all(Option::is_some) {
            found.push((left, round.packets));
        }
    }
    let packets = |of: &[(i64, usize)]| of.iter().map(|(_, packets)| packets).sum::<usize>();
    middle(if 2 * packets(&found) >= packets(&at_most) { found } else { at_most })
}

/// Of values that so many packets tell each, the one that most agree on.
fn middle(mut told: Vec<(i64, usize)>) -> Option<i64> {
    told.sort_unstable();
    let half = told.iter().map(|(_, packets)| packets).sum::<usize>().div_ceil(2);
    let mut upto = 0;
    let middle = told.into_iter().find(|(_, packets)| {
        upto += packets;
        upto >= half
    });
    middle.map(|(value, _)| value)
}

/// Whether packets waited for so little that others cannot tell it.
pub(super) fn calm(ways: &[Way<'_>]) -> bool {
    let mut waits: Vec<i64> = ways.iter().flat_map(|way| &way.known).map(|(_, wait)| *wait).collect();
    let outer = waits.len().saturating_sub(1 + waits.len() / OUTER);
    waits.len() >= LEAST && *waits.select_nth_unstable(outer).1 < LITTLE
}

/// What was told of packets, at the times at which their transmission began.
pub(super) fn began(told: &[(i64, i64)], earlier: i64) -> impl Iterator<Item = (i64, i64)> {
    told.iter().map(move |(at, wait)| (at.saturating_sub(earlier), *wait))
}

/// What `told` lacks, whose packets are seen so much later than their transmission begins, if it is of the same queue
/// as what is `known`; less than nothing if it is more than that waited.
pub(super) fn lacks((told, earlier): (&[(i64, i64)], i64), known: &[(i64, i64)], ahead: bool) -> Option<i64> {
    if told.len() < LEAST {
        return None;
    }
    let beside = |(at, wait): (i64, i64)| between(known, at, ahead).map(|other| (other, other.saturating_sub(wait)));
    let (mut others, mut differences): (Vec<i64>, Vec<i64>) = began(told, earlier).filter_map(beside).unzip();
    if differences.len() < LEAST {
        return None;
    }
    let spread = |values: &mut Vec<i64>| {
        values.sort_unstable();
        let outer = values.len() / OUTER;
        values[values.len() - 1 - outer].saturating_sub(values[outer])
    };
    let shared = spread(&mut differences).saturating_mul(STEADY) <= spread(&mut others);
    shared.then(|| differences[differences.len() / 2])
}

/// What a packet seen `at` waited if others tell: one that was seen with it, or one before it and one after it between
/// which the queue cannot have emptied; it is taken to have changed evenly. `ahead`: they were seen before they waited.
pub(super) fn between(told: &[(i64, i64)], at: i64, ahead: bool) -> Option<i64> {
    let next = told.partition_point(|(time, _)| *time < at);
    let &(second, other) = told.get(next)?;
    if second == at {
        return Some(other);
    }
    let &(first, one) = told.get(next.checked_sub(1)?)?;
    let apart = second.saturating_sub(first);
    let share = at.saturating_sub(first) as f64 / apart as f64;
    (apart < if ahead { one } else { other }).then(|| one + ((other - one) as f64 * share) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A queue that rises and falls, as packets say every 10 ms from `first` on that lack something of what they wait.
    fn sawtooth(first: i64, lacking: i64) -> Told {
        (0..200).map(|at| first + 10 * at).map(|at| (at * MS, (20 + at % 600 / 10 - lacking) * MS)).collect()
    }

    /// Of flows that lack so many ms: they are told of from `first` on.
    fn way<'a>(known: Told, lacking: &[(i64, i64)], own: &'a mut Transmission) -> Way<'a> {
        let flow = |(n, &(first, lacks)): (usize, &(i64, i64))| {
            ((0, n as u32), Lacking { told: sawtooth(first, lacks), ..Lacking::default() })
        };
        Way { known, lacking: lacking.iter().enumerate().map(flow).collect(), own, long: None, shortest: i64::MAX }
    }

    #[test]
    fn who_shares_a_queue_waits_as_the_others_do() {
        for ahead in [false, true] {
            let link = Transmission { short: 66, ns_per_byte: 1000.0 };
            let mut own = [link, Default::default(), Default::default(), Default::default(), Default::default()];
            let [first, last, late, other, more] = &mut own;
            let still: Told = (0..200).map(|at| (at * 10 * MS + 7, 12 * MS)).collect();
            let mut ways = [
                way(sawtooth(0, 0), &[], first),
                // Which the next one makes known, and that the first.
                way(Told::new(), &[(2407, 15)], last),
                way(Told::new(), &[(1003, 8)], late),
                way(still.clone(), &[], other),
                // Round trips charged this way with too much.
                way(Told::new(), &[(0, -8)], more),
            ];
            settle(&mut ways, ahead);
            let whole =
                |told: &Told, first| lacks((told, 0), &sawtooth(first, 0), ahead).is_some_and(|lacks| lacks < MS);
            assert!(whole(&ways[2].take_told(), 0) && whole(&ways[1].take_told(), 2400), "{ahead}");
            assert_eq!(ways.each_ref().map(|way| way.own.ns_per_byte), [1000.0, 1000.0, 1000.0, 0.0, 1000.0]);
            assert_eq!((ways[3].take_told(), ways[4].take_told()), (still, sawtooth(0, 0)));
        }
    }

    #[test]
    fn what_long_packets_behind_the_queue_tell_is_of_when_their_transmission_began() {
        // They are seen when it is over, 7 ms after: another host's tell of the queue at those times, 3 ms less.
        let told = |long, ahead| {
            let mut own = [Transmission { short: 66, ns_per_byte: 7e6 / 1448.0 }; 2];
            let [a, b] = &mut own;
            let mut ways = [way(sawtooth(0, 0), &[], a), way(Told::new(), &[(1007, 3)], b)];
            ways[1].long = long;
            settle(&mut ways, ahead);
            let told = ways[1].take_told();
            told.iter().find(|(at, _)| *at == 1307 * MS).map(|(_, wait)| *wait / (MS / 10))
        };
        // At 1307 ms the queue has 30.7 ms to go, at 1300 ms 30.
        assert_eq!([told(None, false), told(Some(9), true), told(Some(9), false)], [307, 307, 300].map(Some));
    }

    /// The round trip, ms, of a host with flows that lack so much of what they waited, from it and to it, while another
    /// host lacks nothing; `left` of each flow by so many packets.
    fn round_ms(from: &[(i64, i64)], to: &[(i64, i64)], left: &[(usize, i64)], still: bool) -> Option<i64> {
        let mut own = [Transmission::default(); 4];
        let [a, b, c, d] = &mut own;
        let mut ways = [way(sawtooth(0, 0), &[], a), way(Told::new(), from, b)];
        settle(&mut ways, false);
        let mut back = [way(sawtooth(0, 0), &[], c), way(Told::new(), to, d)];
        settle(&mut back, true);
        let rounds = left.iter().enumerate();
        let rounds = rounds.map(|(n, &(packets, left))| ((0, n as u32), Round { packets, left: left * MS })).collect();
        round([&ways[1], &back[1]], &rounds, [false, still]).map(|round| round / MS)
    }

    #[test]
    fn a_round_trip_is_what_waits_leave_of_it_less_what_they_lack() {
        let one = |from, to| round_ms(from, to, &[(10, 60)], false);
        assert_eq!(one(&[(10, 8)], &[]), Some(52));
        assert_eq!(one(&[(10, 8)], &[(10, 5)]), Some(47));
        assert_eq!(
            one(&[(10, -8)], &[(10, 12)]),
            Some(56),
            "too much was charged to one way, and too little to the other"
        );
        assert_eq!(one(&[], &[]), Some(60), "its queues were seen empty");
        // Of the way back nothing is told of that time: it is no more than that.
        const FAR: i64 = 90_000;
        assert_eq!(one(&[(10, 8)], &[(FAR, 9)]), Some(52));
        assert_eq!(one(&[(FAR, 8)], &[(FAR, 9)]), Some(60));
        assert_eq!(round_ms(&[(10, 8)], &[(FAR, 0)], &[(10, 60)], true), Some(52));
    }

    #[test]
    fn what_nobody_tells_lacks_the_rest_of_its_round_trip_if_the_other_way_is_told() {
        let mut own = [Transmission::default(); 2];
        let [a, b] = &mut own;
        let (mut one, mut other) = (way(Told::new(), &[(0, 8), (0, 8)], a), way(Told::new(), &[(0, 0), (0, 0)], b));
        one.lacking.values_mut().for_each(|flow| flow.whole = Some(60 * MS));
        other.lacking.get_mut(&(0, 0)).unwrap().lacks_at_least = Some(5 * MS);
        one.close(&other, 40 * MS);
        assert_eq!(one.lacking.values().map(|flow| flow.lacks_at_least).collect::<Vec<_>>(), [Some(15 * MS), None]);
        assert_eq!(one.lacking[&(0, 0)].told[0].1, (20 - 8 + 15) * MS);
    }

    #[test]
    fn most_packets_agree_on_a_round_trip() {
        let three = |packets: [usize; 3]| {
            let left = [58, 52, 2].into_iter().zip(packets).map(|(left, packets)| (packets, left)).collect::<Vec<_>>();
            round_ms(&[(10, 8), (10, 2)], &[], &left, false)
        };
        assert_eq!([[10, 10, 10], [10, 10, 21], [0, 30, 10]].map(three), [Some(50), Some(2), Some(50)]);
        // Of the first nothing tells how much it lacks, and of the second others do.
        let few = |packets| round_ms(&[(90_000, 8), (10, 8)], &[], &[(packets, 60), (10, 58)], false);
        assert_eq!([10, 11].map(few), [Some(50), Some(60)]);
        assert_eq!(round_ms(&[], &[], &[], false), None);
    }

    #[test]
    fn where_nearly_all_wait_for_little_a_way_is_calm() {
        let mut own = [Transmission::default(); 3];
        let [a, b, c] = &mut own;
        let told = |little: i64| (0..100).map(|at| (at, if at < little { LITTLE - 1 } else { LITTLE })).collect();
        assert!(calm(&[way(told(90), &[], a)]) && !calm(&[way(told(89), &[], b)]));
        assert!(!calm(&[way((0..LEAST as i64 - 1).map(|at| (at, 0)).collect(), &[], c)]), "they are few");
    }

    #[test]
    fn another_queue_tells_nothing() {
        let known = sawtooth(0, 0);
        let still: Told = (0..200).map(|at| (at * 10 * MS + 7, 12 * MS)).collect();
        assert_eq!(lacks((&still, 0), &known, true), None, "it does not rise and fall with this one");
        assert_eq!(lacks((&known, 0), &still, true), None, "nor is this one at rest");
        assert_eq!(lacks((&known[..LEAST - 1], 0), &sawtooth(0, 0), true), None, "they are few");
        assert_eq!(lacks((&sawtooth(0, -8), 0), &known, true), Some(-8 * MS), "who waited longer");
        assert_eq!(lacks((&sawtooth(5000, 8), 0), &known, true), None, "it was at another time");
    }
}
