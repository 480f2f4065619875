//! Where stacks depart from the standards, or differ where those leave a choice.
//!
//! Each method is a rule that the sender asks about; the standards' answer stands here, Linux's in [`linux`].

mod linux;
mod tso;

use super::config::Stack;
use super::loss::frto::{LossAck, Verdict};
use super::loss::prr::Prr;
use super::loss::state::{State, TimeoutResponse};
use crate::Time;
use crate::congestion::Window;
use linux::Linux;
pub(super) use tso::Room;

/// The habits of one sender, and what they remember, which lies elsewhere: most senders have none.
#[derive(Debug)]
pub(super) enum Policy {
    /// What the standards say.
    Standard,
    /// What Linux does.
    Linux(Box<Linux>),
}

impl Policy {
    pub(super) fn new(stack: Stack) -> Self {
        match stack {
            Stack::Plain => Self::Standard,
            Stack::Linux => Self::Linux(Box::new(Linux::new())),
        }
    }

    /// SACK blocks are taken in before the cumulative acknowledgement, which decides which round trip RACK goes by.
    #[inline]
    pub(super) fn sack_first(&self) -> bool {
        matches!(self, Self::Linux(_))
    }

    /// An acknowledgement begins; `dsack`: it reports that something arrived twice.
    #[inline]
    pub(super) fn begin_ack(&mut self, dsack: bool) {
        if let Self::Linux(linux) = self {
            linux.begin_ack(dsack);
        }
    }

    /// Proportional rate reduction begins: RFC 6937 counts what was outstanding.
    pub(super) fn prr(&self, window: Window, outstanding: u64) -> Prr {
        match self {
            Self::Standard => Prr::begin(outstanding, false),
            Self::Linux(_) => Prr::begin(window.cwnd, true),
        }
    }

    /// What counts as delivered when the timer for reordering begins a recovery: nothing, as no ACK has come. Linux
    /// counts a segment (`tcp_rack_reo_timeout` reduces the window as for one that was delivered).
    pub(super) fn delivered_by_timer(&self, mss: u32) -> u64 {
        match self {
            Self::Standard => 0,
            Self::Linux(_) => u64::from(mss),
        }
    }

    /// Fast recovery begins in this window, with so many retransmitted segments in flight.
    pub(super) fn on_recovery(&mut self, window: Window, in_doubt: u64) {
        if let Self::Linux(linux) = self {
            linux.on_recovery(window, in_doubt);
        }
    }

    /// A segment is sent again.
    #[inline]
    pub(super) fn on_resend(&mut self, now: Time) {
        if let Self::Linux(linux) = self {
            linux.undo.on_resend(now);
        }
    }

    /// The retransmission timer expired, `again` for the same data. A segment that times out again leaves ssthresh
    /// alone (RFC 5681 §3.1, below equation 4).
    pub(super) fn on_timeout(&mut self, state: State, again: bool, window: Window, in_doubt: u64) -> TimeoutResponse {
        match self {
            Self::Standard if again => TimeoutResponse::Keep,
            Self::Standard => TimeoutResponse::Reduce,
            Self::Linux(linux) => linux.on_timeout(state, again, window, in_doubt),
        }
    }

    /// What an acknowledgement after a timeout says of that; `echo` is the timestamp that it echoes.
    #[inline]
    pub(super) fn on_loss_ack(&mut self, echo: Time, ack: impl FnOnce() -> LossAck) -> Verdict {
        match self {
            Self::Standard => Verdict::Repair,
            Self::Linux(linux) => linux.on_loss_ack(echo, ack()),
        }
    }

    /// The window to return to, if the last reduction turns out to have been needless.
    #[inline]
    pub(super) fn undo(&mut self, echo: Time) -> Option<Window> {
        match self {
            Self::Standard => None,
            Self::Linux(linux) => linux.undo.is_needless(echo).then(|| linux.undo.take()).flatten(),
        }
    }

    /// The window to return to after a timeout that was spurious.
    pub(super) fn undo_timeout(&mut self) -> Option<Window> {
        match self {
            Self::Standard => None,
            Self::Linux(linux) => linux.undo.take(),
        }
    }

    /// New data comes before repairs (F-RTO).
    #[inline]
    pub(super) fn new_data_first(&self) -> bool {
        matches!(self, Self::Linux(linux) if linux.frto.has_turned())
    }

    /// New data has had its turn: nothing else until the next acknowledgement (F-RTO).
    pub(super) fn waits_for_ack(&self) -> bool {
        matches!(self, Self::Linux(linux) if linux.frto.waits())
    }

    /// No more new data may be sent before repairs; `sent`: some has been. True if nothing else is to be sent either.
    pub(super) fn on_no_new_data(&mut self, sent: bool) -> bool {
        match self {
            Self::Standard => false,
            Self::Linux(linux) => linux.frto.on_no_new_data(sent),
        }
    }

    /// The segment that leaves now is the last of several.
    #[inline]
    pub(super) fn is_last_of_burst(&self, now: Time) -> bool {
        matches!(self, Self::Linux(linux) if linux.tso.is_last(now))
    }

    /// New data that fits the window leaves at once: alone, or as one of a burst that has begun.
    #[inline]
    pub(super) fn goes_on(&mut self, now: Time) -> bool {
        match self {
            Self::Standard => true,
            Self::Linux(linux) => linux.tso.goes_on(now),
        }
    }

    /// Other data that fits the window waits all the same, so that more can leave at once.
    #[inline]
    pub(super) fn defers(&mut self, now: Time, room: &Room) -> bool {
        match self {
            Self::Standard => false,
            Self::Linux(linux) => linux.tso.should_defer(now, room),
        }
    }

    /// New data carries PSH: it ends a burst, or is the last that was written.
    #[inline]
    pub(super) fn pushes(&self, ends_burst: bool, last: bool) -> bool {
        matches!(self, Self::Linux(_)) && (ends_burst || last)
    }
}
