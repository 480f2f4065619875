//! How an endpoint behaves.

use super::ecn::EcnMode;
use super::pacing::Pacing;
use crate::{Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How losses are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// By what was SACKed above (RFC 6675), or by duplicate acknowledgements.
    #[default]
    Rfc6675,
    /// By time, with probes for losses at the tail (RFC 8985).
    RackTlp,
}

/// Whose habits the endpoints of a connection have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Nobody's: what the standards say, and the other keys, of which `min-rttvar` keeps the retransmission timeout as
    /// Linux does unless it is "0ms".
    #[default]
    Plain,
    /// Linux's: RACK-TLP, HyStart in CUBIC, whole-segment counting in CUBIC and Reno, its acknowledgements (quick,
    /// pushed, delayed by the gaps of arrivals, compressed), data in super-segments, needless timeouts undone,
    /// ticks of 4 ms for timers and CUBIC.
    Linux,
}

with_defaults! {
    /// How an endpoint behaves.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Config {
        /// Payload bytes of a full segment.
        pub mss: u32 = 1448,
        /// Initial window in segments (RFC 6928: 10; RFC 3390: 2–4).
        pub initial_segments: u32 = 10,
        /// How long an acknowledgement may be held back; zero acknowledges every segment.
        pub ack_delay: Span = Span::from_millis(40),
        /// Selective acknowledgements.
        pub sack: bool = true,
        /// Timestamps: a round-trip sample with every advancing acknowledgement.
        pub timestamps: bool = true,
        /// Bytes the other end is willing to hold.
        pub receive_window: u64 = 16 << 20,
        /// Memory that a receiver of Linux has for data at first, in bytes.
        pub receive_buffer: u64 = 128 << 10,
        /// Least retransmission timeout.
        pub min_rto: Span = Span::from_millis(200),
        /// Least 4·RTTVAR that the retransmission timeout adds to the smoothed round trip; zero is RFC 6298 to the
        /// letter.
        pub min_rttvar: Span = Span::from_millis(200),
        /// Retransmission timeout before the first round trip has been measured (RFC 6298: 1 s; RFC 2988: 3 s).
        pub initial_rto: Span = Span::from_secs(1),
        /// Restart from the initial window after an idle time longer than the retransmission timeout.
        pub idle_restart: bool = true,
        /// Send new data on the first two duplicate acknowledgements (RFC 3042).
        pub limited_transmit: bool = true,
        /// Slow start also grows a window that was more than half used (Linux today), not only one that was used up.
        pub grow_half_used: bool = true,
        /// Without SACK: stay in recovery on a partial acknowledgement (NewReno) rather than leave it (Reno).
        pub partial_acks: bool = true,
        /// With SACK: fast recovery reduces the window in proportion to what arrives (RFC 6937), not at once (RFC
        /// 6675).
        pub prr: bool = true,
        /// After a timeout the timer stays backed off until data first sent after it has been acknowledged (Karn), not
        /// only until the next sample of the round trip.
        pub karn_backoff: bool,
        /// Packets leave at a rate.
        pub pacing: Pacing = Pacing::AsAsked,
        /// Explicit congestion notification; the other end must be set alike.
        pub ecn: EcnMode = EcnMode::Off,
        /// How losses are found; RACK-TLP needs SACK.
        pub recovery: Recovery,
        /// Whose habits it has.
        pub stack: Stack,
    }
}

impl Config {
    /// Initial window in bytes.
    pub fn initial_window(&self) -> u64 {
        u64::from(self.initial_segments) * u64::from(self.mss)
    }
}
