//! Packets that have left the last queue, until they are given to the host at the end.
//!
//! Hosts may be at distances of their own. Packets to hosts that are equally far are due in the order in which they
//! left, so there is a line for each distance.

use crate::frame::Frame;
use crate::setup::Pair;
use sojourn_net::{Span, Time};
use std::collections::VecDeque;

/// The lines of one direction.
pub struct Due {
    lines: Vec<(Span, VecDeque<(Time, Frame)>)>,
    /// The line of each pair of hosts; those that are not in it stand in the first.
    line_of: Vec<u16>,
}

impl Due {
    /// `delay`: of the hosts that have no distance of their own. `between`: of the path itself, whatever the hosts.
    pub fn new(delay: Span, between: Span, pairs: &[Pair]) -> Self {
        let mut lines = vec![(delay, VecDeque::with_capacity(4096))];
        let mut line_of = Vec::new();
        for pair in pairs {
            let Some(own) = pair.delay_ns else { continue };
            let delay = between + Span(own);
            let line = lines.iter().position(|line| line.0 == delay).unwrap_or(lines.len());
            if line == lines.len() {
                lines.push((delay, VecDeque::with_capacity(1024)));
            }
            let number = usize::from(pair.number);
            line_of.resize(line_of.len().max(number + 1), 0);
            line_of[number] = line as u16;
        }
        Self { lines, line_of }
    }

    /// A packet's last transmission ends.
    #[inline]
    pub fn push(&mut self, end: Time, frame: Frame) {
        let line = self.line_of.get(usize::from(frame.headers.pair)).copied().unwrap_or(0);
        let (delay, packets) = &mut self.lines[usize::from(line)];
        packets.push_back((end + *delay, frame));
    }

    /// When the next packet is due; never if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        let firsts = self.lines.iter().map(|line| line.1.front().map_or(Time::NEVER, |first| first.0));
        firsts.fold(Time::NEVER, Time::min)
    }

    /// The line whose packet is due first, if it is by `now`.
    #[inline]
    fn first_line(&mut self, now: Time) -> Option<&mut VecDeque<(Time, Frame)>> {
        let next = self.next();
        let is_first = |line: &&mut (Span, VecDeque<(Time, Frame)>)| line.1.front().is_some_and(|(at, _)| *at == next);
        if next > now {
            return None;
        }
        self.lines.iter_mut().find(is_first).map(|line| &mut line.1)
    }

    /// The packet that is due first, if it is by `now`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<(Time, Frame)> {
        self.first_line(now)?.pop_front()
    }

    /// That packet, which stays.
    #[inline]
    pub fn first(&mut self, now: Time) -> Option<&Frame> {
        self.first_line(now)?.front().map(|(_, frame)| frame)
    }

    /// The shortest of the delays: how long before it must be written a packet's fate is settled.
    pub fn slack(&self) -> Span {
        self.lines.iter().map(|line| line.0).fold(self.lines[0].0, Span::min)
    }

    /// Packets under way.
    pub fn len(&self) -> usize {
        self.lines.iter().map(|line| line.1.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All packets that were under way.
    pub fn into_frames(self) -> impl Iterator<Item = Frame> {
        self.lines.into_iter().flat_map(|line| line.1).map(|(_, frame)| frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Headers;
    use sojourn_net::Ecn;
    use sojourn_net::log::Kind;

    #[test]
    fn hosts_have_their_own_distance_and_packets_come_in_the_order_in_which_they_are_due() {
        let far = |number, ms: u64| Pair { number, delay_ns: Some(ms * 1_000_000), ..Pair::default() };
        let pairs = [far(300, 50), Pair { number: 301, ..Pair::default() }, far(302, 1)];
        let ms = Span::from_millis;
        let mut due = Due::new(ms(10), ms(2), &pairs);
        assert_eq!(due.slack(), ms(3));
        for (end, pair) in [(0, 300), (1, 301), (2, 302), (3, 0)] {
            let headers =
                Headers { flow: 0, kind: Kind::Data, ecn: Ecn::NotEct, seq: 0, length: 40, link_local: false, pair };
            let (row, journey, size) = (0, 0, 1500);
            let frame = Frame { slot: 0, row, journey, size, headers, ecn_before: Ecn::NotEct, marked: false };
            due.push(Time(end * 1_000_000), frame);
        }
        let mut got = Vec::new();
        assert!(due.pop(Time(4_999_999)).is_none());
        while let Some((at, frame)) = due.pop(Time::NEVER) {
            got.push((at.0 / 1_000_000, frame.headers.pair));
        }
        assert_eq!(got, [(5, 302), (11, 301), (13, 0), (52, 300)]);
    }

    #[test]
    fn what_is_under_way_is_counted_over_all_distances_and_can_be_taken_back() {
        let pair = |number, ms: u64| Pair { number, delay_ns: Some(ms * 1_000_000), ..Pair::default() };
        let ms = Span::from_millis;
        let mut due = Due::new(ms(10), ms(2), &[pair(300, 50), pair(301, 8), pair(302, 50)]);
        assert_eq!(due.lines.len(), 2, "hosts that are equally far share a line, those of the path too");
        assert!(due.is_empty() && due.next() == Time::NEVER && due.slack() == ms(10));
        for (slot, pair) in [(7, 300), (8, 301), (9, 302)] {
            let headers =
                Headers { flow: 0, kind: Kind::Data, ecn: Ecn::NotEct, seq: 0, length: 40, link_local: false, pair };
            let (row, journey, size) = (0, 0, 1500);
            due.push(Time(0), Frame { slot, row, journey, size, headers, ecn_before: Ecn::NotEct, marked: false });
        }
        assert_eq!((due.len(), due.is_empty(), due.next()), (3, false, Time(10_000_000)));
        assert!(due.pop(Time(10_000_000)).is_some_and(|(at, frame)| (at.0, frame.slot) == (10_000_000, 8)));
        assert_eq!(due.next(), Time(52_000_000));
        assert_eq!(due.into_frames().map(|frame| frame.slot).collect::<Vec<_>>(), [7, 9]);
    }
}
