//! Scores of voice calls by the E-model: what loss and lateness do to the sound, and delay to the conversation.
//!
//! Per call and direction, z1 = R₀ − Ie-eff of the codec under the call's missing frames and their burst ratio,
//! z2 = Idd of the delay, MOS = the curve of max(0, z1 − z2). The delay is packetisation, half the conversational round
//! trip (the mean delays of both directions) or the direction's own, and the mean wait in the playout buffer.
//!
//! Differences: none from `sojourn.qoe.voice` with `score = "emodel"`, whose twin this is for pages; a call in which
//! nothing arrives has no delay, and z1 speaks alone.

use crate::emodel::{self, Plan};
use crate::playout::{self, Frames, Played};
use crate::statistics::{Statistics, rounded, statistics};
use serde::Serialize;
use std::collections::BTreeMap;

/// The receiver's playout buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// It waits so many nanoseconds after the first arrival.
    Fixed(i64),
    /// It follows the delay.
    Adaptive,
    /// There is none.
    None,
}

/// How the calls of a user are scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// The codec's impairment.
    pub plan: Plan,
    /// Milliseconds from speech to packet.
    pub packetisation_ms: f64,
    /// The playout buffer.
    pub buffer: Buffer,
    /// The delay is half the round trip, not the direction's own.
    pub half_rtt: bool,
}

/// One packet of a call. Ordered as calls are: by direction, user, call, number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    /// 0: the user talks; 1: the user listens.
    pub direction: u8,
    /// The user.
    pub user: u32,
    /// The user's call.
    pub call: u32,
    /// Number in its call and direction.
    pub seq: u16,
    /// When it was sent.
    pub sent_ns: u64,
    /// One-way delay; negative if it never arrived.
    pub delay_ns: i64,
}

/// One direction of a call, scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    direction: u8,
    mos: f64,
    z1: f64,
    z2: f64,
    packets: u64,
    lost: u64,
    late: u64,
    delay_ms: f64,
    ta_ms: f64,
}

/// Scores of the calls of one direction, in the shape of results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    mos: Statistics,
    z1: Statistics,
    z2: Statistics,
    loss: f64,
    late: f64,
    delay_ms: Option<f64>,
    ta_ms: Option<f64>,
    calls: usize,
    unscored: usize,
    model: &'static str,
}

/// Scores of calls by direction; a direction without calls is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The user talks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talks: Option<Side>,
    /// The user listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listens: Option<Side>,
}

/// Scores every call of one entry of users in each direction.
pub fn calls(mut packets: Vec<Packet>, method: Method) -> Vec<Call> {
    packets.sort_unstable();
    let parts: Vec<_> =
        packets.chunk_by(|a, b| (a.direction, a.user, a.call) == (b.direction, b.user, b.call)).collect();
    let key = |part: &[Packet]| (part[0].direction, part[0].user, part[0].call);
    let delays: BTreeMap<_, _> = parts.iter().map(|part| (key(part), mean_delay(part))).collect();
    let other = |(direction, user, call): (u8, u32, u32)| delays.get(&(1 - direction, user, call)).copied();
    parts.iter().map(|part| score(part, method, delays[&key(part)], other(key(part)))).collect()
}

/// Mean delay in milliseconds of the packets that arrived; NaN if none did.
fn mean_delay(part: &[Packet]) -> f64 {
    let there = part.iter().filter(|packet| packet.delay_ns >= 0);
    let (sum, count) = there.fold((0i64, 0u32), |(sum, count), packet| (sum + packet.delay_ns, count + 1));
    sum as f64 / f64::from(count) / 1e6
}

fn score(part: &[Packet], method: Method, own: f64, other: Option<f64>) -> Call {
    let sent_ns: Vec<_> = part.iter().map(|packet| packet.sent_ns).collect();
    let delay_ns: Vec<_> = part.iter().map(|packet| packet.delay_ns).collect();
    let frames = Frames { sent_ns: &sent_ns, delay_ns: &delay_ns };
    let Played { erased, late, lost, wait_ns } = match method.buffer {
        Buffer::Fixed(delay) => playout::fixed(frames, delay),
        Buffer::Adaptive => playout::adaptive(frames),
        Buffer::None => playout::unbuffered(frames),
    };
    let missing = erased.iter().filter(|erased| **erased).count();
    let z1 = if missing == erased.len() {
        0.0
    } else {
        let share = 100.0 * (missing as f64 / erased.len() as f64);
        emodel::R_DEFAULT - emodel::ie_eff(method.plan, share, emodel::burst_ratio(&erased))
    };
    let way = match other {
        Some(other) if method.half_rtt && !other.is_nan() => (own + other) / 2.0,
        _ => own,
    };
    let ta_ms = method.packetisation_ms + way + wait_ns / 1e6;
    let z2 = if ta_ms.is_nan() { f64::NAN } else { emodel::idd(ta_ms, 100.0, 1.0) };
    let mos = emodel::r_to_mos((z1 - if z2.is_nan() { 0.0 } else { z2 }).max(0.0));
    let direction = part[0].direction;
    Call { direction, mos, z1, z2, packets: part.len() as u64, lost, late, delay_ms: own, ta_ms }
}

/// Statistics over calls, of one or more entries of users.
pub fn summary(scored: &[Call]) -> Summary {
    let side = |direction: u8| {
        let here: Vec<_> = scored.iter().filter(|call| call.direction == direction).collect();
        let sent = here.iter().map(|call| call.packets).sum::<u64>() as f64;
        let of = |field: fn(&Call) -> f64, digits| statistics(here.iter().map(|call| field(call)), digits);
        let share =
            |field: fn(&Call) -> u64| rounded(here.iter().map(|call| field(call)).sum::<u64>() as f64 / sent, 6);
        (!here.is_empty()).then(|| Side {
            mos: of(|call| call.mos, 4),
            z1: of(|call| call.z1, 3),
            z2: of(|call| call.z2, 3),
            loss: share(|call| call.lost),
            late: share(|call| call.late),
            delay_ms: of(|call| call.delay_ms, 3).mean,
            ta_ms: of(|call| call.ta_ms, 3).mean,
            calls: here.len(),
            unscored: 0,
            model: "emodel",
        })
    };
    Summary { talks: side(0), listens: side(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: Method =
        Method { plan: emodel::G711_PLC, packetisation_ms: 20.0, buffer: Buffer::Fixed(60_000_000), half_rtt: true };

    fn call(direction: u8, delay_ms: i64) -> impl Iterator<Item = Packet> {
        (0..400).map(move |seq| Packet {
            direction,
            user: 0,
            call: 0,
            seq,
            sent_ns: u64::from(seq) * 20_000_000,
            delay_ns: if delay_ms < 0 { -1 } else { delay_ms * 1_000_000 },
        })
    }

    #[test]
    fn half_the_round_trip_impairs_both_directions() {
        let found = calls(call(1, 200).chain(call(0, 20)).collect(), METHOD);
        assert_eq!(found.iter().map(|call| call.ta_ms).collect::<Vec<_>>(), [190.0, 190.0]);
        let own = calls(call(1, 200).chain(call(0, 20)).collect(), Method { half_rtt: false, ..METHOD });
        assert_eq!(own.iter().map(|call| call.ta_ms).collect::<Vec<_>>(), [100.0, 280.0]);
        assert!(own[1].mos < found[1].mos && found[0].mos < own[0].mos);
    }

    #[test]
    fn a_call_that_never_arrives_is_the_worst_and_has_no_delay() {
        let found = summary(&calls(call(0, -1).collect(), METHOD));
        let side = found.talks.unwrap();
        assert_eq!((side.mos.median, side.loss, side.delay_ms, side.z2.median), (Some(1.0), 1.0, None, None));
        assert_eq!(found.listens, None);
    }
}
