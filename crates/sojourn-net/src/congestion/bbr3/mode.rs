//! The states of BBR's version 3.
//!
//! Source: draft-ietf-ccwg-bbr §4.3 (state machine), §5.3.3 (what acknowledgements tell about while probing).

use crate::Time;

/// What the flow is doing; the draft's PROBE_BW is [`Mode::Down`] to [`Mode::Up`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt { until: Option<Time>, round_done: bool },
}

/// What acknowledgements now tell about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Mode {
    /// One of the four phases of PROBE_BW.
    pub(super) fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// As the variable `mode` has it.
    pub(super) fn number(self) -> f64 {
        match self {
            Self::Startup => 0.0,
            Self::Drain => 1.0,
            Self::Down => 2.0,
            Self::Cruise => 3.0,
            Self::Refill => 4.0,
            Self::Up => 5.0,
            Self::ProbeRtt { .. } => 6.0,
        }
    }
}
