//! What the packets of a queue waited at least, where nothing is known of it.
//!
//! If no packet met a queue empty, as where an upload fills it all the time, no base is known. But what packets wait
//! that share it differs by constants ([`super::queue`]), and no host's round trip is longer than the shortest that was
//! seen of it. So the host of which that leaves least is the level of all: they lack what they differ from it, at
//! least. A long packet's own transmission counts as waiting where it is not known; the time between two such packets,
//! which is no less, is taken off. The rule is sojourn's own.

use super::queue::{Flow, LEAST, LONG, Lacking, Told, Way, began};

/// Flows, those with most packets, whose queue others may share.
const MOST_REFERENCES: usize = 8;
/// Of waits, in order, one of so many is left out at the end.
const NEARLY_ALL: usize = 10;
/// Segments of fewer bytes on average are requests.
const SHORT: u64 = 400;

/// Flows that share a queue with the reference: their ways, and what they lack beside it.
type Shared = Vec<(usize, Vec<(Flow, i64)>)>;

/// Segments with data that go one way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Data {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Data {
    /// Most that goes this way is long, and not acknowledgements of what goes `back`.
    pub(super) fn is_long(self, back: Self) -> bool {
        self.bytes > SHORT * self.packets && 2 * self.packets >= back.packets
    }
}

/// Say of both ways, by whether packets were seen before they waited, what flows lack at least: first of the one in
/// which they wait more, as round trips have what both lack.
pub(super) fn of_both(ways: &mut [Vec<Way<'_>>; 2]) {
    let waits = |ways: &Vec<Way<'_>>| {
        let mut waits: Vec<i64> = ways.iter().flat_map(|way| way.lacking.values()).filter_map(most).collect();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied()
    };
    let first = usize::from(waits(&ways[1]) > waits(&ways[0]));
    for ahead in [first, 1 - first] {
        let [from, to] = ways.each_mut();
        let (these, others) = if ahead == 1 { (to, from) } else { (from, to) };
        these.iter_mut().zip(&*others).for_each(|(this, other)| this.leave(other));
        settle(these, ahead == 1);
    }
}

/// What nearly all packets of a flow waited no longer than.
fn most(flow: &Lacking) -> Option<i64> {
    let mut waits: Vec<i64> = flow.told.iter().map(|(_, wait)| *wait).collect();
    let outer = waits.len().checked_sub(1 + waits.len() / NEARLY_ALL)?;
    Some(*waits.select_nth_unstable(outer).1)
}

/// Say of flows, those with most packets first and those beside them, what they lack at least.
fn settle(ways: &mut [Way<'_>], ahead: bool) {
    for _ in 0..MOST_REFERENCES {
        let open = |flow: &&Lacking| flow.is_open() && flow.told.len() >= LEAST;
        let longest = |way: &Way<'_>| way.lacking.values().filter(open).map(|flow| flow.told.len()).max();
        let Some((_, way)) = ways.iter().enumerate().filter_map(|(n, way)| Some((longest(way)?, n))).max() else {
            return;
        };
        let flows = ways[way].lacking.iter().filter(|(_, flow)| open(flow));
        let Some((&flow, reference)) = flows.max_by_key(|(_, flow)| flow.told.len()) else { return };
        let told: Told = began(&reference.told, ways[way].earlier(ahead)).collect();
        let mut shared: Shared = ways.iter().map(|way| way.differ(&told, ahead)).enumerate().collect();
        shared[way].1.retain(|(other, _)| *other != flow);
        shared[way].1.push((flow, 0));
        shared.retain(|(_, flows)| !flows.is_empty());
        let own = transmission(ways, &shared);
        let Some(level) = level(ways, &shared, own) else {
            ways[way].lacking.entry(flow).or_default().lacks_at_least = Some(0);
            continue;
        };
        for (way, flows) in shared {
            let way = &mut ways[way];
            // So near are long packets compared with short ones.
            let near = if way.long.is_some() { own } else { 0 };
            for (flow, lacks) in flows {
                let Some(flow) = way.lacking.get_mut(&flow) else { continue };
                // No more than all that its round trips have.
                let most = flow.left.unwrap_or(0).max(0);
                let lacks = lacks.saturating_sub(level).clamp(-most, most);
                flow.raise(lacks);
                flow.lacks_at_least = Some(lacks.saturating_sub(near).max(0));
            }
        }
    }
}

/// What the reference waited too much; nothing if it stands alone, or no round trip was seen.
fn level(ways: &[Way<'_>], shared: &Shared, own: i64) -> Option<i64> {
    if shared.iter().map(|(_, flows)| flows.len()).sum::<usize>() < 2 {
        return None;
    }
    let leaves = |(way, flows): &(usize, Vec<(Flow, i64)>)| {
        let way = &ways[*way];
        let base = |(flow, lacks): &(Flow, i64)| Some(way.lacking.get(flow)?.left?.saturating_sub(*lacks));
        let mut bases: Vec<i64> = flows.iter().filter_map(base).collect();
        bases.sort_unstable();
        let base = bases.get(bases.len() / 2).filter(|_| way.shortest < i64::MAX)?;
        let over = if way.long.is_none() || way.own.known() { 0 } else { own };
        Some(way.shortest.saturating_sub(*base).saturating_add(over))
    };
    shared.iter().filter_map(leaves).min()
}

/// What the transmission of a long packet takes on the link of these, no less: of packets that went one after the
/// other each took no longer than all of them, shared out.
fn transmission(ways: &[Way<'_>], shared: &Shared) -> i64 {
    let each = |(way, _): &(usize, _)| {
        let way = &ways[*way];
        let packets = way.long?.max(1);
        if way.own.known() {
            return Some(way.own.of(LONG) as i64);
        }
        let ends = way.lacking.values().flat_map(|flow| [flow.told.first(), flow.told.last()]).flatten();
        let span = ends.fold((i64::MAX, i64::MIN), |(first, last), (at, _)| (first.min(*at), last.max(*at)));
        Some(span.1.saturating_sub(span.0).max(0) / packets as i64)
    };
    shared.iter().filter_map(each).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::host::transmission::Transmission;

    const MS: i64 = 1_000_000;

    /// What a packet seen at a time waits in a queue that is never empty, ms.
    fn waits(at: i64) -> i64 {
        60 + at % 600 / 10
    }

    /// A flow that lacks so much of what it waited, seen every so many ms from `first` on, of so many packets; its
    /// round trip is 40 ms without queues.
    fn flow(lacks: i64, (first, every, packets): (i64, i64, i64)) -> Lacking {
        let times = (0..packets).map(|n| first + n * every);
        let told = times.map(|at| (at * MS, (waits(at) - lacks) * MS)).collect();
        let whole = Some((40 + lacks) * MS);
        Lacking { told, whole, left: whole, ..Lacking::default() }
    }

    fn way<'a>(flows: Vec<Lacking>, long: Option<u64>, shortest: i64, own: &'a mut Transmission) -> Way<'a> {
        let lacking = flows.into_iter().enumerate().map(|(n, flow)| ((0, n as u32), flow)).collect();
        Way { known: Told::new(), lacking, own, long, shortest: shortest * MS }
    }

    /// An upload, whose handshake met an empty queue; two hosts with short connections; another queue.
    fn ways(own: &mut [Transmission; 4], over: i64) -> Vec<Way<'_>> {
        let [a, b, c, d] = own;
        let short = |most: i64| (0..25).map(|n| flow(20 + n * 17 % most, (150 * n, 40, 3))).collect();
        let still = Lacking {
            told: (0..200).map(|n| (n * 20 * MS, 5 * MS)).collect(),
            whole: Some(30 * MS),
            left: Some(30 * MS),
            ..Lacking::default()
        };
        vec![
            way(vec![flow(-over, (0, 10, 400))], Some(4000 / 6), 40, a),
            way(short(20), None, 60, b),
            way(short(30), None, 61, c),
            way(vec![still], None, 30, d),
        ]
    }

    #[test]
    fn the_host_whose_shortest_round_trip_leaves_least_is_the_level_of_its_queue() {
        // The upload's own transmission counts as waiting, or not.
        for (ahead, over) in [(false, 0), (true, 0), (true, 6)] {
            let mut own = Default::default();
            let mut ways = ways(&mut own, over);
            settle(&mut ways, ahead);
            for way in &ways[1..3] {
                // As the upload is long it is compared to one of its packets, which are 6 ms apart.
                for flow in way.lacking.values() {
                    let base = flow.left.unwrap() - flow.lacks_at_least.unwrap();
                    assert!((40 * MS..=46 * MS).contains(&base), "{ahead} {base}");
                    let off = flow.told.iter().map(|(at, wait)| (waits(at / MS) * MS - wait).abs()).max();
                    assert!(off <= Some(6 * MS), "{ahead} {off:?}");
                }
            }
            let alone = |way: &Way<'_>| way.lacking.values().map(|flow| flow.lacks_at_least).collect::<Vec<_>>();
            assert_eq!([&ways[0], &ways[3]].map(alone), [vec![Some(0)], vec![Some(0)]], "{ahead}");
            assert!(ways[3].lacking.values().all(|flow| flow.told.iter().all(|(_, wait)| *wait == 5 * MS)));
        }
    }

    #[test]
    fn where_hosts_with_short_packets_say_their_level_is_exact() {
        let mut own = Default::default();
        let mut ways = ways(&mut own, 6);
        // One of them began when the queue was empty.
        ways[2].lacking.get_mut(&(0, 7)).unwrap().left = Some(40 * MS);
        ways[2].shortest = 40 * MS;
        settle(&mut ways, true);
        let bases = |way: &Way<'_>| {
            let bases = way.lacking.values().map(|flow| flow.left.unwrap() - flow.lacks_at_least.unwrap());
            bases.map(|base| (base + MS / 2) / MS).collect::<Vec<_>>()
        };
        assert_eq!(bases(&ways[1]), [40; 25]);
        assert!(ways[0].lacking[&(0, 0)].told.iter().all(|(at, wait)| (waits(at / MS) * MS - wait).abs() < MS));
    }

    #[test]
    fn what_long_packets_lack_is_told_to_one_of_them() {
        let mut own = Default::default();
        let mut ways = ways(&mut own, -4);
        ways[2].lacking.get_mut(&(0, 7)).unwrap().left = Some(40 * MS);
        ways[2].shortest = 40 * MS;
        settle(&mut ways, true);
        assert_eq!(ways[0].lacking[&(0, 0)].lacks_at_least, Some(0), "4 of 6 ms");
    }

    #[test]
    fn nothing_lacks_more_than_its_round_trip_and_what_has_none_tells_nothing() {
        let mut own = Default::default();
        let mut ways = ways(&mut own, 0);
        ways[1].shortest = i64::MAX;
        ways[2].shortest = 1;
        ways[2].lacking.values_mut().for_each(|flow| flow.left = flow.left.filter(|left| left % 2 > 0));
        // The other way is said to lack more than there is.
        ways[1].lacking.get_mut(&(0, 3)).unwrap().left = Some(-5);
        settle(&mut ways, true);
        for flow in ways.iter().flat_map(|way| way.lacking.values()) {
            assert!(flow.lacks_at_least.is_none_or(|lacks| (0..=flow.left.unwrap_or(0).max(0)).contains(&lacks)));
            assert!(flow.told.iter().all(|(_, wait)| (0..200 * MS).contains(wait)));
        }
    }

    #[test]
    fn of_both_ways_the_one_comes_first_whose_packets_wait_more() {
        // What goes there waits for longer; round trips have both.
        let (mut there, mut back): ([Transmission; 4], [Transmission; 4]) = Default::default();
        let mut both = [ways(&mut back, 0), ways(&mut there, 0)];
        for (way, first) in both[0].iter_mut().zip([true, false, false, false]) {
            for (number, flow) in &mut way.lacking {
                if !first && flow.told.len() == 3 {
                    *flow = Lacking {
                        told: self::flow(0, (150 * i64::from(number.1), 10, 30)).told,
                        ..std::mem::take(flow)
                    };
                }
                flow.told.iter_mut().for_each(|(_, wait)| *wait /= 10);
                let other = if number.1 == 0 { 0 } else { 20 * MS };
                flow.whole = flow.whole.map(|left| left + other);
                flow.left = flow.whole;
            }
        }
        of_both(&mut both);
        let lacks = |way: &Way<'_>| way.lacking.values().map(|flow| flow.lacks_at_least.unwrap_or(0)).max();
        assert!(lacks(&both[1][1]) > Some(10 * MS));
        assert!(lacks(&both[0][1]) <= Some(6 * MS), "{:?}", lacks(&both[0][1]));
    }

    #[test]
    fn a_way_is_of_long_packets_if_these_are_no_acknowledgements() {
        let long = |bytes, packets, back| {
            let back = Data { packets: back, bytes: 0 };
            Data { packets, bytes }.is_long(back)
        };
        assert_eq!(
            [(401, 1, 2), (400, 1, 2), (401, 1, 3), (0, 0, 0)].map(|(b, p, a)| long(b, p, a)),
            [true, false, false, false]
        );
    }
}
