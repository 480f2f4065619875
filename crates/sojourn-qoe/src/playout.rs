//! Playout buffers: which frames of a call are there when it is their turn.
//!
//! Three buffers are here, and `neteq.rs` has a fourth. `unbuffered` is for scores of the network's delay and loss
//! alone. `fixed` is the textbook one: the first packet to arrive is played a given time after its arrival, every other
//! frame one media clock later than the frame before it, and what arrives after its turn is late. `adaptive` sets the
//! playout point where a pause ends, from running estimates of the delay and its deviation, fast upwards and slow
//! downwards; a packet that comes late within a talk spurt moves the point behind it: one frame is concealed, the next
//! ones are in time again.
//!
//! Source: R. Ramjee et al., "Adaptive playout mechanisms for packetized audio applications in wide-area networks",
//! 1994, algorithm 2.
//!
//! Differences from algorithm 2: falling delays and deviations are weighted 1/16 rather than 1/500, because calls last
//! seconds; the wait above the estimate is bounded; a talk spurt never starts before its first packet is there; the
//! point moves within talk spurts as described. Moving it in a pause or behind a late packet costs no frames beyond
//! those counted, because PESQ realigns what it hears.
//!
//! Which one? The default is `adaptive`, as in telephones of today. A call over a queue that TCP keeps filling and
//! draining sees the delay ramp by hundreds of milliseconds within seconds. A fixed buffer loses everything beyond
//! first arrival and wait, so that speech dies although hardly a packet is lost; an adaptive one follows the ramp and
//! trades most of the loss for delay, which alone cannot take G.711 below a MOS of about 2.3 (Idd tends to 50). The
//! studies imc14-* say `fixed` with 60 ms. That is fitted to their paper, which names no buffer: in it the direction
//! that suffers the queue scores 1.0 with 128 packets and more even where the network loses 1 % of the packets (one
//! long upload), while the other direction, for which delay is all there is, never falls below 2.1. Only a buffer that
//! does not follow the queue gives both; the sum of 60 ms here and 20 ms of packetisation is also what fits the delay
//! of the other direction.
//!
//! The call that begins while the queue is full: the anchor is then a packet with a long delay, later ones come early
//! and wait, nothing is late, and the listener keeps the long delay for the whole call. The waiting counts as delay
//! (`Played::wait_ns`). `fixed` holds as much as that takes; `adaptive` holds at most its capacity and drops the oldest
//! frames when more is waiting, which moves playout forward.

/// Frames of a call: when each was sent, and its one-way delay; negative if it never arrives.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    /// Nanoseconds, in media order: the media clock.
    pub sent_ns: &'a [u64],
    /// Nanoseconds.
    pub delay_ns: &'a [i64],
}

/// What became of them, in media order. A frame is played, or late, or lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// Frames that the decoder has to conceal: late or lost.
    pub erased: Vec<bool>,
    /// Frames that arrived but were not played: too late, or dropped by a full buffer.
    pub late: Vec<bool>,
    /// Frames that the network lost.
    pub lost: Vec<bool>,
    /// Where the frame after it had arrived when it was a frame's turn: what forward error correction needs.
    pub ahead: Vec<bool>,
    /// Mean time that played frames spent in the buffer; the nominal delay if none was played.
    pub wait_ns: f64,
}

const MS: i64 = 1_000_000;
/// Wait of the adaptive buffer's first packet, before anything is known about the delay.
const FIRST_NS: i64 = 60 * MS;
const LEAST_NS: f64 = 20.0 * MS as f64;
const MOST_NS: f64 = 400.0 * MS as f64;
const CAPACITY_NS: i64 = 500 * MS;
const RISE: f64 = 0.25;
const FALL: f64 = 1.0 / 16.0;
/// The turn of a frame that a full buffer dropped, or that was missing before anything was played.
pub(crate) const DROPPED: i64 = -1;

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

/// A buffer that sets its playout point where a pause ends, down by at most the pause. `talk` says which frames have
/// speech; of those beyond its end, and without it, a pause of 10 frames in every 50 is assumed.
pub fn adaptive(frames: Frames<'_>, talk: &[bool]) -> Played {
    let margin = |deviation: f64| (4.0 * deviation).clamp(LEAST_NS, MOST_NS);
    let mut turns = vec![DROPPED; frames.sent_ns.len()];
    let (mut mean, mut deviation) = (0.0, 0.0);
    let (mut offset, mut pause_from) = (None, None);
    for (i, (at, delay)) in times(frames).enumerate() {
        let talk = talk.get(i).copied().unwrap_or(i % 50 < 40);
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

/// When each frame was sent, and its delay.
pub(crate) fn times(frames: Frames<'_>) -> impl Iterator<Item = (i64, i64)> {
    frames.sent_ns.iter().zip(frames.delay_ns).map(|(sent, delay)| (*sent as i64, *delay))
}

/// Holds the turns of the frames against their arrivals.
pub(crate) fn outcome(frames: Frames<'_>, turns: &[i64], nominal_ns: i64) -> Played {
    let mut found = Played::default();
    let (mut waited, mut played) = (0i64, 0i64);
    let arrivals: Vec<_> = times(frames).map(|(sent, delay)| (delay >= 0).then_some(sent + delay)).collect();
    for (i, (turn, arrival)) in turns.iter().zip(&arrivals).enumerate() {
        let wait = arrival.filter(|arrival| *turn >= 0 && turn >= arrival).map(|arrival| turn - arrival);
        found.lost.push(arrival.is_none());
        found.late.push(arrival.is_some() && wait.is_none());
        found.erased.push(wait.is_none());
        found.ahead.push(arrivals.get(i + 1).is_some_and(|next| next.is_some_and(|next| *turn >= next)));
        if let Some(wait) = wait {
            waited += wait;
            played += 1;
        }
    }
    found.wait_ns = if played > 0 { waited as f64 / played as f64 } else { nominal_ns as f64 };
    found
}

#[cfg(test)]
mod tests;
