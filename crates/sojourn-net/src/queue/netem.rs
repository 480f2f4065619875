//! netem: first in, first out, and nothing leaves before it has been inside for a given delay.
//!
//! How it works: An arriving packet is stamped with the time of arrival, and joins the tail unless the limit is
//! reached. The head may leave once it has been inside for the configured delay; until then the link waits for it, even
//! if it is idle. Packets that only wait out the delay count against the limit. A full-rate flow
//! fills a limit of one bandwidth-delay product before any queue builds up.
//!
//! Use it when: you reproduce an experiment on Mininet or with `tc netem delay … limit …`. For a path's propagation
//! delay take the delays of the path instead: they do not use up the buffer.
//!
//! Source: Linux's `sch_netem` with `delay` and `limit` (S. Hemminger, "Network emulation with netem", 2005;
//! tc-netem(8)), which is what Mininet's `TCLink(bw, delay, max_queue_size)` puts below a token bucket of the rate:
//! delay and queue are one qdisc. Its limit counts all packets inside, those that only wait out their delay too. A link
//! with one bandwidth-delay product as its limit and the path's delay in the same netem has no room for a queue; with
//! half of the delay (as much in the other direction) it has room for half.
//!
//! Differences: no jitter, loss, reordering or rate of its own. Sojourn and backlog contain the delay, as in `tc -s
//! qdisc`: the wait that the load adds is the sojourn less the delay.

use super::config;
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::packet_queue::PacketQueue;
use crate::{Limit, Packet, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A delay and a queue in one. The limit counts what only waits out its delay, too; a BDP counts the delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Time that a packet spends inside at least, beside the path's own delays.
    pub delay: Span,
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(1000));

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Netem::new(limit.0, limit.1, self.delay))
    }
}

/// The netem queue.
pub struct Netem<P> {
    inside: PacketQueue<P>,
    delay: Span,
}

impl<P: Packet> Netem<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes, each for at least `delay`; `MAX` of the
    /// type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, delay: Span) -> Self {
        Self { inside: PacketQueue::new(max_packets, max_bytes), delay }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Netem<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.inside.push(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        if self.next_eligible()? > cx.now {
            return None;
        }
        let (arrived, packet) = self.inside.pop()?;
        Some(cx.deliver(arrived, packet))
    }

    fn backlog(&self) -> Backlog {
        self.inside.backlog()
    }

    fn next_eligible(&self) -> Option<Time> {
        self.inside.oldest().map(|arrived| arrived + self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::Rate;
    use crate::link::Link;
    use crate::probe::DropCause;
    use crate::queue::tests::check::{self, Desk, Event, ms};
    use crate::rate::RateProfile;
    use proptest::prelude::*;
    use rand::SeedableRng;

    #[test]
    fn nothing_leaves_before_its_delay() {
        let mut desk = Desk::new(Netem::new(10, u64::MAX, Span::from_millis(20)));
        desk.arrive(ms(0), 0, 100, Ecn::NotEct);
        desk.arrive(ms(5), 0, 100, Ecn::NotEct);
        assert_eq!((desk.serve(ms(19)), desk.serve(ms(20)), desk.serve(ms(24))), (None, Some(0), None));
        assert_eq!(desk.queue.next_eligible(), Some(ms(25)));
        assert_eq!((desk.serve(ms(25)), desk.queue.next_eligible()), (Some(1), None));
    }

    #[test]
    fn the_limit_counts_what_only_waits_out_its_delay() {
        let fates = check::drive(&mut Netem::new(2, u64::MAX, Span::from_secs(1)), &[Event::Arrive(100); 3]);
        assert_eq!(fates.dropped, [(2, DropCause::Full)]);
    }

    #[test]
    fn a_limit_in_bytes_is_one_too() {
        let keys = serde_json::json!({ "kind": "netem", "delay": "1s", "limit": "250B" });
        let spec: crate::queue::QueueSpec = serde_json::from_value(keys).expect("a queue");
        let mut queue = spec.build((u32::MAX, 250), Rate(8_000_000));
        assert_eq!(check::drive(&mut *queue, &[Event::Arrive(100); 3]).dropped, [(2, DropCause::Full)]);
    }

    /// When packets of 1000 bytes, which take 1 ms each, leave a link behind 20 ms, of those that arrive at these
    /// times.
    fn departures(limit: u32, arrivals: &[u64]) -> Vec<u64> {
        let queue = Netem::new(limit, u64::MAX, Span::from_millis(20));
        let mut link = Link::new(Box::new(queue), RateProfile::Constant(Rate(8_000_000)), 0);
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut cx = Cx { now: Time(0), rng: &mut rng, probe: &mut () };
        let mut left = Vec::new();
        for (number, at) in arrivals.iter().enumerate() {
            cx.now = ms(*at as f64);
            while let Some(due) = link.poll_at().filter(|due| *due < cx.now) {
                left.extend(link.poll(&mut cx).map(|departure| departure.end.0 / 1_000_000));
                assert!(link.poll_at().is_none_or(|next| next > due), "the link turns on the spot");
            }
            left.extend(link.send(check::packet(number, 1000), &mut cx).map(|departure| departure.end.0 / 1_000_000));
        }
        cx.now = ms(1000);
        while link.poll_at().is_some() {
            left.extend(link.poll(&mut cx).map(|departure| departure.end.0 / 1_000_000));
        }
        left
    }

    #[test]
    fn a_link_waits_for_the_head_and_then_keeps_its_rate() {
        assert_eq!(departures(10, &[0, 0, 0, 30]), [21, 22, 23, 51]);
        // The link is busy with others when the last becomes ready.
        assert_eq!(departures(10, &[0, 0, 0, 1]), [21, 22, 23, 24]);
    }

    #[test]
    fn one_bandwidth_delay_product_leaves_no_room_for_a_queue() {
        // 20 packets are on their way at full rate: a packet a millisecond passes, a burst of three every three loses
        // two thirds of what comes while the first 20 are inside.
        let smooth: Vec<u64> = (0..60).collect();
        assert_eq!(departures(21, &smooth).len(), 60);
        let bursts: Vec<u64> = (0..60).map(|i| i / 3 * 2).collect();
        assert!(departures(21, &bursts).len() < 45);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..20, bytes in 0u64..20_000, delay in 0u64..30,
        ) {
            check::conserves(&mut Netem::new(packets, bytes, Span::from_millis(delay)), &events)?;
        }
    }
}
