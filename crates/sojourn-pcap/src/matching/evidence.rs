//! Do two captures belong together, in the order in which they were given?
//!
//! Both sketches keep the same packets (see [`super::clock_offset`]), so a packet that only one of them has was not
//! seen at the other place: lost between the two, or never there. What a queue does is one-sided: behind it there is
//! nothing that was not in front of it. So packets behind that were never in front mean strangers, or files given the
//! wrong way round: then it is the other direction that loses packets. Shares of lost packets decide nothing: a queue
//! may lose most of what comes to it.

use super::clock_offset::{Sample, Sketch, Survey};

/// What two captures have of the packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    both: u64,
    /// In the first capture only.
    first: u64,
    /// In the second only.
    second: u64,
}

/// How two captures do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// No packet is in both.
    NothingShared,
    /// A capture without a packet of IP.
    Empty {
        /// It is the second.
        in_second: bool,
        /// It has frames of other kinds.
        frames: bool,
    },
    /// Of `of` packets that came behind the queue while both captures ran, `unseen` were never in front.
    Strangers {
        /// Never seen in front.
        unseen: u64,
        /// Packets behind.
        of: u64,
    },
    /// Of `of` packets behind the queue `parts` are parts of longer ones in front, or hold shorter ones.
    CutOtherwise {
        /// Of which the first capture has other pieces.
        parts: u64,
        /// Packets behind.
        of: u64,
    },
    /// All packets go from the second to the first.
    AgainstTheFlow,
    /// Of the direction from the first capture to the second hardly anything is lost; of the other `lost` of `of` are.
    OtherDirection {
        /// Packets that are not in the first capture.
        lost: u64,
        /// Packets of the second capture.
        of: u64,
    },
    /// The first capture has nothing that the second lacks, but the second has `unseen` of `of` more.
    Subset {
        /// Never seen by the first.
        unseen: u64,
        /// Packets of the second.
        of: u64,
    },
    /// Every packet at the same time in both.
    SamePlace,
}

impl Misfit {
    /// The captures may be in order all the same: there are directions in which nothing is lost.
    pub(super) fn is_doubt(self) -> bool {
        matches!(self, Self::OtherDirection { .. } | Self::Subset { .. })
    }
}

/// Fewer packets say nothing.
const FEW: u64 = 5;

/// A sender may cut what it sends again otherwise, but no more than one packet in so many.
const RECUT: u64 = 100;

/// Whether so many packets behind the queue that are `parts` of others in front show that a host's network card cut
/// them, or a host joined them.
pub(super) fn cut_otherwise(parts: u64, of: u64) -> Option<Misfit> {
    (parts >= FEW && parts * RECUT > of).then_some(Misfit::CutOtherwise { parts, of })
}

pub(super) type Pairs = [(Sample, Sample)];

/// What speaks against two captures that have `pairs` in common; `alone` says of a pair that it is one packet for sure.
pub(super) fn misfit(found: &Survey, sketches: [&Sketch; 2], pairs: &Pairs) -> Option<Misfit> {
    if let Some(place) = sketches.iter().position(|sketch| sketch.kept.is_empty()) {
        let (begin, end) = sketches[place].span;
        return Some(Misfit::Empty { in_second: place == 1, frames: begin <= end });
    }
    if pairs.is_empty() {
        return Some(Misfit::NothingShared);
    }
    let of = |forward: bool| pairs.iter().filter(move |(seen, _)| found.direction(&seen.seen) == Some(forward));
    if of(true).next().is_none() {
        let against = of(false).next().is_some();
        return Some(if against { Misfit::AgainstTheFlow } else { Misfit::NothingShared });
    }
    // Clocks may differ: the time between the two captures is that of most packets.
    let mut apart: Vec<i64> = of(true).map(|(a, b)| b.seen.time_ns.saturating_sub(a.seen.time_ns)).collect();
    apart.sort_unstable();
    let offset = apart[apart.len() / 2];
    let [first, second] = sketches;
    let begin = first.span.0.max(second.span.0.saturating_sub(offset));
    let end = first.span.1.min(second.span.1.saturating_sub(offset));
    let while_both = count(found, sketches, true, &|at, in_second| {
        (begin..=end).contains(&at.saturating_sub(if in_second { offset } else { 0 }))
    });
    let all = count(found, sketches, true, &|_, _| true);
    let outside_of_time = while_both.both * 10 < all.both && all.first + all.second > FEW;
    if while_both.second > while_both.both.max(FEW) && while_both.first * 20 > while_both.second || outside_of_time {
        let (unseen, behind) = (all.second, all.second + all.both);
        return Some(Misfit::Strangers { unseen, of: behind });
    }
    let (forward, back) = [true, false].map(|forward| between_pairs(found, sketches, pairs, forward)).into();
    if back.both > 0 {
        let lost = back.second;
        let nothing_forward =
            forward.first * 100 * (back.both + back.second) < back.second * (forward.both + forward.first);
        let waits = [true, false].map(|direction| spread(of(direction)));
        if lost >= FEW && nothing_forward && waits[0] < waits[1] {
            return Some(Misfit::OtherDirection { lost, of: back.both + lost });
        }
    } else {
        let (unseen, of) = (forward.second, forward.both + forward.second);
        if unseen >= FEW && unseen * 1000 > of && forward.first * 20 < unseen {
            return Some(Misfit::Subset { unseen, of });
        }
    }
    let same_place = spread(pairs.iter()) <= 1000 && pairs.iter().all(|(a, b)| a.seen.ttl == b.seen.ttl);
    let lost = forward.first + back.second + forward.second + back.first;
    // The times of one packet say nothing if clocks may differ, unless they are the very same.
    let same_file = pairs.iter().all(|(a, b)| a.seen.time_ns == b.seen.time_ns);
    (same_place && lost == 0 && (same_file || pairs.len() as u64 > FEW)).then_some(Misfit::SamePlace)
}

/// Counts packets of one direction by who saw them, those at times that `counts` (with the capture's own clock, and
/// whether it is the second).
fn count(found: &Survey, sketches: [&Sketch; 2], forward: bool, counts: &dyn Fn(i64, bool) -> bool) -> Share {
    let most = sketches[0].most.min(sketches[1].most);
    let mut share = Share::default();
    for (in_second, (own, other)) in [(false, (sketches[0], sketches[1])), (true, (sketches[1], sketches[0]))] {
        for (identity, sample) in own.kept.range(..=most) {
            if found.direction(&sample.seen) != Some(forward) || !counts(sample.seen.time_ns, in_second) {
                continue;
            }
            match (other.kept.contains_key(identity), in_second) {
                (true, false) => share.both += 1,
                (true, true) => {}
                (false, false) => share.first += 1,
                (false, true) => share.second += 1,
            }
        }
    }
    share
}

/// The same between the first and the last packet that both have: before and after, one of them may not have run.
fn between_pairs(found: &Survey, sketches: [&Sketch; 2], pairs: &Pairs, forward: bool) -> Share {
    let times = |second: bool| {
        let of = pairs.iter().filter(|(seen, _)| found.direction(&seen.seen) == Some(forward));
        let times = of.map(move |(a, b)| if second { b.seen.time_ns } else { a.seen.time_ns });
        times.fold((i64::MAX, i64::MIN), |(least, most), at| (least.min(at), most.max(at)))
    };
    let spans = [times(false), times(true)];
    count(found, sketches, forward, &|at, second| {
        (spans[usize::from(second)].0..=spans[usize::from(second)].1).contains(&at)
    })
}

/// The longest time between the captures less the shortest, of packets that look like no other.
fn spread<'a>(pairs: impl Iterator<Item = &'a (Sample, Sample)>) -> i64 {
    let apart = pairs.filter(|(a, b)| a.alone && b.alone).map(|(a, b)| b.seen.time_ns.saturating_sub(a.seen.time_ns));
    let (least, most) = apart.fold((i64::MAX, i64::MIN), |(least, most), at| (least.min(at), most.max(at)));
    most.saturating_sub(least).max(0)
}

#[cfg(test)]
mod tests {
    use super::super::parse_frame::{Seen, Tuple};
    use super::*;
    use crate::decode::Address;
    use sojourn_net::log::Kind;

    const FRONT: Address = Address(1);
    const BEHIND: Address = Address(2);

    /// A packet through the queue, seen at a time and told by its number.
    fn sample(number: u64, time_ns: i64) -> Sample {
        let tuple = Tuple { source: FRONT, destination: BEHIND, ports: (1, 2), protocol: 17 };
        let (kind, ack, cut_at) = (Kind::Datagram, None, None);
        let seen = Seen { time_ns, tuple, size: 100, ttl: 64, kind, seq: 0, length: 0, ack, identity: number, cut_at };
        Sample { seen, alone: true, place: 0 }
    }

    fn sketch(packets: &[(u64, i64)]) -> Sketch {
        let span = (packets[0].1, packets[packets.len() - 1].1);
        let kept = packets.iter().map(|(number, at)| (*number, sample(*number, *at))).collect();
        Sketch { kept, most: u64::MAX, span, backward: Default::default() }
    }

    fn survey() -> Survey {
        let in_front = [(FRONT, true), (BEHIND, false)].into();
        let (ingress_span, egress_span) = Default::default();
        Survey {
            prefix: 0,
            offset_ns: 0,
            longest_ns: 0,
            ingress_span,
            egress_span,
            in_front,
            steps: Default::default(),
        }
    }

    /// What both captures have forward between the first and the last packet that they share.
    fn shared(first: &[(u64, i64)], second: &[(u64, i64)]) -> Share {
        let (found, first, second) = (survey(), sketch(first), sketch(second));
        let pairs: Vec<(Sample, Sample)> =
            first.kept.iter().filter_map(|(number, a)| Some((*a, *second.kept.get(number)?))).collect();
        between_pairs(&found, [&first, &second], &pairs, true)
    }

    #[test]
    fn many_packets_that_are_cut_otherwise_are_those_of_a_host() {
        let misfit = |parts, of| cut_otherwise(parts, of).is_some();
        assert_eq!([(4, 10), (5, 499), (5, 500), (6, 500)].map(|(n, of)| misfit(n, of)), [false, true, false, true]);
    }

    #[test]
    fn the_first_and_the_last_packet_that_both_have_count_and_nothing_beyond_them() {
        // Each by its own clock; the second is 500 behind.
        let first = [(1, 100), (2, 200), (3, 300), (4, 400), (5, 500)];
        let second = [(9, 650), (2, 700), (8, 750), (4, 900), (7, 901)];
        assert_eq!(shared(&first, &second), Share { both: 2, first: 1, second: 1 });
        assert_eq!(shared(&first, &first), Share { both: 5, first: 0, second: 0 });
        assert_eq!(shared(&[(1, 5)], &[(1, 6)]), Share { both: 1, first: 0, second: 0 });
    }

    /// What speaks against captures with packets that go either way (`true`: through the queue), by number and time;
    /// those of the second capture have another hop limit if they crossed a router.
    fn judged(first: &[(bool, u64, i64)], second: &[(bool, u64, i64)], hops: u8) -> Option<Misfit> {
        let sketch = |packets: &[(bool, u64, i64)], ttl: u8| {
            let plain: Vec<_> = packets.iter().map(|(_, number, at)| (*number, *at)).collect();
            let mut sketch = sketch(&plain);
            for (forward, number, _) in packets {
                let seen = &mut sketch.kept.get_mut(number).unwrap().seen;
                seen.ttl = ttl;
                if !forward {
                    (seen.tuple.source, seen.tuple.destination) = (BEHIND, FRONT);
                }
            }
            sketch
        };
        let (first, second) = (sketch(first, 64), sketch(second, 64 - hops));
        let pairs: Vec<(Sample, Sample)> =
            first.kept.iter().filter_map(|(number, a)| Some((*a, *second.kept.get(number)?))).collect();
        misfit(&survey(), [&first, &second], &pairs)
    }

    /// Packets of one direction: their numbers, and when each is seen.
    fn packets(forward: bool, numbers: std::ops::Range<u64>, at: impl Fn(u64) -> i64) -> Vec<(bool, u64, i64)> {
        numbers.map(|number| (forward, number, at(number))).collect()
    }

    const MS: i64 = 1_000_000;

    fn sent(number: u64) -> i64 {
        number as i64 * 10 * MS
    }

    #[test]
    fn captures_of_one_place_are_told_by_times_that_are_the_same_distance_apart() {
        let of = |count, apart: &dyn Fn(u64) -> i64, hops| {
            judged(&packets(true, 0..count, sent), &packets(true, 0..count, |n| sent(n) + apart(n)), hops)
        };
        // The very same times; a clock that is behind: of more than five packets, to the microsecond.
        assert_eq!(of(1, &|_| 0, 0), Some(Misfit::SamePlace));
        assert_eq!(of(6, &|_| 7 * MS, 0), Some(Misfit::SamePlace));
        assert_eq!(of(5, &|_| 7 * MS, 0), None);
        assert_eq!(of(6, &|n| 7 * MS + if n == 3 { 1000 } else { 0 }, 0), Some(Misfit::SamePlace));
        assert_eq!(of(6, &|n| 7 * MS + if n == 3 { 1001 } else { 0 }, 0), None, "something waits between them");
        assert_eq!(of(6, &|_| 0, 1), None, "a router is between them");
        let lossy = judged(&packets(true, 0..20, sent), &packets(true, 0..20, sent)[..19], 0);
        assert_eq!(lossy, Some(Misfit::SamePlace), "one of them ended sooner");
        let missing: Vec<_> = packets(true, 0..20, sent).into_iter().filter(|packet| packet.1 != 7).collect();
        assert_eq!(judged(&packets(true, 0..20, sent), &missing, 0), None, "something is lost between them");
    }

    #[test]
    fn captures_that_share_nothing_or_only_what_goes_the_other_way_do_not_fit() {
        let waits = |n: u64| sent(n) + 3 * MS + (n % 5) as i64 * MS;
        assert_eq!(judged(&packets(true, 0..9, sent), &packets(true, 20..29, waits), 1), Some(Misfit::NothingShared));
        let (near, far) = (packets(false, 0..9, sent), packets(false, 0..9, |n| sent(n) - MS));
        assert_eq!(judged(&near, &far, 1), Some(Misfit::AgainstTheFlow));
        assert_eq!(judged(&packets(true, 0..9, sent), &packets(true, 0..9, waits), 1), None);
    }

    #[test]
    fn of_a_capture_without_a_packet_of_ip_that_is_said() {
        let full = sketch(&[(1, 100), (2, 200)]);
        let empty = |span| Sketch { kept: [].into(), most: u64::MAX, span, backward: Default::default() };
        for (span, frames) in [((i64::MAX, i64::MIN), false), ((5, 5), true)] {
            let of = |sketches: [&Sketch; 2]| misfit(&survey(), sketches, &[]);
            assert_eq!(of([&full, &empty(span)]), Some(Misfit::Empty { in_second: true, frames }));
            for second in [&full, &empty(span)] {
                assert_eq!(of([&empty(span), second]), Some(Misfit::Empty { in_second: false, frames }));
            }
        }
    }

    #[test]
    fn a_first_capture_that_lacks_five_packets_or_more_of_the_second_is_a_part_of_it() {
        let waits = |n: u64| sent(n) + 3 * MS + (n % 5) as i64 * MS;
        let second = packets(true, 0..100, waits);
        for (lacking, found) in [
            (4, None),
            (5, Some(Misfit::Subset { unseen: 5, of: 100 })),
            (9, Some(Misfit::Subset { unseen: 9, of: 100 })),
        ] {
            let first: Vec<_> = packets(true, 0..100, sent);
            let first: Vec<_> = first.into_iter().filter(|(_, n, _)| n % 10 != 5 || n / 10 >= lacking).collect();
            assert_eq!(judged(&first, &second, 1), found, "{lacking}");
        }
        // A queue that loses as well has both: nothing can be said.
        let first: Vec<_> = packets(true, 0..100, sent).into_iter().filter(|(_, n, _)| n % 10 != 5).collect();
        let lossy: Vec<_> = second.into_iter().filter(|(_, n, _)| n % 10 != 4).collect();
        assert_eq!(judged(&first, &lossy, 1), None);
    }

    #[test]
    fn of_captures_in_the_wrong_order_the_other_direction_loses() {
        // Data goes from behind to front: lost on the way, and delayed; its answers are neither.
        let answers = packets(true, 1000..1100, sent);
        let answers_later = packets(true, 1000..1100, |n| sent(n) + MS);
        let data = packets(false, 0..100, |n| sent(n + 1000) + MS);
        let waiting = |lost: u64| -> Vec<_> {
            let came = packets(false, 0..100, |n| sent(n + 1000) + 2 * MS + (n % 7) as i64 * MS);
            came.into_iter().filter(|(_, n, _)| n % 10 != 5 || n / 10 >= lost).collect()
        };
        for (lost, found) in [(4, None), (5, Some(Misfit::OtherDirection { lost: 5, of: 100 }))] {
            let first = [answers.clone(), waiting(lost)].concat();
            let second = [answers_later.clone(), data.clone()].concat();
            assert_eq!(judged(&first, &second, 1), found, "{lost}");
        }
    }
}
