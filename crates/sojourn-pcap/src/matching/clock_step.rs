//! Steps of a capture's clock: it was set by hand, or by NTP, while the capture ran.
//!
//! An own method. The time between the two captures of a packet is the difference of the clocks and the wait. A queue
//! that fills raises it little by little, and only in its own direction; one that drains comes back to where it was. A
//! step moves it at once, by the same amount in both directions, and it stays there. So the packets that both captures
//! have are cut where that time changes by half a second or more from one to the next. A cut is a step where a
//! capture's own times go back at it; elsewhere only where all before it are on one side of all after it, and packets
//! that come back moved as far. Where none come back, both levels have to last longer than the step is far: a link
//! that stood still has recovered by then. What cannot be told apart is a link that stood still and is overloaded ever
//! after, with nothing that comes back. With fewer than three packets on one side a step is known only where the times
//! of the file go back, and how far only to the time between two frames.

use serde::Serialize;

/// A smaller change is not looked at: NTP slews what is below an eighth of a second, queues do the rest.
const LEAST_NS: i64 = 500_000_000;
/// Fewer packets make no level: a single one may be another packet that looks the same.
const FEW: usize = 3;
/// More levels than this are those of several queues side by side, not of a clock.
const MOST_LEVELS: usize = 64;
/// A clock that is set more often is not followed.
const MOST_STEPS: usize = 8;

/// A packet that both captures have; first in front of the queue, then behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// It goes through the queue.
    pub(super) forward: bool,
    /// Its frame's number in each capture.
    pub(super) places: [u64; 2],
    pub(super) times_ns: [i64; 2],
}

impl Passage {
    fn apart(&self) -> i64 {
        self.times_ns[1].saturating_sub(self.times_ns[0])
    }
}

/// A step of a capture's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The last frame that is known to be before it.
    #[serde(skip)]
    after: u64,
    /// The first frame that is known to be after it.
    #[serde(skip)]
    until: u64,
    /// Last time that is known to be before it, by the capture's own clock.
    pub at_ns: i64,
    /// How far the clock was put forward; negative if back.
    pub by_ns: i64,
}

/// Where the times of a file go back, frame by frame.
#[derive(Debug, Default)]
pub(super) struct Backward {
    frame: u64,
    last: Option<i64>,
    /// No more than would be followed.
    found: Vec<Step>,
}

impl Backward {
    #[inline]
    pub(super) fn frame(&mut self, time_ns: i64) {
        let frame = self.frame;
        self.frame += 1;
        let last = self.last.replace(time_ns).unwrap_or(time_ns);
        let by_ns = time_ns.saturating_sub(last);
        if by_ns <= -LEAST_NS && self.found.len() <= MOST_STEPS {
            self.found.push(Step { after: frame - 1, until: frame, at_ns: last, by_ns });
        }
    }
}

/// The steps of the clock in front of the queue and of the one behind it, each in order.
pub(super) fn steps(passages: &[Passage], backward: [&Backward; 2]) -> [Vec<Step>; 2] {
    let mut found = between_levels(passages);
    for (side, (found, backward)) in found.iter_mut().zip(backward).enumerate() {
        let forward = || passages.iter().filter(|passage| passage.forward);
        let few = |step: &&Step| {
            let before = forward().filter(|passage| passage.places[side] < step.until).count();
            before.min(forward().count() - before) < FEW
        };
        if backward.found.len() <= MOST_STEPS {
            found.extend(backward.found.iter().filter(few).copied());
            found.sort_by_key(|step| step.until);
        }
    }
    found
}

/// Those with enough packets on either side.
fn between_levels(passages: &[Passage]) -> [Vec<Step>; 2] {
    // Of several queues side by side packets overtake each other: the order of the capture whose clock was set is the
    // one with the fewest cuts.
    let cut = [1, 0].map(|side| levels(passages, side));
    let mut levels = cut.into_iter().min_by_key(Vec::len).unwrap_or_default();
    let mut found = [Vec::new(), Vec::new()];
    if levels.len() > MOST_LEVELS {
        return found;
    }
    let back: Vec<&Passage> = passages.iter().filter(|passage| !passage.forward).collect();
    join(&mut levels, &back);
    if levels.len() > MOST_STEPS + 1 {
        return found;
    }
    for pair in levels.windows(2) {
        let (last, next) = (pair[0].last, pair[1].first);
        let by = moved(&last, &next);
        let gaps = gaps(&last, &next);
        let in_front = match went_back(&last, &next) {
            [true, _] => true,
            [_, true] => false,
            // Both clocks saw the same time pass, but for the step.
            _ => gaps[0].saturating_abs() > gaps[1].saturating_abs(),
        };
        let side = usize::from(!in_front);
        found[side].push(Step {
            after: last.places[side],
            until: next.places[side],
            at_ns: last.times_ns[side],
            by_ns: if in_front { by.saturating_neg() } else { by },
        });
    }
    found
}

/// Packets that follow each other with about the same time between the captures.
#[derive(Clone, Copy, Debug)]
struct Level {
    first: Passage,
    last: Passage,
    least: i64,
    most: i64,
}

impl Level {
    fn of(passages: &[Passage]) -> Self {
        let apart = || passages.iter().map(Passage::apart);
        let (least, most) = (apart().min().unwrap_or(0), apart().max().unwrap_or(0));
        Self { first: passages[0], last: passages[passages.len() - 1], least, most }
    }

    /// A step of the clock is between this one and the next.
    fn ends_with_a_step(&self, next: &Self, back: &[&Passage]) -> bool {
        if went_back(&self.last, &next.first).contains(&true) {
            return true;
        }
        let between = next.least.saturating_sub(self.most).max(self.least.saturating_sub(next.most));
        between >= LEAST_NS / 2
            && moved_too(back, &self.last, &next.first).unwrap_or_else(|| {
                let far = moved(&self.last, &next.first).saturating_abs();
                self.lasts().min(next.lasts()) > far
            })
    }

    /// By the capture whose clock saw less of it.
    fn lasts(&self) -> i64 {
        let [in_front, behind] = gaps(&self.first, &self.last);
        in_front.min(behind)
    }
}

/// Levels of the packets through the queue, in the order of one capture.
fn levels(passages: &[Passage], side: usize) -> Vec<Level> {
    let near = |a: &Passage, b: &Passage| moved(a, b).saturating_abs() < LEAST_NS;
    let mut ordered: Vec<Passage> = passages.iter().copied().filter(|passage| passage.forward).collect();
    ordered.sort_unstable_by_key(|passage| passage.places[side]);
    let lasting: Vec<Passage> = ordered.chunk_by(near).filter(|level| level.len() >= FEW).flatten().copied().collect();
    lasting.chunk_by(near).map(Level::of).collect()
}

/// Joins levels until there is a step between all that are left.
fn join(levels: &mut Vec<Level>, back: &[&Passage]) {
    while let Some(at) = (1..levels.len()).find(|&at| !levels[at - 1].ends_with_a_step(&levels[at], back)) {
        let next = levels.remove(at);
        let level = &mut levels[at - 1];
        level.last = next.last;
        level.least = level.least.min(next.least);
        level.most = level.most.max(next.most);
    }
}

/// How far the time between the captures moved from one packet to the other.
fn moved(one: &Passage, other: &Passage) -> i64 {
    other.apart().saturating_sub(one.apart())
}

/// Time from one packet to the other by each clock.
fn gaps(one: &Passage, other: &Passage) -> [i64; 2] {
    [0, 1].map(|side| other.times_ns[side].saturating_sub(one.times_ns[side]))
}

/// Whether each capture has the second packet later in its file, but earlier by its clock.
fn went_back(one: &Passage, other: &Passage) -> [bool; 2] {
    let gaps = gaps(one, other);
    [0, 1].map(|side| other.places[side] > one.places[side] && gaps[side] <= -LEAST_NS / 2)
}

/// Whether packets that come back moved as those from `last` to `next` did; none if there are none on both sides.
fn moved_too(back: &[&Passage], last: &Passage, next: &Passage) -> Option<bool> {
    let by = moved(last, next);
    let no_later = |one: &Passage, other: &Passage| (0..2).all(|side| one.places[side] <= other.places[side]);
    let before = back.iter().filter(|b| no_later(b, last)).max_by_key(|b| b.places[1])?;
    let after = back.iter().filter(|b| no_later(next, b)).min_by_key(|b| b.places[1])?;
    Some(moved(before, after).saturating_sub(by).saturating_abs() <= by.saturating_abs() / 2)
}

/// A capture's clock with its steps taken out, for frames in their order.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    steps: Vec<Step>,
    frame: u64,
    last: i64,
    by_ns: i64,
}

impl Clock {
    pub(super) fn new(steps: &[Step]) -> Self {
        let steps = steps.iter().rev().copied().collect();
        Self { steps, frame: 0, last: 0, by_ns: 0 }
    }

    /// The number of the next frame, and its time as the clock would have had it without its steps.
    #[inline]
    pub(super) fn right(&mut self, time_ns: i64) -> (u64, i64) {
        let frame = self.frame;
        self.frame += 1;
        if let Some(step) = self.steps.last() {
            let passed = time_ns.saturating_sub(self.last);
            // Between two packets that both captures have: the frame at which the clock moves about as far.
            let moved = (passed.saturating_sub(step.by_ns)).saturating_abs() < passed.saturating_abs();
            if frame >= step.until || (frame > step.after && moved) {
                self.by_ns = self.by_ns.saturating_add(step.by_ns);
                self.steps.pop();
            }
            self.last = time_ns;
        }
        (frame, time_ns.saturating_sub(self.by_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const S: i64 = 1000 * MS;
    const NONE: [Vec<i64>; 2] = [Vec::new(), Vec::new()];

    /// A packet each 10 ms, every second one coming back; `wait` is that of the queue, by number.
    fn passages(count: u64, wait: impl Fn(u64) -> i64) -> Vec<Passage> {
        let one = |k: u64| {
            let (forward, at) = (k.is_multiple_of(2), k as i64 * 10 * MS);
            let times_ns = if forward { [at, at + wait(k)] } else { [at + MS, at] };
            Passage { forward, places: [k, k], times_ns }
        };
        (0..count).map(one).collect()
    }

    /// The same with the clock of a capture put forward from a frame on.
    fn stepped(mut passages: Vec<Passage>, side: usize, from: u64, by: i64) -> Vec<Passage> {
        for passage in passages.iter_mut().filter(|passage| passage.places[side] >= from) {
            passage.times_ns[side] += by;
        }
        passages
    }

    fn found(passages: &[Passage]) -> [Vec<i64>; 2] {
        let backward = [0, 1].map(|side| {
            let mut backward = Backward::default();
            let mut ordered: Vec<_> = passages.iter().map(|p| (p.places[side], p.times_ns[side])).collect();
            ordered.sort_unstable();
            ordered.iter().for_each(|(_, at)| backward.frame(*at));
            backward
        });
        steps(passages, backward.each_ref()).map(|steps| steps.iter().map(|step| step.by_ns).collect())
    }

    #[test]
    fn each_step_is_found_in_its_capture() {
        for by in [100 * S, 2 * S, 700 * MS, -700 * MS, -2 * S, -100 * S] {
            for side in [0, 1] {
                for from in [6, 101, 194] {
                    let seen = found(&stepped(passages(200, |_| 5 * MS), side, from, by));
                    assert_eq!(seen[side], [by], "{by} {side} {from}");
                    assert!(seen[1 - side].is_empty(), "{by} {side} {from}");
                }
            }
        }
    }

    #[test]
    fn times_that_go_back_by_half_a_second_are_kept_frame_by_frame_up_to_a_bound() {
        let mut backward = Backward::default();
        for at in [10 * S, 20 * S, 20 * S - LEAST_NS + 1, 30 * S, 30 * S - LEAST_NS, 31 * S, 1] {
            backward.frame(at);
        }
        let step = |after, at_ns, by_ns| Step { after, until: after + 1, at_ns, by_ns };
        assert_eq!(backward.found, [step(3, 30 * S, -LEAST_NS), step(5, 31 * S, 1 - 31 * S)]);
        for k in 0..50 {
            backward.frame((50 - k) * S);
        }
        assert_eq!(backward.found.len(), MOST_STEPS + 1, "one more than is followed, so that it is known");
    }

    #[test]
    fn a_file_whose_times_go_back_has_a_step_however_few_packets_are_beside_it() {
        for side in [0, 1] {
            for from in [1, 2, 197, 199] {
                let seen = found(&stepped(passages(200, |_| 5 * MS), side, from, -100 * S));
                assert!(seen[side].len() == 1 && (seen[side][0] + 100 * S).abs() <= 20 * MS, "{side} {from} {seen:?}");
                assert!(seen[1 - side].is_empty(), "{side} {from}");
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_and_set_back_and_two_clocks() {
        let plain = || passages(300, |k| (k % 7) as i64 * MS);
        let there_and_back = stepped(stepped(plain(), 1, 100, 100 * S), 1, 200, -100 * S);
        assert_eq!(found(&there_and_back)[1].len(), 2);
        assert!(found(&there_and_back)[0].is_empty());
        let each = found(&stepped(stepped(plain(), 0, 100, 30 * S), 1, 200, 40 * S));
        assert_eq!([each[0].len(), each[1].len()], [1, 1]);
    }

    #[test]
    fn what_queues_do_is_no_step() {
        // A queue of 4 s that fills and stays; one that drains in a pause; a link that stands still for 3 s.
        let fills = |k: u64| (k as i64 * 40 * MS).min(4 * S);
        assert_eq!(found(&passages(400, fills)), NONE);
        let pause = |k: u64| if k < 200 { k as i64 * 20 * MS } else { MS };
        let mut paused = passages(400, pause);
        for passage in &mut paused[200..] {
            passage.times_ns = passage.times_ns.map(|at| at + 10 * S);
        }
        assert_eq!(found(&paused), NONE);
        let still = |k: u64| (4 * S - k as i64 * 10 * MS).max(MS) * i64::from(k >= 100);
        assert_eq!(found(&passages(600, still)), NONE);
        // An overload that begins with a standstill and never ends: only what comes back tells.
        let overload = |k: u64| if k < 100 { MS } else { 3 * S };
        assert_eq!(found(&passages(400, overload)), NONE);
        // Nothing comes back, and a link stands still for 3 s just before the capture ends.
        let one_way = |passages: Vec<Passage>| passages.into_iter().filter(|p| p.forward).collect::<Vec<_>>();
        let ends = |k: u64| if k < 400 { MS } else { 3 * S - (k as i64 - 400) * 10 * MS };
        assert_eq!(found(&one_way(passages(420, ends))), NONE);
        // Two flows in queues of their own, one of which waits.
        let two = |k: u64| if k % 8 < 4 { 2 * S } else { MS };
        assert_eq!(found(&passages(400, two)), NONE);
        // Clocks that drift by a thousandth.
        assert_eq!(found(&passages(4000, |k| k as i64 * MS / 100)), NONE);
        assert_eq!(found(&[]), NONE);
    }

    #[test]
    fn where_nothing_comes_back_a_step_is_one_if_it_lasts() {
        for (by, side) in [(2 * S, 0), (2 * S, 1), (-2 * S, 0), (-2 * S, 1)] {
            let mut seen = stepped(passages(1000, |_| 5 * MS), side, 500, by);
            seen.retain(|passage| passage.forward);
            assert_eq!(found(&seen)[side], [by]);
        }
    }

    #[test]
    fn times_at_the_ends_of_what_can_be_written_are_no_overflow() {
        let mut seen = passages(40, |_| MS);
        for passage in &mut seen {
            let late = passage.places[0] >= 20;
            passage.times_ns = if late { [i64::MIN, i64::MAX] } else { [i64::MAX, i64::MIN] };
        }
        found(&seen);
    }

    #[test]
    fn a_step_while_packets_wait_is_one_however_long_they_wait() {
        // Up to 1.8 s, no faster down than time passes.
        let waits = |k: u64| (k % 300) as i64 * 18 * MS - ((k % 300).saturating_sub(100)) as i64 * 27 * MS;
        assert_eq!(found(&stepped(passages(400, waits), 1, 130, -2 * S))[1].len(), 1);
        assert_eq!(found(&stepped(passages(400, waits), 1, 130, 100 * S))[1].len(), 1);
    }

    #[test]
    fn the_clock_is_put_right_from_the_frame_that_moved() {
        let step = |after, until, by_ns| Step { after, until, at_ns: 0, by_ns };
        let mut clock = Clock::new(&[step(1, 5, 100), step(6, 7, -100)]);
        let right: Vec<i64> = [0, 1, 2, 103, 104, 105, 106, 7].map(|at| clock.right(at).1).into();
        assert_eq!(right, [0, 1, 2, 3, 4, 5, 6, 7]);
        let mut clock = Clock::new(&[step(0, 2, 100)]);
        assert_eq!([0, 20, 130, 140].map(|at| clock.right(at)), [(0, 0), (1, 20), (2, 30), (3, 40)]);
    }
}
