//! What the hosts of a scenario have: distances, TCP settings, controllers.

use crate::network::Control;
use crate::scenario::{self, Tcp, Transport};
use sojourn_net::congestion::{
    Arithmetic, Bbr1, Bbr3, Bic, Compound, Counting, Cubic, CubicNs2, Dctcp, HyStart, Ledbat, LedbatNs2,
    LedbatPlusPlus, Prague, Reno, Utp,
};
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
    let (mss, initial) = (u64::from(config.mss), config.initial_window());
    let target = tcp.ledbat_target;
    let hystart = match tcp.hystart {
        scenario::HyStart::None => None,
        scenario::HyStart::Linux => Some(HyStart::Linux),
        scenario::HyStart::Rfc9406 => Some(HyStart::Rfc9406),
    };
    let cubic = move |arithmetic| {
        let cubic = Cubic::new(mss, initial, arithmetic);
        hystart.into_iter().fold(cubic, Cubic::with_hystart)
    };
    let seeds = Cell::new(seed);
    let next_seed = move || seeds.replace(seeds.get().wrapping_add(1));
    match tcp.transport {
        Transport::Cubic => Box::new(move || Box::new(cubic(Arithmetic::Linux))),
        Transport::CubicRfc9438 => Box::new(move || Box::new(cubic(Arithmetic::Exact))),
        Transport::Bic => Box::new(move || Box::new(Bic::new(mss, initial))),
        Transport::Compound => Box::new(move || Box::new(Compound::new(mss, initial, Arithmetic::Exact))),
        Transport::Ledbat => Box::new(move || Box::new(Ledbat::new(mss, initial, target))),
        Transport::LedbatPlusPlus => Box::new(move || Box::new(LedbatPlusPlus::new(mss, initial, target))),
        Transport::CubicNs2 => Box::new(move || Box::new(CubicNs2::new(mss, initial))),
        Transport::CompoundNs2 => Box::new(move || Box::new(Compound::new(mss, initial, Arithmetic::Linux))),
        Transport::LedbatNs2 => Box::new(move || Box::new(LedbatNs2::new(mss, initial, target))),
        Transport::Utp => Box::new(move || Box::new(Utp::new(mss, initial))),
        Transport::Dctcp => Box::new(move || Box::new(Dctcp::new(mss, initial))),
        Transport::Prague => Box::new(move || Box::new(Prague::new(mss, initial))),
        Transport::Bbr3 => Box::new(move || Box::new(Bbr3::new(mss, initial, next_seed()))),
        Transport::Bbr => Box::new(move || Box::new(Bbr1::new(mss, initial, next_seed()))),
        Transport::NewReno => Box::new(move || Box::new(Reno::new(mss, initial, Counting::Acks))),
        Transport::Reno | Transport::Udp => Box::new(move || Box::new(Reno::new(mss, initial, Counting::Bytes))),
    }
}
