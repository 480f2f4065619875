//! Packets of one side of a TCP connection whose stamps the other side will echo: which of them an echo tells of.
//!
//! The first packet that echoes a stamp left after the packet with that stamp had arrived. It left *because* of that
//! only if it was waited for: a sender that has data on its way, and sends more once an acknowledgement comes. Where
//! data before it is missing, or it was sent again, the first echo was another's, or a timer sent it (RFC 6298, 8985).

use crate::decode::tcp::Segment;
use crate::delay::estimate::SentAt;
use crate::delay::estimate::tcp_report::before;
use crate::delay::prefetch;
use std::collections::VecDeque;

/// Stamps that are kept. 4096 milliseconds' worth at 1 ms; later ones are not timed.
const MOST: usize = 4096;

/// A packet whose stamp the other side will echo. None lies in two lines of the cache: it is written once
/// and read once, a round trip later, when it has left the nearest caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Echo {
    stamp: u32,
    pub(super) time: i64,
    pub(super) frame: u64,
    pub(super) length: u16,
    /// What it acknowledges, or the last that has its stamp.
    ack: u32,
    /// So many packets without data have the stamp, from this one on, so that nothing but echoes tells of their
    /// arrival; none if this one carries data.
    pub(super) pure: u8,
    told: bool,
}

impl Echo {
    /// Say when it was sent if it may not have arrived, with how many that have its stamp.
    #[inline]
    fn unproven(&self, mut unproven: impl FnMut(SentAt, u32)) {
        if self.pure > 0 && !self.told {
            unproven((self.time, self.frame), u32::from(self.pure));
        }
    }

    /// Whether who answered with this segment had data on its way that it does not acknowledge.
    #[inline]
    pub(super) fn awaited(&self, answer: &Segment) -> bool {
        before(self.ack, answer.seq)
    }
}

/// Those that no later one was echoed after.
#[derive(Debug, Default)]
pub(super) struct Echoes(VecDeque<Echo>);

impl Echoes {
    /// Places for packets.
    #[inline]
    pub(super) fn places(&self) -> usize {
        self.0.capacity()
    }

    /// A packet left, whose stamp is later than all before if it is `fresh`. Whether more places are needed.
    #[inline]
    pub(super) fn sent(
        &mut self,
        segment: &Segment,
        (stamp, fresh): (u32, bool),
        (frame, time): (u64, i64),
        length: u16,
    ) -> bool {
        let pure = u8::from(segment.payload == 0);
        if fresh && self.0.len() < MOST {
            let full = self.0.len() == self.0.capacity();
            self.0.push_back(Echo { stamp, time, frame, length, ack: segment.ack, pure, told: false });
            if let Some(last) = self.0.back() {
                prefetch::behind(last, 1);
            }
            return full;
        }
        if let Some(last) = self.0.back_mut().filter(|last| last.stamp == stamp && last.pure > 0) {
            last.pure = last.pure.saturating_add(pure);
            last.ack = segment.ack;
        }
        false
    }

    /// The packet whose stamp is echoed, and whether this is the first echo of it. `unproven` is given when others were
    /// sent that no echo told of, and how many.
    #[inline]
    pub(super) fn echoed(
        &mut self,
        echo: u32,
        time: i64,
        mut unproven: impl FnMut(SentAt, u32),
    ) -> Option<(Echo, bool)> {
        while let Some(front) = self.0.front()
            && before(front.stamp, echo)
        {
            front.unproven(&mut unproven);
            self.0.pop_front();
        }
        let front = self.0.front_mut()?;
        if front.stamp != echo || time < front.time {
            return None;
        }
        let first = !std::mem::replace(&mut front.told, true);
        prefetch::behind(&*front, 1);
        Some((*front, first))
    }

    /// No echoes come any more.
    pub(super) fn end(&self, mut unproven: impl FnMut(SentAt, u32)) {
        self.0.iter().for_each(|echo| echo.unproven(&mut unproven));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with data or without, and what it acknowledges.
    fn send(echoes: &mut Echoes, stamp: u32, payload: u32, ack: u32, fresh: bool) {
        let (frame, time) = (u64::from(stamp), i64::from(stamp));
        echoes.sent(&Segment::new([0, ack], 16, payload), (stamp, fresh), (frame, time), 66);
    }

    #[test]
    fn an_echo_stands_for_packets_without_data_that_none_told_of() {
        let (mut echoes, mut untold) = (Echoes::default(), 0);
        (0..6).for_each(|stamp| send(&mut echoes, stamp, u32::from(stamp == 2), 0, true));
        let mut echoed = |echo| {
            let told = echoes.echoed(echo, 10, |_, packets| untold += packets).map(|(echo, first)| (echo.frame, first));
            (told, untold)
        };
        assert_eq!(echoed(0), (Some((0, true)), 0));
        assert_eq!(echoed(4), (Some((4, true)), 2), "of data acknowledgements tell");
        assert_eq!(echoed(4), (Some((4, false)), 2));
        assert_eq!(echoed(5), (Some((5, true)), 2), "the one before was told of");
        (0..3).for_each(|again| send(&mut echoes, 6, 0, 0, again == 0));
        echoes.end(|_, packets| untold += packets);
        assert_eq!(untold, 2 + 3, "whether the last arrived nothing tells");
    }

    #[test]
    fn who_has_everything_acknowledged_waited_for_no_acknowledgement() {
        for (acks, seq, awaited) in [([100, 100], 300, true), ([100, 300], 300, false), ([300, 300], 300, false)] {
            let mut echoes = Echoes::default();
            // Two in one tick: either may have been the one that was echoed.
            acks.iter().enumerate().for_each(|(i, &ack)| send(&mut echoes, 7, 0, ack, i == 0));
            let (echo, _) = echoes.echoed(7, 7, |_, _| ()).unwrap();
            assert_eq!(echo.awaited(&Segment::new([seq, 0], 16, 100)), awaited, "{acks:?}");
        }
    }
}
