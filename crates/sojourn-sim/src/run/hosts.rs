//! What the hosts of a scenario have: distances, TCP settings, controllers.

use crate::controller::Choice;
use crate::engine::network::Control;
use crate::scenario::{self, Tcp, Transport};
use sojourn_net::{Span, tcp};
use std::cell::Cell;

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

/// How the endpoints of connections with these settings behave.
pub(super) fn config(tcp: &Tcp) -> tcp::Config {
    tcp::Config {
        mss: tcp.mss.0 as u32,
        initial_segments: tcp.initial_window,
        ack_delay: if tcp.delayed_ack { tcp.ack_delay } else { Span::ZERO },
        sack: tcp.sack,
        timestamps: tcp.timestamps,
        receive_window: tcp.receive_window.0,
        min_rto: tcp.min_rto,
        initial_rto: tcp.initial_rto,
        idle_restart: tcp.idle_restart,
        limited_transmit: tcp.limited_transmit,
        grow_half_used: tcp.transport != Transport::NewReno,
        partial_acks: tcp.transport != Transport::Reno,
        pacing: match tcp.pacing {
            None => tcp::Pacing::AsAsked,
            Some(true) => tcp::Pacing::On,
            Some(false) => tcp::Pacing::Off,
        },
        ecn: if tcp.ecn { tcp.transport.ecn_mode() } else { tcp::EcnMode::Off },
        recovery: match tcp.recovery {
            scenario::Recovery::Rfc6675 => tcp::Recovery::Rfc6675,
            scenario::Recovery::RackTlp => tcp::Recovery::RackTlp,
        },
        linux: tcp.stack == scenario::Stack::Linux,
    }
}

/// Makes their controllers; those that draw do so from seeds that begin with `seed`.
pub(super) fn control(tcp: &Tcp, seed: u64) -> Control {
    let config = config(tcp);
    let choice = Choice {
        transport: tcp.transport,
        mss: u64::from(config.mss),
        initial: config.initial_window(),
        target: tcp.ledbat_target,
        hystart: tcp.hystart,
        reno_friendly: tcp.reno_friendly,
        whole: config.linux,
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
