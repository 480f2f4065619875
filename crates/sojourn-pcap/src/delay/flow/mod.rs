//! Flows: what one packet does to its connection, and what it says of a queue.
//!
//! A packet comes with the key of its flow. TCP goes to [`tcp`], with what the segment is within its connection
//! ([`super::sighting::tcp_connection`]); datagrams go to [`utp`] until they turn out to be uTP, QUIC ([`spin_bit`]) or
//! neither. The flow asks the estimators which earlier packet this one answers, or [`echoes`] where stamps alone tell
//! it. It tells the hosts of round trips, and logs what has a stamp in the tracks of its side ([`track_pair`]). A new
//! route ([`super::route_change`]) or a clock that was set begins new tracks.

mod echoes;
pub(super) mod spin_bit;
pub(super) mod tcp;
mod tcp_side;
mod track_pair;
pub(super) mod utp;

use crate::delay::discard::Discard;
use crate::delay::flow::spin_bit::Spin;
use crate::delay::flow::tcp::TcpFlow;
use crate::delay::flow::utp::{Candidate, UtpFlow};
use crate::delay::meter_state::MeterState;

/// State of a flow: what is kept depends on its protocol.
pub(crate) enum Flow {
    Tcp(Box<TcpFlow>),
    Undecided(Candidate),
    Utp(Box<UtpFlow>),
    Quic(Box<Spin>),
    Other,
}

impl Flow {
    /// Another flow takes its place.
    pub(crate) fn close(self, state: &mut MeterState) {
        match self {
            Self::Tcp(mut flow) => {
                if flow.packets() == 1 {
                    state.discarded[Discard::Alone as usize] += 1;
                }
                flow.close(state);
            }
            Self::Utp(mut flow) => flow.close(state),
            Self::Undecided(_) | Self::Quic(_) | Self::Other => {}
        }
    }

    /// Forget what waits for an answer.
    pub(crate) fn forget(&mut self, state: &mut MeterState) {
        match self {
            Self::Tcp(flow) => flow.forget(state),
            Self::Utp(flow) => flow.forget(state),
            _ => {}
        }
    }

    /// Tracks are numbered anew: `map` gives the new number of each, if it still exists.
    pub(crate) fn renumber(&mut self, map: &[u32]) {
        match self {
            Self::Tcp(flow) => flow.renumber(map),
            Self::Utp(flow) => flow.renumber(map),
            _ => {}
        }
    }
}
