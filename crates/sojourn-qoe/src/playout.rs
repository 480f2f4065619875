//! Playout buffers: which frames of a call are there when it is their turn.
//!
//! `fixed`: the first packet to arrive is played a given time after its arrival, every other frame one media clock
//! later than the frame before it. `adaptive`: the playout point is set at the start of every talk spurt from running
//! estimates of the delay and its deviation. Source: R. Ramjee et al., "Adaptive playout mechanisms for packetized
//! audio applications in wide-area networks", 1994, algorithm 2.
//!
//! Differences: those of `sojourn.qoe.media.playout`, whose twin this is, for scores in a page.

/// Frames of a call: when each was sent, and its one-way delay; negative if it never arrives.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    /// Nanoseconds, in media order.
    pub sent_ns: &'a [u64],
    /// Nanoseconds.
    pub delay_ns: &'a [i64],
}

/// What became of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Frames that the decoder has to conceal.
    pub erased: Vec<bool>,
    /// Frames that arrived but were not played.
    pub late: u64,
    /// Frames that the network lost.
    pub lost: u64,
    /// Mean time that played frames spent in the buffer; the nominal delay if none was played.
    pub wait_ns: f64,
}

const MS: i64 = 1_000_000;
const FIRST_NS: i64 = 60 * MS;
const LEAST_NS: f64 = 20.0 * MS as f64;
const MOST_NS: f64 = 400.0 * MS as f64;
const CAPACITY_NS: i64 = 500 * MS;
const RISE: f64 = 0.25;
const FALL: f64 = 1.0 / 16.0;
/// The turn of a frame that a full buffer dropped.
const DROPPED: i64 = -1;

/// No buffer: what arrives is played as it arrives.
pub fn unbuffered(frames: Frames<'_>) -> Played {
    let turns: Vec<_> = times(frames).map(|(sent, delay)| sent + delay).collect();
    outcome(frames, &turns, 0)
}

/// A fixed buffer: deadlines run from the first arrival plus `playout_ns`.
pub fn fixed(frames: Frames<'_>, playout_ns: i64) -> Played {
    let there = times(frames).filter(|(_, delay)| *delay >= 0);
    let first = there.min_by_key(|(sent, delay)| sent + delay).map_or(0, |(_, delay)| delay);
    let turns: Vec<_> = times(frames).map(|(sent, _)| sent + first + playout_ns).collect();
    outcome(frames, &turns, playout_ns)
}

/// A buffer that sets its playout point where a pause ends; a pause of 10 frames in every 50 is assumed.
pub fn adaptive(frames: Frames<'_>) -> Played {
    let margin = |deviation: f64| (4.0 * deviation).clamp(LEAST_NS, MOST_NS);
    let mut turns = vec![DROPPED; frames.sent_ns.len()];
    let (mut mean, mut deviation) = (0.0, 0.0);
    let (mut offset, mut pause_from) = (None, None);
    for (i, (at, delay)) in times(frames).enumerate() {
        let talk = i % 50 < 40;
        if !talk {
            pause_from.get_or_insert(at);
        }
        if delay < 0 {
            if let Some(offset) = offset {
                turns[i] = at + offset;
            }
            pause_from = pause_from.filter(|_| !talk);
            continue;
        }
        let d = delay as f64;
        let mut point = match (offset, pause_from) {
            (None, _) => {
                mean = d;
                delay + FIRST_NS
            }
            (Some(point), Some(from)) if talk => {
                let wanted = ((mean + margin(deviation)) as i64).max(delay + LEAST_NS as i64);
                wanted.max(point - (at - from))
            }
            (Some(point), _) => point,
        };
        pause_from = pause_from.filter(|_| !talk);
        if point - delay > CAPACITY_NS {
            point = (d + margin(deviation)) as i64;
            for turn in &mut turns[..i] {
                if *turn >= at + point {
                    *turn = DROPPED;
                }
            }
        }
        turns[i] = at + point;
        let late = delay > point;
        mean += if d > mean { RISE } else { FALL } * (d - mean);
        deviation += FALL * ((d - mean).abs() - deviation);
        offset = Some(if late { (d + margin(deviation)) as i64 } else { point });
    }
    outcome(frames, &turns, FIRST_NS)
}

fn times(frames: Frames<'_>) -> impl Iterator<Item = (i64, i64)> {
    frames.sent_ns.iter().zip(frames.delay_ns).map(|(sent, delay)| (*sent as i64, *delay))
}

/// Holds the turns of the frames against their arrivals.
fn outcome(frames: Frames<'_>, turns: &[i64], nominal_ns: i64) -> Played {
    let mut found = Played { erased: Vec::with_capacity(turns.len()), late: 0, lost: 0, wait_ns: 0.0 };
    let (mut waited, mut played) = (0i64, 0i64);
    for ((sent, delay), turn) in times(frames).zip(turns) {
        let wait = turn - sent - delay;
        let in_time = delay >= 0 && *turn >= 0 && wait >= 0;
        found.lost += u64::from(delay < 0);
        found.late += u64::from(delay >= 0 && !in_time);
        found.erased.push(!in_time);
        if in_time {
            waited += wait;
            played += 1;
        }
    }
    found.wait_ns = if played > 0 { waited as f64 / played as f64 } else { nominal_ns as f64 };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(delays_ms: &[i64]) -> (Vec<u64>, Vec<i64>) {
        let sent = (0..delays_ms.len() as u64).map(|i| i * 20_000_000).collect();
        (sent, delays_ms.iter().map(|d| if *d < 0 { -1 } else { d * MS }).collect())
    }

    #[test]
    fn a_fixed_buffer_plays_what_comes_within_its_delay() {
        let (sent, delay) = call(&[10, 70, 71, -1]);
        let found = fixed(Frames { sent_ns: &sent, delay_ns: &delay }, 60 * MS);
        assert_eq!((found.erased, found.late, found.lost), (vec![false, false, true, true], 1, 1));
        assert_eq!(found.wait_ns, 30e6);
    }

    #[test]
    fn an_adaptive_buffer_follows_the_delay() {
        let delays: Vec<_> = (0..400).map(|i| 20 + i).collect();
        let (sent, delay) = call(&delays);
        let frames = Frames { sent_ns: &sent, delay_ns: &delay };
        let (follows, stays) = (adaptive(frames), fixed(frames, 60 * MS));
        assert!(follows.late < 20 && stays.late > 300, "{} and {}", follows.late, stays.late);
    }

    #[test]
    fn nothing_arrives() {
        let (sent, delay) = call(&[-1, -1]);
        let frames = Frames { sent_ns: &sent, delay_ns: &delay };
        for found in [unbuffered(frames), fixed(frames, 5), adaptive(frames)] {
            assert_eq!((found.erased, found.lost), (vec![true, true], 2));
        }
    }
}
