//! From packets to calls: what each direction of a call heard, and how late the conversation was.
//!
//! The delay is packetisation, half the conversational round trip (the mean delays of both directions of the same call)
//! or the direction's own, and the mean wait in this direction's playout buffer. Half the round trip is what fits the
//! published cells in which only the other direction's queue is full (RMSE 0.19 MOS against 1.19).
//!
//! Pauses that a codec does not send (DTX) are neither lost nor late: the decoder fills them.
//!
//! Differences: a call in which nothing arrives has no delay.

use crate::method::{Buffer, Method};
use crate::neteq::neteq;
use crate::playout::{self, Frames, Played};
use crate::speech::{self, Carried};
use std::collections::BTreeMap;
use std::ops::Range;

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

/// One direction of a call, as it came out of the playout buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// 0: the user talks; 1: the user listens.
    pub direction: u8,
    /// The user.
    pub user: u32,
    /// The user's call.
    pub call: u32,
    /// The sample of speech that it carries; callers and calls take turns with the voices.
    pub sample: usize,
    /// What became of its packets.
    pub played: Played,
    /// Mean one-way delay in the network in ms; NaN if nothing arrived.
    pub delay_ms: f64,
    /// The delay from mouth to ear in ms; NaN if nothing arrived.
    pub ta_ms: f64,
    sent_ns: Vec<u64>,
    /// The place of each packet among the frames of the call.
    places: Vec<usize>,
    carried: Carried,
}

/// A piece of a call that is listened to alone; flags have one value a frame, those of pauses counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// When its first packet was sent.
    pub began_ns: u64,
    /// The frames of the sample that it carries.
    pub carried: Vec<usize>,
    /// Frames that were sent and not there in time.
    pub erased: Vec<bool>,
    /// Of them, those that the network lost.
    pub lost: Vec<bool>,
    /// Of them, those that came too late.
    pub late: Vec<bool>,
    /// Frames whose successor was there in time to repair them.
    pub ahead: Vec<bool>,
    /// Frames of pauses, which were not sent.
    pub silent: Vec<bool>,
}

/// What every direction of every call of one entry of users heard. `talk` says of each sample of speech where somebody
/// speaks; there are none for scores by formulas alone.
pub fn heard(mut packets: Vec<Packet>, method: &Method, talk: &[Vec<bool>]) -> Result<Vec<Heard>, String> {
    if let Some(packet) = packets.iter().find(|packet| packet.direction > 1) {
        let found = packet.direction;
        return Err(format!("the voice table has directions {found}: expected 0 (talks) and 1 (listens)"));
    }
    packets.sort_unstable();
    let parts: Vec<_> =
        packets.chunk_by(|a, b| (a.direction, a.user, a.call) == (b.direction, b.user, b.call)).collect();
    let key = |part: &[Packet]| (part[0].direction, part[0].user, part[0].call);
    let delays: BTreeMap<_, _> = parts.iter().map(|part| (key(part), mean_delay(part))).collect();
    let other = |(direction, user, call): (u8, u32, u32)| delays.get(&(1 - direction, user, call)).copied();
    parts.iter().map(|part| one(part, method, talk, delays[&key(part)], other(key(part)))).collect()
}

/// Mean delay in milliseconds of the packets that arrived; NaN if none did.
fn mean_delay(part: &[Packet]) -> f64 {
    let there = part.iter().filter(|packet| packet.delay_ns >= 0);
    let (sum, count) = there.fold((0i64, 0u32), |(sum, count), packet| (sum + packet.delay_ns, count + 1));
    sum as f64 / f64::from(count) / 1e6
}

fn one(
    part: &[Packet],
    method: &Method,
    talk: &[Vec<bool>],
    delay_ms: f64,
    other: Option<f64>,
) -> Result<Heard, String> {
    let Packet { direction, user, call, .. } = part[0];
    let sent_ns: Vec<_> = part.iter().map(|packet| packet.sent_ns).collect();
    let delay_ns: Vec<_> = part.iter().map(|packet| packet.delay_ns).collect();
    let count = method.frames.unwrap_or(part.len());
    let places: Vec<_> = match method.frames {
        Some(_) => part.iter().map(|packet| usize::from(packet.seq)).collect(),
        None => (0..count).collect(),
    };
    if let Some(beyond) = places.iter().find(|place| **place >= count) {
        return Err(format!("the voice table has packet {beyond} of a call of {count}"));
    }
    let sample = (u64::from(call) + u64::from(user)) as usize % talk.len().max(1);
    let spoken = talk.get(sample).map_or(&[][..], Vec::as_slice);
    let carried = speech::carried(count, spoken);
    let frames = Frames { sent_ns: &sent_ns, delay_ns: &delay_ns };
    let played = match method.buffer {
        Buffer::Fixed(wait_ns) => playout::fixed(frames, wait_ns),
        Buffer::None => playout::unbuffered(frames),
        Buffer::Neteq => neteq(frames),
        Buffer::Adaptive if spoken.is_empty() => playout::adaptive(frames, &[]),
        Buffer::Adaptive => {
            let talk: Vec<_> = places.iter().map(|place| spoken[carried.frames[*place]]).collect();
            playout::adaptive(frames, &talk)
        }
    };
    let way = match other {
        Some(other) if method.half_rtt && !other.is_nan() => (delay_ms + other) / 2.0,
        _ => delay_ms,
    };
    let ta_ms = method.packetisation_ms + way + played.wait_ns / 1e6;
    Ok(Heard { direction, user, call, sample, played, delay_ms, ta_ms, sent_ns, places, carried })
}

impl Heard {
    /// Packets that were sent.
    pub fn packets(&self) -> usize {
        self.places.len()
    }

    /// The pieces that are listened to alone.
    pub fn pieces(&self) -> Vec<Piece> {
        let count = self.carried.frames.len();
        // Only the packet of the very next frame repairs one.
        let follows = |i: usize| self.places.get(i + 1).is_none_or(|next| *next == self.places[i] + 1);
        let ahead: Vec<_> = self.played.ahead.iter().enumerate().map(|(i, ahead)| *ahead && follows(i)).collect();
        let spread = |flags: &[bool]| {
            let mut all = vec![false; count];
            self.places.iter().zip(flags).for_each(|(place, flag)| all[*place] = *flag);
            all
        };
        let silent: Vec<_> = spread(&vec![true; self.places.len()]).iter().map(|sent| !sent).collect();
        let [erased, lost, late] =
            [&self.played.erased, &self.played.lost, &self.played.late].map(|flags| spread(flags));
        let ahead = spread(&ahead);
        let piece = |range: &Range<usize>| Piece {
            began_ns: self.sent_ns
                [self.places.partition_point(|place| *place < range.start).min(self.places.len() - 1)],
            carried: self.carried.frames[range.clone()].to_vec(),
            erased: erased[range.clone()].to_vec(),
            lost: lost[range.clone()].to_vec(),
            late: late[range.clone()].to_vec(),
            ahead: ahead[range.clone()].to_vec(),
            silent: silent[range.clone()].to_vec(),
        };
        self.carried.pieces.iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emodel;
    use crate::method::Scale;

    fn method(buffer: Buffer, frames: Option<usize>) -> Method {
        Method { plan: emodel::G711_PLC, scale: Scale::Narrow, packetisation_ms: 20.0, buffer, half_rtt: true, frames }
    }

    fn packet(call: u32, seq: u16, delay_ms: i64) -> Packet {
        let sent_ns = u64::from(call) * 10_000_000_000 + u64::from(seq) * 20_000_000;
        Packet { direction: 0, user: 3, call, seq, sent_ns, delay_ns: delay_ms * 1_000_000 }
    }

    #[test]
    fn callers_and_calls_take_turns_with_the_voices() {
        let talk = vec![vec![true; 400]; 2];
        let packets = (0..3).flat_map(|call| (0..400).map(move |seq| packet(call, seq, 30))).rev().collect();
        let found = heard(packets, &method(Buffer::Fixed(0), None), &talk).unwrap();
        assert_eq!(found.iter().map(|heard| (heard.call, heard.sample)).collect::<Vec<_>>(), [(0, 1), (1, 0), (2, 1)]);
    }

    #[test]
    fn pauses_that_were_not_sent_are_silent_and_nothing_repairs_across_them() {
        let delays = [(0, 10), (1, -1), (2, 10), (5, -1), (9, 10)];
        let packets = delays.iter().map(|(seq, delay)| packet(0, *seq, *delay)).collect();
        let found = heard(packets, &method(Buffer::Fixed(200_000_000), Some(10)), &[]).unwrap();
        let (heard, piece) = (&found[0], found[0].pieces().remove(0));
        assert_eq!(heard.packets(), 5);
        let of = |flags: &[bool]| (0..10).filter(|i| flags[*i]).collect::<Vec<_>>();
        assert_eq!((of(&piece.erased), of(&piece.lost), of(&piece.late)), (vec![1, 5], vec![1, 5], vec![]));
        assert_eq!(of(&piece.silent), [3, 4, 6, 7, 8]);
        assert_eq!(of(&piece.ahead), [1], "2 repairs 1; 9 was there at the turn of 5, but is not the next frame");
        assert!(heard.played.ahead[3]);
    }

    #[test]
    fn a_piece_begins_with_its_first_packet() {
        let packets = [0, 1, 500, 899].map(|seq| packet(1, seq, 10)).to_vec();
        let found = heard(packets, &method(Buffer::None, Some(900)), &[]).unwrap();
        let began: Vec<_> = found[0].pieces().iter().map(|piece| piece.began_ns).collect();
        assert_eq!(began, [10_000_000_000, 20_000_000_000]);
    }

    #[test]
    fn what_cannot_be_a_call_is_said() {
        let beyond = heard(vec![packet(0, 10, 1)], &method(Buffer::None, Some(10)), &[]).unwrap_err();
        assert!(beyond.contains("packet 10 of a call of 10"), "{beyond}");
        let third =
            heard(vec![Packet { direction: 2, ..packet(0, 0, 1) }], &method(Buffer::None, None), &[]).unwrap_err();
        assert!(third.contains("directions 2"), "{third}");
        assert_eq!(heard(vec![], &method(Buffer::None, None), &[]), Ok(vec![]));
    }

    #[test]
    fn the_adaptive_buffer_moves_in_the_pauses_of_the_speech_that_is_carried() {
        let talk = |pause: Range<usize>| vec![(0..400).map(|i| !pause.contains(&i)).collect::<Vec<_>>()];
        let packets: Vec<_> = (0..400).map(|seq| packet(0, seq, if seq < 50 { 330 } else { 30 })).collect();
        let waits =
            |pause| heard(packets.clone(), &method(Buffer::Adaptive, None), &talk(pause)).unwrap()[0].played.wait_ns;
        assert!(waits(60..90) < waits(300..330));
    }
}
