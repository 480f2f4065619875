//! A link: a queue discipline in front of a rate.
//!
//! Whatever is due is done at the time it was due, however late the driver polls, so a slow driver does not slow the
//! link. A packet that starts its transmission is handed out at once with the time at which its last bit leaves: the
//! simulator adds the path's delay to it, an emulator waits for it.

use crate::probe::DropCause;
use crate::queue::{Backlog, Cx, QueueDiscipline};
use crate::rate::{RateProfile, Service};
use crate::{Packet, Span, Time};

/// A packet whose transmission has started.
#[derive(Debug)]
pub struct Departure<P> {
    /// The packet.
    pub packet: P,
    /// When its transmission started.
    pub start: Time,
    /// When its last bit leaves the link.
    pub end: Time,
}

/// A queue in front of a rate.
pub struct Link<P> {
    queue: Box<dyn QueueDiscipline<P>>,
    service: Service,
    overhead: u32,
    busy_until: Time,
    waiting: bool,
    /// The link is idle until `busy_until`, when the queue's head may leave.
    throttled: bool,
    /// When the queue wants to be woken; `NEVER` if it has no timer.
    wake_at: Time,
    /// The queue must still be told that it ran empty at `busy_until`.
    idle_unreported: bool,
    wants_idle_dequeue: bool,
    /// Of a link with a bucket of tokens: how much time it may save up, and when its tokens were or will be used up.
    bucket: Option<(Span, Time)>,
}

impl<P: Packet> Link<P> {
    /// A link at rest. `overhead` bytes of link-layer framing are transmitted with every packet.
    pub fn new(queue: Box<dyn QueueDiscipline<P>>, rate: RateProfile, overhead: u32) -> Self {
        let wake_at = queue.wake_at().unwrap_or(Time::NEVER);
        let wants_idle_dequeue = queue.wants_idle_dequeue();
        Self {
            queue,
            service: Service::new(rate),
            overhead,
            busy_until: Time::ZERO,
            waiting: false,
            throttled: false,
            wake_at,
            idle_unreported: false,
            wants_idle_dequeue,
            bucket: None,
        }
    }

    /// The same by the rule of Linux's `htb`: tokens grow at the rate up to `burst` bytes; a packet leaves at once, and
    /// is at its receiver's, if the tokens are not below zero, and takes its size off them. So an idle link passes a
    /// small burst unhindered, and a transmission takes no time: the next one waits for it.
    pub fn with_bucket(self, burst: u64) -> Self {
        let rate = self.rate().mean().map_or(u64::MAX, |rate| rate.0.max(1));
        let time = Span((u128::from(burst) * 8_000_000_000 / u128::from(rate)) as u64);
        Self { bucket: Some((time, Time::ZERO)), ..self }
    }

    /// What is waiting; the packet in transmission is outside.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The rate over time.
    pub fn rate(&self) -> &RateProfile {
        self.service.profile()
    }

    /// A packet arrives. If the link is idle, a transmission starts at once and is returned.
    #[inline(always)] // Or each packet is copied once more.
    pub fn send(&mut self, packet: P, cx: &mut Cx<'_, P>) -> Option<Departure<P>> {
        if self.idle_unreported && cx.now > self.busy_until {
            self.report_idle(cx);
        }
        self.queue.enqueue(packet, cx);
        if self.waiting || cx.now < self.busy_until {
            self.waiting = true;
            return None;
        }
        self.start(cx, cx.now == self.busy_until)
    }

    /// True if a transmission may start now; otherwise the link is busy until one may.
    #[inline]
    fn open(&mut self, now: Time, back_to_back: bool) -> bool {
        let opening = self.service.opening(now, back_to_back);
        if opening > now {
            (self.busy_until, self.waiting) = (opening, true);
        }
        opening <= now
    }

    /// When [`poll`](Self::poll) has something to do.
    #[inline]
    pub fn poll_at(&self) -> Option<Time> {
        let next = if self.waiting { self.busy_until } else { Time::NEVER };
        let due = next.min(self.wake_at);
        (due != Time::NEVER).then_some(due)
    }

    /// Does the earliest thing that is due, at the time it was due. Returns the transmission that it started, if any.
    #[inline(always)] // Or each departure is copied once more.
    pub fn poll(&mut self, cx: &mut Cx<'_, P>) -> Option<Departure<P>> {
        let due = self.poll_at().filter(|due| *due <= cx.now)?;
        let mut cx = Cx { now: due, rng: &mut *cx.rng, probe: &mut *cx.probe };
        if self.wake_at <= due {
            self.queue.wake(&mut cx);
            self.wake_at = self.queue.wake_at().unwrap_or(Time::NEVER);
        }
        if self.waiting && self.busy_until <= due { self.start(&mut cx, true) } else { None }
    }

    #[inline(always)] // Or each packet is copied once more.
    fn start(&mut self, cx: &mut Cx<'_, P>, back_to_back: bool) -> Option<Departure<P>> {
        let back_to_back = back_to_back && !std::mem::take(&mut self.throttled);
        if !self.open(cx.now, back_to_back) {
            return None;
        }
        let packet = self.queue.dequeue(cx);
        self.waiting = self.queue.backlog().packets > 0;
        self.idle_unreported = self.wants_idle_dequeue && !self.waiting && packet.is_some();
        let Some(packet) = packet else {
            self.hold();
            return None;
        };
        let bytes = packet.size() + self.overhead;
        let end = if self.bucket.is_none() {
            self.busy_until = self.service.finish(cx.now, bytes, back_to_back);
            self.busy_until
        } else {
            self.spend_tokens(cx.now, bytes);
            cx.now
        };
        Some(Departure { packet, start: cx.now, end })
    }

    /// Nothing left a queue that may hold packets back: waits for its head.
    #[cold]
    fn hold(&mut self) {
        if let Some(opening) = self.queue.next_eligible().filter(|_| self.waiting) {
            (self.busy_until, self.throttled) = (opening, true);
        }
    }

    #[cold]
    fn spend_tokens(&mut self, now: Time, bytes: u32) {
        if let Some((most, spent)) = &mut self.bucket {
            let from = (*spent).max(Time(now.0.saturating_sub(most.0)));
            *spent = self.service.finish(from, bytes, from == *spent);
            self.busy_until = now.max(*spent);
        }
    }

    /// Asks the empty queue for a packet at the end of the last transmission, late, which only the queue could notice.
    #[cold]
    fn report_idle(&mut self, cx: &mut Cx<'_, P>) {
        self.idle_unreported = false;
        let mut cx = Cx { now: self.busy_until, rng: &mut *cx.rng, probe: &mut *cx.probe };
        let none = self.queue.dequeue(&mut cx);
        debug_assert!(none.is_none(), "nothing was waiting");
    }
}

/// Whether a packet is lost at random before it reaches a queue; [`drop_on_path`] it then. `rng` is a stream of the
/// path's own, not the queue's: else another queue discipline, which draws more or fewer numbers, would lose other
/// packets.
#[inline]
pub fn is_lost(probability: f64, rng: &mut impl rand::Rng) -> bool {
    use rand::RngExt;
    probability > 0.0 && rng.random_bool(probability)
}

/// Drops a packet before it reaches a queue, and tells the probe (cause `path`).
#[cold]
pub fn drop_on_path<P>(packet: P, cx: &mut Cx<'_, P>) {
    cx.probe.dropped(cx.now, packet, DropCause::Path, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::queue::{DropFrom, Fifo};
    use rand::SeedableRng;

    #[derive(Debug, PartialEq)]
    struct Sized(u32);
    impl Packet for Sized {
        fn size(&self) -> u32 {
            self.0
        }
        fn flow(&self) -> u32 {
            0
        }
    }

    fn link() -> Link<Sized> {
        Link::new(Box::new(Fifo::new(40, u64::MAX, DropFrom::Tail)), RateProfile::Constant(Rate(8_000_000)), 0)
    }

    /// Remembers when it was asked for a packet that it did not have.
    struct Minder(Fifo<Sized>, std::sync::Arc<std::sync::Mutex<Vec<Time>>>);
    impl QueueDiscipline<Sized> for Minder {
        fn enqueue(&mut self, packet: Sized, cx: &mut Cx<'_, Sized>) {
            self.0.enqueue(packet, cx);
        }
        fn dequeue(&mut self, cx: &mut Cx<'_, Sized>) -> Option<Sized> {
            let packet = self.0.dequeue(cx);
            if packet.is_none() {
                self.1.lock().unwrap().push(cx.now);
            }
            packet
        }
        fn backlog(&self) -> Backlog {
            self.0.backlog()
        }
        fn wants_idle_dequeue(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_queue_that_minds_hears_once_of_each_time_it_ran_empty() {
        let heard = std::sync::Arc::default();
        let queue = Minder(Fifo::new(10, u64::MAX, DropFrom::Tail), std::sync::Arc::clone(&heard));
        let mut link = Link::new(Box::new(queue), RateProfile::Constant(Rate(8_000_000)), 0);
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut cx = Cx { now: Time(0), rng: &mut rng, probe: &mut () };
        for at in [0, 500_000, 3_000_000, 4_000_000, 9_000_000] {
            cx.now = Time(at);
            while link.poll(&mut cx).is_some() {}
            link.send(Sized(1000), &mut cx);
        }
        // The packet at 4 ms comes as the last transmission ends: the link was never idle.
        assert_eq!(*heard.lock().unwrap(), [Time(2_000_000), Time(5_000_000)]);
    }

    #[test]
    fn work_is_done_when_it_was_due_however_late_the_driver() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut cx = Cx { now: Time(0), rng: &mut rng, probe: &mut () };
        let mut link = link();
        let first = link.send(Sized(1000), &mut cx).expect("the link is idle");
        assert_eq!((first.start, first.end), (Time(0), Time(1_000_000)));
        assert!(link.send(Sized(1000), &mut cx).is_none());
        assert!(link.send(Sized(1000), &mut cx).is_none());
        cx.now = Time(50_000_000);
        assert_eq!(link.poll(&mut cx).map(|d| d.end), Some(Time(2_000_000)));
        assert_eq!(link.poll(&mut cx).map(|d| d.end), Some(Time(3_000_000)));
        assert!(link.poll(&mut cx).is_none());
    }

    #[test]
    fn a_bucket_passes_what_it_saved_and_then_keeps_the_rate() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut cx = Cx { now: Time(10_000_000), rng: &mut rng, probe: &mut () };
        // A byte a microsecond, 1600 saved: of packets of 1000 bytes two pass (600 and −400 left), the third when 400
        // have come.
        let mut link = link().with_bucket(1600);
        let mut ends = Vec::new();
        for _ in 0..5 {
            ends.extend(link.send(Sized(1000), &mut cx).map(|d| d.end.0 / 1000));
        }
        cx.now = Time(50_000_000);
        while let Some(departure) = link.poll(&mut cx) {
            ends.push(departure.end.0 / 1000);
        }
        assert_eq!(ends, [10_000, 10_000, 10_400, 11_400, 12_400]);
        // 25 acknowledgements of 66 bytes pass an idle link.
        cx.now = Time(60_000_000);
        let passed = (0..40).take_while(|_| link.send(Sized(66), &mut cx).is_some()).count();
        assert_eq!(passed, 25);
    }

    #[test]
    fn an_arrival_at_the_instant_a_transmission_ends_waits_its_turn() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut cx = Cx { now: Time(0), rng: &mut rng, probe: &mut () };
        let mut link = link();
        link.send(Sized(1000), &mut cx);
        link.send(Sized(500), &mut cx);
        cx.now = Time(1_000_000);
        assert!(link.send(Sized(200), &mut cx).is_none(), "the 500-byte packet is ahead of it");
        assert_eq!(link.poll(&mut cx).map(|d| d.packet), Some(Sized(500)));
    }
}
