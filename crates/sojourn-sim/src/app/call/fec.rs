//! Forward error correction: packets of parity over groups of a call's packets, and what they give back.
//!
//! Source: RFC 5109 as libwebrtc sends it (`ulpfec_generator.cc`, `forward_error_correction.cc`): a group ends with a
//! picture, once it has so many pictures as the protection says, or once it has enough packets and its share of FEC is
//! at most 50/256 too large; it has as many FEC packets as the factor says, rounded, but one at least, over its first
//! 48 packets. They go as video does, and are never sent again.
//! Differences: the FEC packets of a group protect its packets in turn, where libwebrtc has masks that overlap; a lost
//! FEC packet is not asked for, where libwebrtc asks and gets no answer.

use super::nack::NackList;
use super::protection::Factors;

const MOST_PACKETS: u32 = 48;
const MOST_EXCESS: f64 = 50.0 / 256.0;
/// Above this factor a group has four packets at least, else one; and one more with two packets a picture.
const HIGH: f64 = 80.0 / 256.0;
const LEAST_PACKETS_HIGH: u32 = 4;
/// What is before the parity: FEC's header and that of its level, RED's, and the extensions of RTP that are protected.
const HEADERS: u32 = 10 + 4 + 1 + 12;

/// Packets in a row, and how many FEC packets protect them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) first: u32,
    pub(super) packets: u32,
    pub(super) parts: u32,
    /// Bytes of each FEC packet at IP.
    pub(super) bytes: u32,
    /// FEC packets of all groups before it.
    pub(super) before: u32,
}

/// The groups of a sender.
#[derive(Debug, Default)]
pub(super) struct Fec {
    /// How much there is; none at first.
    pub(super) factors: Option<Factors>,
    pub(super) groups: Vec<Group>,
    /// Of the group that grows: packets, pictures, the largest packet, and whether it has a key frame.
    packets: u32,
    frames: u32,
    largest: u32,
    key: bool,
}

impl Fec {
    /// A packet of video leaves, maybe the last one of its picture; the number of the group that it ends, if it does.
    pub(super) fn left(&mut self, number: u32, bytes: u32, last: bool, key: bool) -> Option<u32> {
        self.packets += 1;
        self.frames += u32::from(last);
        self.largest = self.largest.max(bytes);
        self.key |= key;
        let Some(factors) = self.factors.filter(|_| last) else {
            if last {
                self.begin();
            }
            return None;
        };
        let factor = if self.key { factors.key } else { factors.inter };
        let packets = self.packets.min(MOST_PACKETS);
        let parts = ((f64::from(packets) * factor + 0.5) as u32).clamp(1, packets);
        let close = f64::from(parts) / f64::from(packets) - factor < MOST_EXCESS;
        let least = if factor > HIGH { LEAST_PACKETS_HIGH } else { 1 };
        let enough = self.packets >= least + u32::from(self.packets >= 2 * self.frames);
        if self.frames < factors.frames && !(close && enough) {
            return None;
        }
        let first = number + 1 - self.packets;
        let before = self.groups.last().map_or(0, |group| group.before + group.parts);
        self.groups.push(Group { first, packets, parts, bytes: self.largest + HEADERS, before });
        self.begin();
        Some(self.groups.len() as u32 - 1)
    }

    fn begin(&mut self) {
        (self.packets, self.frames, self.largest, self.key) = (0, 0, 0, false);
    }
}

/// The FEC packets that a receiver holds.
#[derive(Debug, Default)]
pub(super) struct Parity {
    held: Vec<(Group, u32)>,
}

impl Parity {
    /// A part of a group's FEC arrived.
    pub(super) fn hold(&mut self, group: Group, part: u32) {
        self.held.push((group, part));
    }

    /// A packet that is all that is missing of what a held one protects.
    pub(super) fn recovered(&mut self, nacks: &NackList) -> Option<u32> {
        let mut found = None;
        self.held.retain(|(group, part)| {
            let mut missing = (*part..group.packets)
                .step_by(group.parts as usize)
                .map(|i| group.first + i)
                .filter(|i| nacks.misses(*i));
            match (missing.next(), missing.next()) {
                (Some(only), None) if found.is_none() || found == Some(only) => {
                    found = Some(only);
                    false
                }
                (one, _) => one.is_some(),
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of pictures of so many packets each with one factor, six pictures at most together.
    fn groups(pictures: &[u32], factor: f64) -> Vec<(u32, u32, u32)> {
        let mut fec = Fec { factors: Some(Factors { inter: factor, key: 1.0, frames: 6 }), ..Fec::default() };
        let mut number = 0;
        for packets in pictures {
            for i in 1..=*packets {
                fec.left(number, 1000, i == *packets, false);
                number += 1;
            }
        }
        fec.groups.iter().map(|group| (group.first, group.packets, group.parts)).collect()
    }

    #[test]
    fn groups_end_with_pictures_once_their_share_is_near_the_factor() {
        // Of two packets one is FEC's half: too much for a quarter, not so of four.
        assert_eq!(groups(&[2, 2, 2, 2], 0.25), [(0, 4, 1), (4, 4, 1)]);
        assert_eq!(groups(&[7, 7], 0.25), [(0, 7, 2), (7, 7, 2)]);
        // Single packets: of three a third, at most 50/256 more than a quarter.
        assert_eq!(groups(&[1; 6], 0.25), [(0, 3, 1), (3, 3, 1)]);
        // With much FEC at least five packets; and never more than the protection's pictures, nor than 48 packets.
        assert_eq!(groups(&[3, 3], 0.5), [(0, 6, 3)]);
        assert_eq!(groups(&[1; 6], 0.001), [(0, 6, 1)]);
        assert_eq!(groups(&[70, 2], 0.5)[0], (0, 48, 24));
        assert_eq!(groups(&[70, 7], 0.5)[1].0, 70);
    }

    #[test]
    fn without_protection_there_are_no_groups_and_old_packets_are_in_none() {
        let mut fec = Fec::default();
        assert!((0..9).all(|number| fec.left(number, 1000, number % 3 == 2, true).is_none()));
        fec.factors = Some(Factors { inter: 0.25, key: 1.0, frames: 1 });
        assert!(fec.left(9, 700, false, true).is_none());
        assert_eq!(fec.left(10, 900, true, true), Some(0));
        assert_eq!(fec.groups, [Group { first: 9, packets: 2, parts: 2, bytes: 927, before: 0 }]);
    }

    #[test]
    fn what_is_missing_alone_is_recovered() {
        let group = Group { first: 10, packets: 6, parts: 2, bytes: 1000, before: 0 };
        let (mut nacks, mut parity) = (NackList::default(), Parity::default());
        // Of 10 to 15 the even and the odd ones are protected together; 12, 13 and 15 are lost.
        nacks.passed(10);
        [10, 11, 14].into_iter().for_each(|number| assert!(!nacks.arrived(number)));
        nacks.passed(16);
        parity.hold(group, 1);
        assert_eq!(parity.recovered(&nacks), None);
        parity.hold(group, 0);
        assert_eq!(parity.recovered(&nacks), Some(12));
        nacks.arrived(12);
        assert_eq!(parity.recovered(&nacks), None);
        // A repair leaves one.
        nacks.arrived(15);
        assert_eq!(parity.recovered(&nacks), Some(13));
        nacks.arrived(13);
        assert_eq!((parity.recovered(&nacks), parity.held.len()), (None, 0));
    }
}
