//! What the hosts of a scenario have: distances, and controllers.

use crate::controller::Choice;
use crate::engine::network::Control;
use crate::scenario::{self, Stack, Tcp};
use sojourn_net::Span;
use std::cell::Cell;
use std::ops::Range;

/// Where a group of flows is found: its hosts' number in the network, and its sources.
pub(super) struct Placed {
    pub(super) group: u16,
    pub(super) sources: Range<usize>,
}

/// One-way delays of hosts at a round-trip time of their own: the path's, stretched in proportion.
pub(super) fn delays(path: &scenario::Path, rtt: Option<Span>) -> (Span, Span) {
    match rtt {
        None => (path.client_delay, path.server_delay),
        Some(rtt) => {
            let both = (path.client_delay + path.server_delay).0.max(1);
            let half = rtt.0 / 2;
            let client = (u128::from(half) * u128::from(path.client_delay.0) / u128::from(both)) as u64;
            (Span(client), Span(half - client))
        }
    }
}

/// Makes the controllers of connections with these settings; those that draw do so from seeds that begin with `seed`.
pub(super) fn control(tcp: &Tcp, seed: u64) -> Control {
    let choice = Choice {
        transport: tcp.transport,
        mss: tcp.mss.0,
        initial: tcp.endpoint.initial_window(),
        target: tcp.ledbat_target,
        hystart: tcp.hystart,
        reno_friendly: tcp.reno_friendly,
        whole: tcp.endpoint.stack == Stack::Linux,
    };
    let seeds = Cell::new(seed);
    Box::new(move || choice.make(seeds.replace(seeds.get().wrapping_add(1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_round_trip_stretches_both_delays_in_proportion() {
        let link = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } });
        let path = json!({ "client-delay": "1ms", "server-delay": "9ms", "down": link, "up": link });
        let path: scenario::Path = serde_json::from_value(path).unwrap();
        let ms = Span::from_millis;
        assert_eq!(delays(&path, None), (ms(1), ms(9)));
        assert_eq!(delays(&path, Some(ms(40))), (ms(2), ms(18)));
    }
}
