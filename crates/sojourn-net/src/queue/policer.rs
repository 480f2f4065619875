//! A policer: what comes faster than a rate allows is dropped on arrival; what passes waits first in, first out.
//!
//! How it works: Tokens grow at the policer's rate up to the burst. A packet that finds tokens for all its bytes takes
//! them and passes; one that does not is dropped and takes none. Nothing is delayed by that: what passes joins a FIFO
//! in front of the link, which is empty where the link is faster than the policer.
//!
//! Use it when: an operator sells less than the line can carry and drops the rest, or you want to see what congestion
//! control does without a queue to measure. To sell less with a queue, give the link its lower rate instead (a shaper).
//!
//! Source: Linux's `act_police` (net/sched/act_police.c) as `tc filter … police rate R burst B drop`: tokens are kept
//! as time, the burst lasts as long as it takes to send it at the rate, and the bucket is full at the beginning.
//!
//! Differences: no peak rate, no packet rate, and no `mtu` above which every packet exceeds; lengths are those at IP,
//! where the kernel counts the link's header too.

use super::config;
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::packet_queue::PacketQueue;
use crate::probe::DropCause;
use crate::{Bytes, Invalid, Packet, Rate, Span, Time, refuse_if, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

with_defaults! {
    /// A token bucket that drops what exceeds it. The limit is that of the queue behind it.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub struct Config {
        /// Rate at which tokens grow; the link's if absent.
        pub rate: Option<Rate>,
        /// Most tokens: what may pass at once after a pause.
        pub burst: Bytes = Bytes(15_000),
    }
}

impl config::Config for Config {
    fn check(&self) -> Result<(), Invalid> {
        let empty = self.burst == Bytes(0);
        refuse_if!(empty, "burst", "with a burst of 0B nothing passes; write at least a packet's bytes");
        Ok(())
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), rate: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Policer::new(limit.0, limit.1, self.rate.unwrap_or(rate), self.burst.0))
    }
}

/// The policer and the queue behind it.
pub struct Policer<P> {
    passed: PacketQueue<P>,
    rate: Rate,
    /// The time that a burst takes at the rate, and what is left of it.
    burst: Span,
    tokens: Span,
    /// When the last packet passed.
    checked: Time,
}

impl<P: Packet> Policer<P> {
    /// A full bucket of `burst` bytes at `rate`, before a queue of at most `max_packets` packets and `max_bytes` bytes;
    /// `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, rate: Rate, burst: u64) -> Self {
        let burst = time_of(burst, rate);
        let passed = PacketQueue::new(max_packets, max_bytes);
        Self { passed, rate, burst, tokens: burst, checked: Time::ZERO }
    }
}

/// How long `bytes` take at a rate.
fn time_of(bytes: u64, rate: Rate) -> Span {
    let time = u128::from(bytes) * 8_000_000_000 / u128::from(rate.0.max(1));
    Span(u64::try_from(time).unwrap_or(u64::MAX))
}

impl<P: Packet + Send> QueueDiscipline<P> for Policer<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let earned = cx.now.since(self.checked).0;
        let tokens = self.tokens.0.saturating_add(earned).min(self.burst.0);
        match tokens.checked_sub(time_of(u64::from(packet.size()), self.rate).0) {
            Some(left) => {
                (self.tokens, self.checked) = (Span(left), cx.now);
                self.passed.push(packet, cx);
            }
            None => cx.drop_arriving(packet, DropCause::Policed),
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let (arrived, packet) = self.passed.pop()?;
        Some(cx.deliver(arrived, packet))
    }

    fn backlog(&self) -> Backlog {
        self.passed.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::tests::check::{self, Desk, Event, ms};
    use proptest::prelude::*;

    /// A byte a microsecond.
    const RATE: Rate = Rate(8_000_000);

    #[test]
    fn a_burst_passes_at_once_and_then_the_rate() {
        let mut desk = Desk::new(Policer::new(100, u64::MAX, RATE, 3000));
        for _ in 0..5 {
            desk.arrive(ms(0), 0, 1000, Ecn::NotEct); // Three pass; what is dropped takes no tokens.
        }
        desk.arrive(ms(0.5), 0, 1000, Ecn::NotEct); // Only 500 bytes have grown.
        desk.arrive(ms(0.5), 0, 500, Ecn::NotEct);
        desk.arrive(ms(1.5), 0, 1000, Ecn::NotEct);
        let served: Vec<_> = std::iter::from_fn(|| desk.serve(ms(2))).collect();
        assert_eq!(served, [0, 1, 2, 6, 7]);
    }

    #[test]
    fn an_idle_bucket_holds_no_more_than_its_burst() {
        let mut desk = Desk::new(Policer::new(100, u64::MAX, RATE, 2000));
        for _ in 0..4 {
            desk.arrive(ms(900), 0, 1000, Ecn::NotEct);
        }
        assert_eq!(std::iter::from_fn(|| desk.serve(ms(901))).count(), 2);
        desk.arrive(ms(902), 0, 2001, Ecn::NotEct);
        assert_eq!(desk.serve(ms(9000)), None, "a packet longer than the burst never passes");
    }

    #[test]
    fn drops_are_told_as_policed_or_full() {
        let fates = check::drive(&mut Policer::new(1, u64::MAX, RATE, 2500), &[Event::Arrive(1000); 3]);
        // The bucket has grown by 1000 bytes between arrivals; the queue holds one.
        assert_eq!(fates.dropped, [(1, DropCause::Full), (2, DropCause::Full)]);
        let fates = check::drive(&mut Policer::new(9, u64::MAX, RATE, 1500), &[Event::Arrive(1400); 3]);
        assert_eq!(fates.dropped, [(1, DropCause::Policed)]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..20, bytes in 0u64..20_000, rate in 1u64..20_000_000, burst in 1u64..9000,
        ) {
            check::conserves(&mut Policer::new(packets, bytes, Rate(rate), burst), &events)?;
        }
    }
}
