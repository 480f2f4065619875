//! Datagrams of RTP: when they were sent that waited in front of the capture, and those that were lost there.
//!
//! Timestamps tell when what is in a datagram was sampled: those of calls count 8000 to 90,000 times a second, which
//! the times of arrival show. What a datagram comes later by than the quickest of its source, it waited. Sequence
//! numbers tell which are missing; when these were sent, and how long they were, lies between the ones before and
//! after.
//!
//! Source: RFC 3550 §5.1 (the fixed header) and §A.1 (which numbers go on), RFC 3551 §6 (clocks); RFC 3711 leaves that
//! header in the clear, so that calls of browsers tell it, too; RFC 5761 §4 tells RTCP beside it. The rules are
//! sojourn's own. A picture is sampled once: its datagrams are taken to be sent at once, as browsers and `ffmpeg` do.

use super::turns::Turn;
use crate::delay::clock::skew::Minima;
use crate::delay::clock::unwrapped::Unwrapped;

/// Length of the fixed header, and the version in its first two bits.
const HEADER: usize = 12;
const VERSION: u8 = 2;
/// Payload types that are those of RTCP's packets.
const RTCP: std::ops::Range<u8> = 64..96;
/// A source is one if so many of its numbers went on, and at most one in so many began anew.
const FEWEST: u32 = 16;
const ANEW: u32 = 20;
/// Numbers go on by no more, and late ones are no later (`MAX_DROPOUT` and `MAX_MISORDER` of RFC 3550 §A.1).
const GAP: i64 = 3000;
const LATE: i64 = 100;
/// Sources that one end of a flow has at most.
const MOST: usize = 16;
/// Clocks of media, 1/s, and what the stamps of one may seem to be off it by, as a queue grows or drains meanwhile.
const RATES: [f64; 9] = [8e3, 11_025.0, 16e3, 22_050.0, 24e3, 32e3, 44_100.0, 48e3, 90e3];
const OFF: f64 = 0.04;
/// In less time, ns, nobody tells by which clock stamps go; and no queue holds a datagram for longer.
const SHORTEST_NS: i64 = 2_000_000_000;
const LONGEST_NS: f64 = 10e9;

/// One that came: its place among the datagrams of its flow, and its timestamp.
#[derive(Debug, Clone, Copy)]
struct Came {
    place: u32,
    stamp: i64,
}

/// One that did not: its number, the source's last that came before it, which part it is of the way to the next, and
/// how long it would have been.
#[derive(Debug, Clone, Copy)]
struct Missing {
    number: i64,
    after: u32,
    part: f32,
    bytes: u64,
}

/// A source, by its number.
#[derive(Debug, Default)]
struct Source {
    number: u32,
    /// The highest sequence number, on a line without end; the length of that datagram, and its place among those that
    /// came.
    highest: i64,
    bytes: u64,
    last: u32,
    went_on: u32,
    began_anew: u32,
    stamps: Unwrapped,
    came: Vec<Came>,
    missing: Vec<Missing>,
}

/// The sources of one end of a flow of datagrams.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// One more datagram, which has that place, so many bytes, and begins like that; how many more are missing now.
    pub(super) fn add(&mut self, payload: &[u8], bytes: u64, place: u32) -> usize {
        let Some((number, sequence, stamp)) = fixed_header(payload) else { return 0 };
        let known = self.0.iter().position(|source| source.number == number);
        if known.is_none() && self.0.len() == MOST {
            return 0;
        }
        let at = known.unwrap_or_else(|| {
            self.0.push(Source { number, highest: i64::from(sequence) - 1, ..Source::default() });
            self.0.len() - 1
        });
        self.0[at].add((sequence, stamp), bytes, place)
    }

    fn told(&self) -> impl Iterator<Item = &Source> {
        self.0.iter().filter(|source| source.went_on >= FEWEST.max(source.began_anew * ANEW))
    }

    /// What datagrams waited, by their places, ns, as far as their timestamps tell.
    pub(super) fn waits(&self, timed: &[(i64, Turn)]) -> Vec<(u32, i64)> {
        let of = |source: &Source| {
            let waits = source.waits(|came| timed[came.place as usize].0)?;
            Some(source.came.iter().map(|came| came.place).zip(waits).collect::<Vec<_>>())
        };
        let mut all: Vec<_> = self.told().filter_map(of).flatten().collect();
        all.sort_unstable();
        all
    }

    /// When those were sent that did not come, or would have come, as the others were or did; and their lengths.
    pub(super) fn missing(&self, timed: &[(i64, Turn)]) -> Vec<(i64, u64)> {
        let one = |source: &Source, missing: &Missing| {
            let between: &[Came; 2] = source.came.get(missing.after as usize..)?.first_chunk()?;
            let [from, until] = between.map(|came| timed[came.place as usize].0);
            let part = (f64::from(missing.part) * until.saturating_sub(from) as f64) as i64;
            Some((from.saturating_add(part), missing.bytes))
        };
        self.told().flat_map(|source| source.missing.iter().filter_map(move |missing| one(source, missing))).collect()
    }
}

impl Source {
    fn add(&mut self, (sequence, stamp): (u16, u32), bytes: u64, place: u32) -> usize {
        let ahead = i64::from(sequence.wrapping_sub(self.highest as u16) as i16);
        let (before, after) = (self.missing.len(), self.last);
        match ahead {
            1..=GAP => {
                let missing = |step: i64| {
                    let part = step as f32 / ahead as f32;
                    let longer = (bytes as f64 - self.bytes as f64) * f64::from(part);
                    Missing { number: self.highest + step, after, part, bytes: (self.bytes as f64 + longer) as u64 }
                };
                self.missing.extend((1..ahead).map(missing));
                self.went_on = self.went_on.saturating_add(1);
            }
            _ if (-LATE..=0).contains(&ahead) => {
                let (came, last) = (self.highest + ahead, self.missing.len().saturating_sub(LATE as usize));
                if let Some(place) = self.missing[last..].iter().position(|missing| missing.number == came) {
                    self.missing.remove(last + place);
                }
                return 0;
            }
            _ => self.began_anew = self.began_anew.saturating_add(1),
        }
        (self.highest, self.bytes, self.last) = (self.highest + ahead, bytes, self.came.len() as u32);
        self.came.push(Came { place, stamp: self.stamps.advance(stamp) });
        self.missing.len() - before
    }

    /// What each that came waited more than the quickest, ns, if its stamps go by a clock.
    fn waits(&self, at: impl Fn(&Came) -> i64) -> Option<Vec<i64>> {
        let [first, last] = [self.came.first()?, self.came.last()?];
        let seconds = at(last).checked_sub(at(first)).filter(|span| *span >= SHORTEST_NS)? as f64 / 1e9;
        let rate = (last.stamp - first.stamp) as f64 / seconds;
        let rate = RATES.into_iter().find(|of| (rate / of - 1.0).abs() < OFF)?;
        let start = at(first);
        let mut quickest = Minima::default();
        let late = |came: &Came| (at(came) - start) as f64 - (came.stamp - first.stamp) as f64 * 1e9 / rate;
        self.came.iter().for_each(|came| quickest.add(at(came) - start, late(came)));
        let skew = quickest.skew(1e9 / rate).map_or(0.0, |skew| skew.significant(1e9 / rate));
        let waits: Vec<f64> = self.came.iter().map(|came| late(came) - skew * (at(came) - start) as f64).collect();
        let least = waits.iter().copied().fold(f64::INFINITY, f64::min);
        let known = waits.iter().all(|wait| wait - least < LONGEST_NS);
        known.then(|| waits.iter().map(|wait| (wait - least) as i64).collect())
    }
}

/// The source, the sequence number and the timestamp of a datagram of RTP.
fn fixed_header(payload: &[u8]) -> Option<(u32, u16, u32)> {
    let header: &[u8; HEADER] = payload.first_chunk()?;
    let [first, kind, s0, s1, t0, t1, t2, t3, n0, n1, n2, n3] = *header;
    let is_rtp = first >> 6 == VERSION && !RTCP.contains(&(kind & 0x7f));
    let [number, stamp] = [[n0, n1, n2, n3], [t0, t1, t2, t3]].map(u32::from_be_bytes);
    is_rtp.then(|| (number, u16::from_be_bytes([s0, s1]), stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn header(kind: u8, (sequence, stamp): (u16, u32), number: u32) -> Vec<u8> {
        [&[0x80, kind][..], &sequence.to_be_bytes(), &stamp.to_be_bytes(), &number.to_be_bytes()].concat()
    }

    fn turn(bytes: u64) -> Turn {
        Turn { accepted: false, bytes, wait_ns: 0, heard: 0, writes: 1, streamed: false }
    }

    /// Of a source of which these came (sequence number, stamp, ms, bytes): when those were sent of which that is told,
    /// and which are missing, ms.
    fn told(came: &[(u16, u32, i64, u64)]) -> (Vec<i64>, Vec<(i64, u64)>) {
        let (mut sources, mut timed) = (Sources::default(), Vec::new());
        for &(sequence, stamp, at, bytes) in came {
            sources.add(&header(96, (sequence, stamp), 7), bytes, timed.len() as u32);
            timed.push((at * MS, turn(bytes)));
        }
        let waits = sources.waits(&timed);
        waits.iter().for_each(|(place, wait)| timed[*place as usize].0 -= wait);
        let sent = waits.iter().map(|(place, _)| timed[*place as usize].0 / MS).collect();
        (sent, sources.missing(&timed).into_iter().map(|(at, bytes)| (at / MS, bytes)).collect())
    }

    fn missing(came: impl Iterator<Item = (u16, i64, u64)>) -> Vec<(i64, u64)> {
        let came: Vec<_> = came.map(|(sequence, at, bytes)| (sequence, 0, at, bytes)).collect();
        told(&came).1
    }

    #[test]
    fn those_between_two_that_came_are_missing_there() {
        let came = |without: &'static [u16]| {
            let one = |i: u16| (i.wrapping_sub(9), i64::from(i) * 20, u64::from(i) * 10);
            (0..40u16).filter(|i| !without.contains(i)).map(one)
        };
        assert_eq!(missing(came(&[])), []);
        assert_eq!(missing(came(&[5])), [(100, 50)]);
        // Over the end of the numbers.
        assert_eq!(missing(came(&[7, 8, 30])), [(140, 70), (160, 80), (600, 300)]);
        assert_eq!(missing(came(&[5]).take(15)), [], "a few show no source");
        assert_eq!(missing(came(&[5]).take(16)), [(100, 50)]);
    }

    #[test]
    fn what_is_late_or_comes_twice_is_not_missing_and_what_begins_anew_says_nothing_of_those_between() {
        let came = |i: u16| (i, i64::from(i) * 20, 100);
        assert_eq!(missing((0..40).filter(|i| *i != 5).map(came).chain([(5, 900, 100), (6, 901, 100)])), []);
        assert_eq!(missing((0..40).map(came).chain((9000..9040).map(came))), []);
        let all_but = |number: u16| (0..400).filter(move |i| *i < 99 || (*i > 198 && *i != number)).map(came);
        assert_eq!(missing(all_but(0).chain([(198, 9000, 100)])), missing(all_but(0)), "too late");
        assert_eq!(missing(all_but(320).chain([(320, 9000, 100)])), missing(all_but(0)));
        assert_eq!(missing((0..200).filter(|i| !(99..199).contains(i)).chain([99]).map(came)).len(), 99);
        assert_eq!(missing((0..40).map(came).chain([3039, 3041].map(came))).len(), 2999 + 1);
        assert_eq!(missing((0..40).map(came).chain([3040, 3042].map(came))).len(), 1);
        // Numbers that begin anew again and again are no numbers.
        assert_eq!(missing((0..40).flat_map(|i| [came(i * 5000), came(i * 5000 + 2)])), []);
    }

    #[test]
    fn sources_are_told_apart_and_rtcp_and_other_datagrams_are_none() {
        let mut sources = Sources::default();
        for i in 0..40u16 {
            let mut add = |payload: &[u8]| sources.add(payload, 100, 0);
            assert_eq!(add(&header(96, (i, 0), 7)), 0);
            assert_eq!(add(&header(97, (900 + 2 * i, 0), 8)), usize::from(i > 0));
            assert_eq!(add(&header(200, (3 * i, 0), 7)), 0, "a receiver's report");
            let mut other = header(96, (3 * i, 0), 7);
            other[0] = 0x40;
            assert_eq!((add(&other), add(&header(96, (3 * i, 0), 7)[..11])), (0, 0));
        }
        assert_eq!(sources.missing(&[(0, turn(100))]).len(), 39);
        let mut many = Sources::default();
        (0..40).for_each(|number| _ = many.add(&header(96, (1, 0), number), 100, 0));
        assert_eq!(many.0.len(), MOST);
    }

    #[test]
    fn stamps_tell_what_each_waited_and_when_the_missing_ones_were_sent() {
        // One each 20 ms; every fifth waits for 50 ms, and the next for 30.
        let waited = |i: u16| [50, 30, 10, 0, 0][usize::from(i % 5)];
        let all = |rate: u32, of: std::ops::Range<u16>| {
            let one = |i: u16| (i, (i as u32 * rate / 50).wrapping_sub(rate), i64::from(i) * 20 + waited(i), 200);
            of.map(one).collect::<Vec<_>>()
        };
        let sent: Vec<i64> = (0..200).map(|i| i * 20).collect();
        for rate in [8_000, 48_000, 90_000] {
            assert_eq!(told(&all(rate, 0..200)), (sent.clone(), Vec::new()), "{rate}");
        }
        let some: Vec<_> = all(8_000, 0..200).into_iter().filter(|one| one.0 != 6).collect();
        assert_eq!(told(&some).1, [(120, 200)]);
        // By no clock of media, and for too short a time, as they came.
        for came in [all(60_000, 0..200), all(8_000, 0..90)] {
            assert!(told(&came).0.is_empty());
        }
        // No queue holds one for so long: the clock was set, though its first and last stamps are as they should be.
        let set = |late: i64| {
            let came = all(8_000, 0..1000).into_iter();
            let came = came.map(|(i, stamp, at, bytes)| (i, stamp, at + if i == 500 { late } else { 0 }, bytes));
            told(&came.collect::<Vec<_>>()).0.len()
        };
        assert_eq!([9_900, 10_100].map(set), [1000, 0]);
    }

    #[test]
    fn a_picture_is_sent_at_once_and_a_fast_clock_makes_no_wait() {
        let picture = |i: u16| {
            let late = if i.is_multiple_of(15) { 40 } else { 0 };
            (0..3u16).map(move |part| (3 * i + part, u32::from(i) * 3600, i64::from(i * 40 + 4 * part) + late, 900))
        };
        let came: Vec<_> = (0..100).flat_map(picture).collect();
        let sent: Vec<i64> = (0..100).flat_map(|i| [i * 40; 3]).collect();
        assert_eq!(told(&came).0, sent);
        // 400 ppm in two minutes are 48 ms.
        let fast: Vec<_> =
            (0..6000u16).map(|i| (i, (f64::from(i) * 160.0 * 1.0004) as u32, i64::from(i) * 20, 200)).collect();
        let times = told(&fast).0;
        assert_eq!(times.len(), 6000);
        assert!(times.iter().zip(&fast).all(|(time, came)| (time - came.2).abs() <= 1));
    }
}
