//! Streams: what is to be sent of each, in which order, and what has arrived.
//!
//! Source: RFC 9000 §2; order after RFC 9218 §10: the lowest urgency first, streams of the same urgency in turn
//! (`incremental`, as Chromium asks for), packet by packet. What was lost goes before what is new.

use std::collections::BTreeMap;

/// Number of a stream.
pub type StreamId = u32;

/// The stream of the handshake, before all others.
pub const CRYPTO: StreamId = 0;

/// One stream to be sent.
#[derive(Debug, Default)]
struct Outgoing {
    written: u64,
    next: u64,
    /// Lost ranges: offset and end.
    lost: BTreeMap<u64, u64>,
    urgency: u8,
}

impl Outgoing {
    fn has_data(&self) -> bool {
        self.next < self.written || !self.lost.is_empty()
    }
}

/// All streams that an endpoint sends.
#[derive(Debug, Default)]
pub(super) struct Send {
    streams: BTreeMap<StreamId, Outgoing>,
    /// The stream that was served last.
    last: StreamId,
}

impl Send {
    /// Adds bytes to a stream.
    pub(super) fn write(&mut self, id: StreamId, bytes: u64, urgency: u8) {
        let stream = self.streams.entry(id).or_default();
        stream.written += bytes;
        stream.urgency = urgency;
    }

    /// Whether anything is to be sent.
    pub(super) fn has_data(&self) -> bool {
        self.streams.values().any(Outgoing::has_data)
    }

    /// The next piece, of `room` bytes at most: stream, offset, length.
    pub(super) fn next(&mut self, room: u64) -> Option<(StreamId, u64, u64)> {
        let rank = |id: StreamId, stream: &Outgoing| (id != CRYPTO, stream.urgency);
        let waiting = || self.streams.iter().filter(|(_, stream)| stream.has_data());
        let first = waiting().map(|(id, stream)| rank(*id, stream)).min()?;
        let same = || waiting().filter(|(id, stream)| rank(**id, stream) == first).map(|(id, _)| *id);
        let id = same().find(|id| *id > self.last).or_else(|| same().next())?;
        self.last = id;
        let stream = self.streams.get_mut(&id)?;
        if let Some((offset, end)) = stream.lost.pop_first() {
            let len = room.min(end - offset);
            if offset + len < end {
                stream.lost.insert(offset + len, end);
            }
            return Some((id, offset, len));
        }
        let (offset, len) = (stream.next, room.min(stream.written - stream.next));
        stream.next += len;
        Some((id, offset, len))
    }

    /// A piece is to be sent again.
    pub(super) fn lost(&mut self, id: StreamId, offset: u64, len: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            let end = stream.lost.entry(offset).or_insert(offset + len);
            *end = (*end).max(offset + len);
        }
    }
}

/// One stream as it arrives.
#[derive(Debug, Default)]
pub(super) struct Receive {
    in_order: u64,
    /// What came before its turn, in pieces that do not touch each other: offset and end.
    ahead: BTreeMap<u64, u64>,
}

impl Receive {
    /// Bytes arrived: how many of them had not before; and the bytes in order so far, if these have grown.
    pub(super) fn arrived(&mut self, offset: u64, len: u64) -> (u64, Option<u64>) {
        let (mut from, mut to) = (offset.max(self.in_order), offset + len);
        let mut new = to.saturating_sub(from);
        if new == 0 {
            return (0, None);
        }
        // All that it touches becomes one piece with it.
        while let Some((&start, &end)) = self.ahead.range(..=to).next_back().filter(|(_, end)| **end >= from) {
            self.ahead.remove(&start);
            new -= end.min(offset + len).saturating_sub(start.max(offset));
            (from, to) = (from.min(start), to.max(end));
        }
        if from > self.in_order {
            self.ahead.insert(from, to);
            return (new, None);
        }
        self.in_order = to;
        (new, Some(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_lowest_urgency_goes_first_and_equals_take_turns() {
        let mut send = Send::default();
        send.write(4, 2000, 3);
        send.write(8, 2000, 3);
        send.write(12, 1500, 1);
        send.write(CRYPTO, 100, 7);
        let order: Vec<_> = std::iter::from_fn(|| send.next(1000)).map(|(id, ..)| id).collect();
        assert_eq!(order, [CRYPTO, 12, 12, 4, 8, 4, 8]);
        assert!(!send.has_data());
    }

    #[test]
    fn what_was_lost_goes_before_what_is_new() {
        let mut send = Send::default();
        send.write(4, 3000, 3);
        assert_eq!(send.next(1000), Some((4, 0, 1000)));
        assert_eq!(send.next(1000), Some((4, 1000, 1000)));
        send.lost(4, 0, 1000);
        assert_eq!(send.next(600), Some((4, 0, 600)));
        assert_eq!(send.next(600), Some((4, 600, 400)));
        assert_eq!(send.next(5000), Some((4, 2000, 1000)));
    }

    #[test]
    fn a_stream_is_delivered_in_order_whatever_comes_twice() {
        let mut receive = Receive::default();
        assert_eq!(receive.arrived(1000, 500), (500, None));
        assert_eq!(receive.arrived(500, 500), (500, None));
        assert_eq!(receive.arrived(0, 500), (500, Some(1500)));
        assert_eq!(receive.arrived(0, 1500), (0, None));
        assert_eq!(receive.arrived(1000, 700), (200, Some(1700)));
    }

    proptest! {
        /// The bytes in order are those before the first that never came, whatever came twice or overlaps; new are
        /// those that had not come.
        #[test]
        fn what_is_in_order_is_what_has_no_hole_before_it(pieces in proptest::collection::vec((0u64..60, 1u64..25), 1..40)) {
            let (mut receive, mut come, mut before) = (Receive::default(), [false; 90], 0);
            for (offset, len) in pieces {
                let piece = &mut come[offset as usize..(offset + len) as usize];
                let new = piece.iter().filter(|here| !**here).count() as u64;
                piece.fill(true);
                let in_order = come.iter().take_while(|here| **here).count() as u64;
                prop_assert_eq!(receive.arrived(offset, len), (new, (in_order > before).then_some(in_order)));
                before = in_order;
            }
        }

        /// What is sent and not lost again is each byte once.
        #[test]
        fn each_byte_is_sent_once_and_again_for_each_time_that_it_is_lost(
            (bytes, size) in (1u64..400, 1u64..90), lost in proptest::collection::vec(any::<bool>(), 60),
        ) {
            let mut send = Send::default();
            send.write(4, bytes, 3);
            let mut times = vec![0u32; bytes as usize];
            let mut losses = lost.into_iter();
            while let Some((_, offset, len)) = send.next(size) {
                prop_assert!((1..=size).contains(&len));
                times[offset as usize..(offset + len) as usize].iter_mut().for_each(|count| *count += 1);
                if losses.next() == Some(true) {
                    send.lost(4, offset, len);
                    times[offset as usize..(offset + len) as usize].iter_mut().for_each(|count| *count -= 1);
                }
            }
            prop_assert_eq!(times, vec![1; bytes as usize]);
        }
    }
}
