//! What a sender is doing about losses.
//!
//! Source: RFC 5681 §3.2, RFC 6675 §5, RFC 3168 §6.1.2; the states are those of Linux's `tcp_ca_state`.

/// What the sender is doing about losses. `point` is the highest sequence number sent when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum State {
    /// No loss known.
    Open,
    /// Fast recovery.
    Recovery { point: u64 },
    /// Reducing the window for a mark, with no loss known.
    Reduced {
        /// As above.
        point: u64,
    },
    /// Retransmitting after a timeout.
    Loss { point: u64 },
}

impl State {
    pub(in crate::tcp) fn is_recovery(self) -> bool {
        matches!(self, Self::Recovery { .. })
    }

    /// No loss is being repaired.
    pub(in crate::tcp) fn has_no_loss(self) -> bool {
        matches!(self, Self::Open | Self::Reduced { .. })
    }

    /// The window is being brought down to ssthresh.
    pub(in crate::tcp) fn is_reducing(self) -> bool {
        matches!(self, Self::Recovery { .. } | Self::Reduced { .. })
    }
}

/// What a timeout does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum TimeoutResponse {
    /// Nothing.
    Keep,
    /// The controller is told.
    Reduce,
    /// The controller is told; then the window is what is in flight and one segment more. `ssthresh`: the threshold to
    /// keep, if the timeout does not change it.
    OneMore {
        /// As above.
        ssthresh: Option<u64>,
    },
}
