//! Whose turn it is among the streams of a connection: the most urgent first, equals in turn or one after the other.
//!
//! Source: RFC 9218, sections 4 and 10: the `Priority` field of a request, its `u` from 0, the most urgent, to 7, and
//! its `i`. Of streams that are equally urgent, the first is sent until its end, unless it is incremental: then the
//! next is sent after each frame.
//! Differences: priorities are not changed on the way (`PRIORITY_UPDATE`), and nobody's turn comes while the most
//! urgent one waits for its client's flow control: a browser's windows are longer than what a page has.

use http::HeaderMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes of a turn: with the header of its frame it is one record of TLS.
pub(super) const FRAME: usize = 16_384 - 9;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Priority {
    urgency: u8,
    incremental: bool,
}

impl Priority {
    /// Reads the field of a request's header; what is not understood in it is left out.
    pub(super) fn of(fields: &HeaderMap) -> Self {
        let mut found = Self { urgency: 3, incremental: false };
        let field = fields.get("priority").and_then(|value| value.to_str().ok()).unwrap_or_default();
        for member in field.split(',').map(str::trim) {
            match member.split_once('=').unwrap_or((member, "?1")) {
                ("u", urgency) => found.urgency = urgency.parse().ok().filter(|u| *u <= 7).unwrap_or(3),
                ("i", whether) => found.incremental = whether == "?1",
                _ => {}
            }
        }
        found
    }
}

/// The streams of a connection that have something to send.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    joined: u64,
}

struct Waiting {
    number: u64,
    priority: Priority,
    waker: Option<Waker>,
}

impl Queue {
    fn next(&self) -> Option<usize> {
        (0..self.waiting.len()).min_by_key(|place| (self.waiting[*place].priority.urgency, *place))
    }

    fn wake_next(&mut self) {
        if let Some(waker) = self.next().and_then(|place| self.waiting[place].waker.take()) {
            waker.wake();
        }
    }
}

impl Turns {
    /// A stream that has something to send, until what is returned is dropped.
    pub(super) fn join(&self, priority: Priority) -> Turn {
        let mut queue = self.queue();
        queue.joined += 1;
        let number = queue.joined;
        queue.waiting.push(Waiting { number, priority, waker: None });
        Turn { turns: self.clone(), number }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream's place.
pub(super) struct Turn {
    turns: Turns,
    number: u64,
}

impl Turn {
    /// Waits until a frame of this stream is to be sent; the next turn may be another's then.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.turns.queue();
        let Some(next) = queue.next() else { return Poll::Ready(()) };
        if queue.waiting[next].number == self.number {
            if queue.waiting[next].priority.incremental {
                let this = queue.waiting.remove(next);
                queue.waiting.push(this);
            }
            queue.wake_next();
            return Poll::Ready(());
        }
        if let Some(this) = queue.waiting.iter_mut().find(|each| each.number == self.number) {
            this.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = self.turns.queue();
        queue.waiting.retain(|each| each.number != self.number);
        queue.wake_next();
    }
}
