//! What the hosts of a scenario have: distances, and controllers.

use crate::controller::Choice;
use crate::engine::network::Control;
use crate::engine::{AccessAt, Way};
use crate::scenario::{Path, Tcp};
use sojourn_net::Span;
use std::cell::Cell;
use std::ops::Range;

/// Where a group of flows is found: its hosts' number in the network, and its sources.
pub(super) struct Placed {
    pub(super) groups: Range<usize>,
    pub(super) sources: Range<usize>,
}

/// The way between hosts that cross some hops, at a round-trip time of their own if they have one: then the delays of
/// hosts are the path's, stretched in proportion, and those of links stay.
pub(super) fn way(path: &Path, over: Option<&[String]>, rtt: Option<Span>, access: Option<AccessAt>) -> Way {
    // The scenario was checked: what it names exists.
    let hops = path.crossed(over).unwrap_or(0..=path.hops.len() - 1);
    let of_access = access.map_or(Span::ZERO, |access| access.delay);
    let between = path.hops[hops.clone()].iter().fold(of_access, |sum, hop| sum + hop.delay);
    let (client_delay, server_delay) = match rtt {
        None => (path.client_delay, path.server_delay),
        Some(rtt) => {
            let both = (path.client_delay + path.server_delay).0.max(1);
            let half = (rtt.0 / 2).saturating_sub(between.0);
            let client = (u128::from(half) * u128::from(path.client_delay.0) / u128::from(both)) as u64;
            (Span(client), Span(half - client))
        }
    };
    Way { client_delay, server_delay, hops, access }
}

/// Makes the controllers of connections with these settings; those that draw do so from seeds that begin with `seed`.
pub(super) fn control(tcp: &Tcp, seed: u64) -> Control {
    let choice = Choice {
        transport: tcp.transport,
        mss: tcp.mss.0,
        initial: tcp.endpoint.initial_window(),
        target: tcp.ledbat_target,
        gain: tcp.ledbat_gain,
        hystart: tcp.hystart,
        reno_friendly: tcp.reno_friendly,
        stack: tcp.endpoint.stack,
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
        let path: Path = serde_json::from_value(path).unwrap();
        let ms = Span::from_millis;
        let delays = |rtt| {
            let way = way(&path, None, rtt, None);
            (way.client_delay, way.server_delay)
        };
        assert_eq!(delays(None), (ms(1), ms(9)));
        assert_eq!(delays(Some(ms(40))), (ms(2), ms(18)));
    }

    #[test]
    fn the_delays_of_hops_and_access_links_stay_in_another_round_trip() {
        let link = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } });
        let hop = |name, delay| json!({ "name": name, "delay": delay, "down": link, "up": link });
        let hops = json!([hop("a", "3ms"), hop("b", "5ms")]);
        let path = json!({ "client-delay": "1ms", "server-delay": "1ms", "hop": hops });
        let path: Path = serde_json::from_value(path).unwrap();
        let ms = Span::from_millis;
        let access = AccessAt { end: crate::engine::End::Client, number: 0, delay: ms(2) };
        let own = way(&path, Some(&["b".to_owned()]), Some(ms(40)), Some(access));
        assert_eq!((own.client_delay.0 + own.server_delay.0, own.hops), (ms(20 - 5 - 2).0, 1..=1));
    }
}
