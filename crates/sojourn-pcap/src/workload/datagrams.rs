//! A flow of datagrams, and when they were sent that waited in a queue in front of the capture.
//!
//! Nothing in a datagram tells how long it waited, but packets of TCP beside it do if they share its queue. Whether
//! they do shows in the datagrams: of a time in which the wait grows, so much less was sent in what is seen of it. The
//! number in windows falls by the rate times what the wait grew, if the queue is shared, and not at all where each flow
//! has its own. So it is the slope of a regression that says which; where it is neither, times stay as they were seen.
//! The rule is sojourn's own; what TCP's packets waited is of the passive estimators ([`super::waits`]).
//! A queue keeps datagrams in order: what is inexact in waits that others tell changes times, not the order.

use super::looks::Looks;
use super::queue::between;
use super::quic::Lengths;
use super::rtp::Sources;
use super::stood::Bytes;
use super::turns::Turn;
use super::waits::waited;

/// Windows in which datagrams are counted, and silences that are no part of one.
const WINDOW_NS: i64 = 100_000_000;
const SILENCE_NS: i64 = 1_000_000_000;
/// Windows without which nothing is said.
const LEAST: usize = 20;
/// How far from one the slope may be, with two standard errors: then it is not zero.
const OFF: f64 = 0.5;

/// Who waits so little may not have, ns; and for so few datagrams waits who has a queue of its own, too.
const LITTLE_NS: i64 = 2_000_000;
const FEW: usize = 3;
/// Datagrams have so many times of the link what all others have while packets wait, if those wait behind them …
const MORE: u64 = 2;
/// … and so many times what they have of it else: they are what is waited for.
const DENSER: f64 = 1.25;

const DATAGRAM: Turn = Turn { accepted: false, bytes: 0, wait_ns: 0, heard: 0, writes: 1, streamed: false };

/// By turn the direction, the size and the time since the last one.
#[derive(Debug)]
pub(super) struct Datagrams {
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) turns: Vec<Turn>,
    /// What they look like, and what their lengths say if they are QUIC's.
    pub(super) looks: Looks,
    pub(super) lengths: Lengths,
    /// What is numbered, by end, and how many are among them that did not come.
    pub(super) sources: [Sources; 2],
    pub(super) missing_pkts: [u64; 2],
    /// One end's times are those of sending, not of passing the capture.
    pub(super) as_sent: bool,
}

impl Datagrams {
    pub(super) fn new(now: i64) -> Self {
        Self {
            first_ns: now,
            last_ns: now,
            turns: Vec::new(),
            looks: Looks::default(),
            lengths: Lengths::default(),
            sources: Default::default(),
            missing_pkts: [0; 2],
            as_sent: false,
        }
    }

    pub(super) fn add(&mut self, accepted: bool, bytes: u64, now: i64) {
        let wait_ns = now.saturating_sub(self.last_ns).max(0) as u64;
        self.last_ns = now.max(self.last_ns);
        self.turns.push(Turn { accepted, bytes, wait_ns, ..DATAGRAM });
    }

    /// The datagrams that carry anything: what one waited that does not counts for the next that does.
    pub(super) fn with_payload(&self) -> Vec<Turn> {
        let mut waited = 0u64;
        let kept = self.turns.iter().filter_map(|turn| {
            waited = waited.saturating_add(turn.wait_ns);
            (turn.bytes > 0).then(|| Turn { wait_ns: std::mem::take(&mut waited), ..*turn })
        });
        kept.collect()
    }

    /// Take off what the datagrams of an end waited, if they shared a queue with packets of which that is `told`.
    /// `came` is all that came from where that end is.
    pub(super) fn without_waits(&mut self, accepted: bool, told: &[(i64, i64)], came: &Bytes) {
        let (mut at, mut times, mut sizes) = (self.first_ns, Vec::new(), Vec::new());
        for turn in &self.turns {
            at = at.saturating_add_unsigned(turn.wait_ns);
            if turn.accepted == accepted {
                times.push(at);
                sizes.push(turn.bytes);
            }
        }
        if !share(&times, told) && !are_waited_for(&times, &sizes, told, came) {
            return;
        }
        times.iter_mut().for_each(|at| *at = at.saturating_sub(waited(told, *at, false)));
        times.sort_unstable();
        let mut sent = times.into_iter();
        let mut timed = self.timed();
        for (at, turn) in &mut timed {
            *at = if turn.accepted == accepted { sent.next().unwrap_or(*at) } else { *at };
        }
        self.set_times(timed);
        self.as_sent = true;
    }

    /// What numbers and timestamps of ends tell whose datagrams come from afar: when they were sent, and which did not
    /// come. Of which ends the times are those of sending now.
    pub(super) fn as_numbered(&mut self, far: [bool; 2]) -> [bool; 2] {
        let mut as_sent = [false; 2];
        if self.sources.iter().zip(far).all(|(sources, far)| !far || sources.are_none()) {
            return as_sent;
        }
        let mut timed = self.timed();
        let mut missing = Vec::new();
        for (end, sources) in self.sources.iter().enumerate().filter(|(end, _)| far[*end]) {
            let (accepted, waits) = (end == 1, sources.waits(&timed));
            let own = timed.iter().enumerate().filter(|(_, (_, turn))| turn.accepted == accepted);
            let own: Vec<_> = own.map(|(place, _)| place as u32).collect();
            as_sent[end] = !waits.is_empty() && waits.len() * 2 >= own.len();
            if as_sent[end] {
                // What has no timestamp among those that have (RTCP, a handshake) waited as the one before it did.
                let (mut waits, mut last) = (waits.into_iter().peekable(), 0);
                for place in own {
                    while let Some((_, wait)) = waits.next_if(|(of, _)| *of <= place) {
                        last = wait;
                    }
                    timed[place as usize].0 -= last;
                }
            }
            let lost = sources.missing(&timed);
            self.missing_pkts[end] = lost.len() as u64;
            missing.extend(lost.into_iter().map(|(at, bytes)| (at, Turn { accepted, bytes, ..DATAGRAM })));
        }
        timed.extend(missing);
        self.set_times(timed);
        self.as_sent |= as_sent != [false; 2];
        as_sent
    }

    /// When each was sent, or passed the capture.
    fn timed(&self) -> Vec<(i64, Turn)> {
        let mut at = self.first_ns;
        let time = |turn: &Turn| {
            at = at.saturating_add_unsigned(turn.wait_ns);
            (at, *turn)
        };
        self.turns.iter().map(time).collect()
    }

    fn set_times(&mut self, mut timed: Vec<(i64, Turn)>) {
        timed.sort_by_key(|(at, _)| *at);
        self.turns.clear();
        self.first_ns = timed.first().map_or(self.first_ns, |(at, _)| *at);
        self.last_ns = self.first_ns;
        timed.iter().for_each(|(at, turn)| self.add(turn.accepted, turn.bytes, *at));
    }
}

/// Whether datagrams seen at these times waited as is told of other packets.
fn share(times: &[i64], told: &[(i64, i64)]) -> bool {
    let windows = windows(times, told);
    let count = windows.len() as f64;
    let [counted, grown] = [0, 1].map(|of| windows.iter().map(|window| window[of]).sum::<f64>() / count);
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        windows.iter().map(|[number, grew]| of(number - counted, grew - grown)).sum::<f64>()
    };
    // What was sent is counted in windows less what the wait grew.
    let width = WINDOW_NS as f64;
    let rate = counted / (width - grown);
    let moved = sum(&|_, grew| grew * grew);
    let slope = -sum(&|number, grew| number * grew) / moved;
    let left = sum(&|number, grew| (number + slope * grew).powi(2));
    let error = (left / (count - 2.0) / moved).sqrt();
    windows.len() >= LEAST && (slope / rate - 1.0).abs() + 2.0 * error / rate < OFF
}

/// Whether packets wait behind datagrams seen at these times.
fn are_waited_for(times: &[i64], sizes: &[u64], told: &[(i64, i64)], came: &Bytes) -> bool {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return false };
    let mut sums = vec![0; sizes.len() + 1];
    sizes.iter().enumerate().for_each(|(n, size)| sums[n + 1] = sums[n] + size);
    let upto = |time: i64| times.partition_point(|at| *at <= time);
    let (mut count, mut time, mut own, mut others) = (0, 0i64, 0, 0);
    for &(at, wait) in told.iter().filter(|(at, wait)| (first..=last).contains(&at) && *wait >= LITTLE_NS) {
        let after = at.saturating_sub(wait);
        let (from, to) = (upto(after), upto(at));
        if to - from < FEW {
            continue;
        }
        let Some(all) = came.between(after, at) else { break };
        let theirs = sums[to] - sums[from];
        (count, time) = (count + 1, time.saturating_add(wait));
        (own, others) = (own + theirs, others + all.saturating_sub(theirs));
    }
    let rate = sums[sizes.len()] as f64 / last.saturating_sub(*first).max(1) as f64;
    count >= LEAST && own > MORE * others && own as f64 > DENSER * rate * time as f64
}

/// Of windows in which datagrams went on: their number, and what the wait grew, where that is told.
fn windows(times: &[i64], told: &[(i64, i64)]) -> Vec<[f64; 2]> {
    let mut windows = Vec::new();
    for stretch in times.chunk_by(|one, next| next.saturating_sub(*one) < SILENCE_NS) {
        let (mut begin, mut rest) = (stretch[0], stretch);
        while let Some(end) = begin.checked_add(WINDOW_NS).filter(|end| *end <= stretch[stretch.len() - 1]) {
            let inside = rest.partition_point(|at| *at < end);
            let waits = [begin, end].map(|at| between(told, at, false));
            if let [Some(before), Some(after)] = waits {
                windows.push([inside as f64, after.saturating_sub(before) as f64]);
            }
            (begin, rest) = (end, &rest[inside..]);
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::super::stood::Passed;
    use super::*;

    const MS: i64 = 1_000_000;

    /// What a packet that leaves at a time waited, ms: a sawtooth, each tooth 700 ms.
    fn sawtooth(at: i64) -> i64 {
        20 + at % 700 / 20
    }

    /// Packets of TCP every 7 ms that tell what they waited.
    fn told() -> Vec<(i64, i64)> {
        (0..1500).map(|at| (7 * at * MS, sawtooth(7 * at) * MS)).collect()
    }

    /// Datagrams sent every 5 ms: when they leave that queue, as its waits then say.
    fn behind() -> Vec<i64> {
        let mut at = 0;
        let sent = (0..1900).map(|n| 5 * n);
        let left = sent.map(|sent| {
            while at - sawtooth(at) < sent {
                at += 1;
            }
            at * MS
        });
        left.collect()
    }

    fn flow(times: &[i64], accepted: bool) -> Datagrams {
        let mut flow = Datagrams::new(times[0]);
        times.iter().enumerate().for_each(|(n, at)| flow.add(accepted, n as u64, *at));
        flow
    }

    fn times(flow: &Datagrams) -> Vec<(i64, bool)> {
        let mut at = flow.first_ns;
        let later = |turn: &Turn| {
            at += turn.wait_ns as i64;
            (at, turn.accepted)
        };
        flow.turns.iter().map(later).collect()
    }

    /// Of datagrams that were sent every 5 ms, how many come 3 ms or more before or after their time.
    fn uneven(flow: &Datagrams) -> usize {
        let mut late: Vec<i64> = times(flow).iter().zip(0..).map(|((at, _), n)| at - 5 * n * MS).collect();
        late.sort_unstable();
        let middle = late[late.len() / 2];
        late.iter().filter(|late| (*late - middle).abs() > 3 * MS).count()
    }

    #[test]
    fn what_has_no_timestamp_waited_as_the_one_before_it_and_what_is_missing_is_put_in_its_place() {
        let header =
            |i: u16| [&[0x80, 96][..], &i.to_be_bytes(), &(u32::from(i) * 160).to_be_bytes(), &[0; 4]].concat();
        let kept = |far: [bool; 2], others: usize| {
            let mut datagrams = Datagrams::new(0);
            for i in (0..200u16).filter(|i| *i != 100) {
                let (sent, wait) = (i64::from(i) * 20_000_000, if i.is_multiple_of(4) { 9_000_000 } else { 0 });
                let reports = (0..others as i64).map(|n| (vec![0x80, 200], 60, (n + 1) * 3_000_000));
                for (payload, bytes, after) in std::iter::once((header(i), 172, 0)).chain(reports) {
                    datagrams.add(true, bytes, sent + wait + after);
                    datagrams.sources[1].add(&payload, bytes, datagrams.turns.len() as u32 - 1);
                }
            }
            let told = datagrams.as_numbered(far);
            let times: Vec<_> = datagrams.timed().into_iter().map(|(at, turn)| (at / 1_000_000, turn.bytes)).collect();
            (told, datagrams.as_sent, datagrams.missing_pkts, times)
        };
        let sent = (0..200).flat_map(|i| [(i * 20, 172), (i * 20 + 3, 60)]).filter(|one| *one != (2003, 60));
        assert_eq!(kept([false, true], 1), ([false, true], true, [0, 1], sent.collect()));
        let (told, as_sent, missing, times) = kept([true, false], 1);
        assert_eq!((told, as_sent, missing, times.len(), times[0]), ([false; 2], false, [0; 2], 398, (9, 172)));
        assert!(!kept([false, true], 2).1, "most have none");
    }

    #[test]
    fn datagrams_that_share_a_queue_were_sent_as_evenly_as_they_were() {
        let mut flow = flow(&behind(), true);
        assert!(uneven(&flow) > 1500);
        flow.without_waits(true, &told(), &Bytes::default());
        assert!(flow.as_sent && uneven(&flow) < 150, "{}", uneven(&flow));
        assert!(flow.turns.iter().map(|turn| turn.bytes).eq(0..1900), "in order");
        assert_eq!(times(&flow)[1899].0, flow.last_ns);
    }

    /// Packets as they leave a link that takes 2 ms for 1200 bytes: every 33 ms a picture of eight datagrams, and of
    /// TCP packets of so many bytes every 5 ms. When each leaves, its bytes, what it waited, and whether it is a
    /// datagram. First in, first out, or in turn from a queue of each.
    fn pictures(tcp: u64, fair: bool) -> Vec<(i64, u64, i64, bool)> {
        let sent =
            |every: i64, each: i64, count: i64| (0..count).flat_map(move |n| vec![n * every * MS; each as usize]);
        let mut queues = [sent(33, 8, 120).collect::<Vec<_>>(), sent(5, 1, 800).collect()];
        queues.iter_mut().for_each(|queue| queue.reverse());
        let (mut now, mut left, mut turn) = (0, Vec::new(), 0);
        while let Some(first) = queues.iter().filter_map(|queue| queue.last()).min().copied() {
            now = now.max(first);
            let has = |queue: &Vec<i64>| queue.last().is_some_and(|sent| *sent <= now);
            let oldest = usize::from(queues[1].last().copied().unwrap_or(i64::MAX) == first);
            let next = if fair && has(&queues[turn]) { turn } else { oldest };
            let Some(sent) = queues[next].pop() else { break };
            turn = 1 - next;
            let (bytes, wait) = (if next == 0 { 1200 } else { tcp }, now - sent);
            now += bytes as i64 * 2 * MS / 1200;
            left.push((now, bytes, wait, next == 0));
        }
        left
    }

    /// Datagrams among those packets, without their waits as the others tell them, which may be told too late by some.
    fn pictures_as_sent(tcp: u64, fair: bool, late: i64) -> Datagrams {
        let left = pictures(tcp, fair);
        let mut passed = Passed::default();
        left.iter().for_each(|(at, bytes, ..)| passed.add(*at, *bytes, [false; 2]));
        let told: Vec<_> = left.iter().filter(|of| !of.3).map(|(at, _, wait, _)| (at + late, *wait)).collect();
        let times: Vec<_> = left.iter().filter(|of| of.3).map(|(at, ..)| *at).collect();
        let mut flow = Datagrams::new(times[0]);
        times.iter().for_each(|at| flow.add(true, 1200, *at));
        flow.without_waits(true, &told, &passed.bytes(0));
        flow
    }

    #[test]
    fn packets_that_wait_behind_pictures_tell_when_those_were_sent() {
        let flow = pictures_as_sent(60, false, 0);
        assert!(flow.as_sent);
        // Within 7 ms of each other in place of 17.
        let times = times(&flow);
        let together = times.windows(8).filter(|of| of[7].0 - of[0].0 < 7 * MS).count();
        assert!(together >= 110, "{together}");
        // Who has a queue of its own waits for its turn only; who waits at another place, for nothing that is seen.
        let others = [(60, true, 0), (1200, true, 0), (600, false, 16 * MS), (60, false, 16 * MS)];
        let told = others.map(|(tcp, fair, late)| pictures_as_sent(tcp, fair, late).as_sent);
        assert_eq!(told, [false; 4]);
    }

    /// Whether it is told that packets wait behind datagrams of 1000 bytes, so many µs apart: bursts of eight every 100
    /// ms, or all the time. One waits behind every eighth of each 100 ms, for so many µs; others of so many bytes come
    /// with it.
    fn wait_behind(bursts: bool, count: i64, every: i64, wait: i64, others: u64) -> bool {
        let (us, mut passed) = (MS / 1000, Passed::default());
        let at = (0..count * 100_000).step_by(every as usize).filter(|at| !bursts || at % 100_000 < 8 * every);
        let times: Vec<i64> = at.map(|at| at * us).collect();
        let eighth = (0..count).map(|n| (n * 100_000 + 7 * every) * us);
        times.iter().for_each(|at| passed.add(*at, 1000, [false; 2]));
        eighth.clone().for_each(|at| passed.add(at, others, [false; 2]));
        let told: Vec<_> = eighth.map(|at| (at, wait * us)).collect();
        are_waited_for(&times, &vec![1000; times.len()], &told, &passed.bytes(0))
    }

    #[test]
    fn datagrams_are_waited_for_if_they_have_more_of_the_link_than_else_and_than_others() {
        assert_eq!([20, 19].map(|count| wait_behind(true, count, 1000, 7500, 0)), [true, false]);
        assert_eq!([3999, 4001].map(|others| wait_behind(true, 20, 1000, 7500, others)), [true, false]);
        assert_eq!([2500, 1500].map(|wait| wait_behind(true, 20, 1000, wait, 0)), [true, false], "three, or two");
        assert_eq!([2000, 1999].map(|wait| wait_behind(true, 20, 100, wait, 0)), [true, false], "so little is noise");
        assert!(!wait_behind(false, 20, 1000, 7500, 0), "they come as often all the time");
    }

    #[test]
    fn datagrams_without_payload_are_left_out_and_their_waits_are_not() {
        let mut flow = Datagrams::new(0);
        let seen = [(0, 0), (100, 5), (0, 12), (0, 20), (60, 30), (0, 40)];
        seen.iter().for_each(|&(bytes, at)| flow.add(false, bytes, at));
        let kept: Vec<_> = flow.with_payload().iter().map(|turn| (turn.bytes, turn.wait_ns)).collect();
        assert_eq!(kept, [(100, 5), (60, 25)]);
    }

    #[test]
    fn what_is_inexact_in_waits_that_others_tell_changes_no_order() {
        let (mut flow, mut told) = (flow(&behind(), true), told());
        told[650].1 += 30 * MS;
        flow.without_waits(true, &told, &Bytes::default());
        assert!(flow.as_sent && flow.turns.iter().map(|turn| turn.bytes).eq(0..1900));
    }

    #[test]
    fn where_each_flow_has_its_queue_times_stay_as_they_were_seen() {
        let even: Vec<i64> = (0..1900).map(|n| 5 * n * MS).collect();
        // Those of the other end, few ones, and where nobody waited.
        let other = (flow(&behind(), false), told());
        let few = (flow(&behind()[..300], true), told());
        let calm = (flow(&behind(), true), told().into_iter().map(|(at, _)| (at, 5 * MS)).collect());
        for (mut flow, told) in [(flow(&even, true), told()), other, few, calm] {
            let before = times(&flow);
            flow.without_waits(true, &told, &Bytes::default());
            assert!(!flow.as_sent && times(&flow) == before);
        }
    }

    #[test]
    fn what_the_other_end_sends_keeps_its_times() {
        let (mut alone, mut flow) = (flow(&behind(), true), Datagrams::new(0));
        let mut both: Vec<(i64, bool)> = behind().into_iter().map(|at| (at, true)).collect();
        both.extend((0..900).map(|n| (11 * n * MS, false)));
        both.sort_unstable();
        both.iter().for_each(|(at, accepted)| flow.add(*accepted, 100, *at));
        flow.without_waits(true, &told(), &Bytes::default());
        assert!(flow.as_sent);
        let of = |flow: &Datagrams, end: bool| -> Vec<i64> {
            times(flow).iter().filter(|(_, accepted)| *accepted == end).map(|(at, _)| *at).collect()
        };
        assert_eq!(of(&flow, false), (0..900).map(|n| 11 * n * MS).collect::<Vec<_>>());
        alone.without_waits(true, &told(), &Bytes::default());
        assert_eq!(of(&flow, true), of(&alone, true));
    }
}
