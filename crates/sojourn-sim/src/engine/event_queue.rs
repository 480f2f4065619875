//! The virtual clock: what happens next.
//!
//! Most events come in an order that is known in advance: a delay line is first in, first out, and so are timers of
//! one fixed length. Only their heads compete, a dozen numbers that are scanned; what is left (retransmission timers,
//! sources) goes through a heap. Ties are broken by the place in the list, then by order of insertion: the same
//! everywhere.

use sojourn_net::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that was put on the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// An endpoint's retransmission timer may have expired: connection, flow number, side.
    Retransmission {
        /// Place of the connection.
        slot: u32,
        /// Its flow number, to know a successor in the same place.
        flow: u32,
        /// Which end.
        side: u8,
    },
    /// A delayed acknowledgement may be due, of a timer that was not the last to be set.
    DelayedAck {
        /// Place of the connection.
        slot: u32,
        /// Its flow number.
        flow: u32,
        /// Which end.
        side: u8,
    },
    /// Pacing may let an endpoint send.
    Pacing {
        /// Place of the connection.
        slot: u32,
        /// Its flow number.
        flow: u32,
        /// Which end.
        side: u8,
    },
    /// A source wanted to be woken.
    Source {
        /// The source.
        source: u32,
        /// What it said to be woken with.
        token: u64,
    },
}

/// What a stream of events is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The timers on the heap.
    Timers,
    /// The next step of a link.
    Link(u16),
    /// The head of a delay line that leads to hosts.
    DelayLine(u16),
    /// The head of a delay line that leads to a link.
    Transit(u16),
    /// The access links.
    Access,
    /// Delayed-ACK timers of one length.
    DelayedAcks(u16),
}

/// Pending events.
pub(crate) struct EventQueue {
    /// When the head of each ordered stream is due; filled up with `NEVER` to an even number.
    due: Vec<u64>,
    streams: Vec<Stream>,
    heap: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    inserted: u64,
}

const HEAP: usize = 0;

impl EventQueue {
    pub(crate) fn new() -> Self {
        Self { due: vec![u64::MAX; 2], streams: vec![Stream::Timers], heap: BinaryHeap::new(), inserted: 0 }
    }

    /// Adds an ordered stream with nothing in it; returns its place.
    pub(crate) fn add_stream(&mut self, stream: Stream) -> usize {
        self.streams.push(stream);
        self.due.resize(self.streams.len().next_multiple_of(2), u64::MAX);
        self.streams.len() - 1
    }

    /// The head of a stream is due at `at` (`NEVER`: it is empty).
    #[inline]
    pub(crate) fn set(&mut self, stream: usize, at: Time) {
        self.due[stream] = at.0;
    }

    /// Whatever is due first: its stream and time.
    #[inline]
    pub(crate) fn next(&self) -> (Stream, Time) {
        // Which stream is first is anybody's guess: a choice, not a branch, which would be mispredicted. Of two
        // streams the choice does not wait for that among those before them.
        let (mut first, mut least) = (HEAP, u64::MAX);
        for (i, &[one, other]) in self.due.as_chunks().0.iter().enumerate() {
            let (place, due) = if other < one { (2 * i + 1, other) } else { (2 * i, one) };
            let sooner = due < least;
            first = if sooner { place } else { first };
            least = if sooner { due } else { least };
        }
        (self.streams[first], Time(least))
    }

    /// Puts a timer on the heap.
    #[inline(never)]
    pub(crate) fn push(&mut self, at: Time, timer: Timer) {
        self.inserted += 1;
        self.heap.push(Reverse((at, self.inserted, timer)));
        self.due[HEAP] = self.due[HEAP].min(at.0);
    }

    /// Takes the first timer off the heap.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        let timer = self.heap.pop().map(|t| t.0.2);
        self.due[HEAP] = self.heap.peek().map_or(u64::MAX, |t| t.0.0.0);
        timer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_of_insertion() {
        let mut event_queue = EventQueue::new();
        let line = event_queue.add_stream(Stream::DelayLine(0));
        let source = |token| Timer::Source { source: 0, token };
        event_queue.push(Time(20), source(1));
        event_queue.push(Time(10), source(2));
        event_queue.push(Time(10), source(3));
        event_queue.set(line, Time(15));
        assert_eq!(event_queue.next(), (Stream::Timers, Time(10)));
        assert_eq!(event_queue.pop(), Some(source(2)));
        assert_eq!(event_queue.pop(), Some(source(3)));
        assert_eq!(event_queue.next(), (Stream::DelayLine(0), Time(15)));
        event_queue.set(line, Time::NEVER);
        assert_eq!(event_queue.next(), (Stream::Timers, Time(20)));
    }

    #[test]
    fn of_streams_due_at_one_time_the_one_added_first_comes_first() {
        let mut event_queue = EventQueue::new();
        let streams: Vec<_> = (0..4).map(|link| event_queue.add_stream(Stream::Link(link))).collect();
        for (link, stream) in streams.iter().enumerate().rev() {
            event_queue.set(*stream, Time(10));
            assert_eq!(event_queue.next(), (Stream::Link(link as u16), Time(10)));
        }
        event_queue.push(Time(10), Timer::Source { source: 0, token: 1 });
        assert_eq!(event_queue.next(), (Stream::Timers, Time(10)));
    }
}
