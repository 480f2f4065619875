//! In what the published CoDels differ: one table for each source, to be read alone.
//!
//! Source: RFC 8289 §5; Linux `codel_impl.h`; ns-3's `CoDelQueueDisc`; ns-2.35 `codel.cc` and `sfqcodel.cc`; the
//! authors' ns-2 file of 2012; ACM Queue, May 2012. Differences: none beside those that [`super`] states.

use super::parameters::Variant;

/// The rules that are not the same in all published CoDels.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Time counts 1024 ns, √count is a 16-bit reciprocal, and `first_above_time` must have passed, not only come.
    pub(super) fixed_point: bool,
    /// How small a backlog is left alone.
    pub(super) small_backlog: SmallBacklog,
    /// `first_above_time` comes by the control law instead of an interval later if packets were dropped within eight
    /// intervals.
    pub(super) returns_early: bool,
    /// The first drop waits until a whole interval has passed since `first_above_time`, unless one was due just before.
    pub(super) hesitates: bool,
    /// Intervals since the last planned drop within which dropping resumes with `resumed_count`.
    pub(super) resumes_within: u64,
    /// The count with which dropping resumes, from `count` and `last_count`; `None`: with 1.
    pub(super) resumed_count: fn(u32, u32) -> Option<u32>,
    /// A drop whose successor is not late raises the count, too.
    pub(super) counts_last_drop: bool,
    /// After a mark the next one is planned from now, not from the time at which this one was due.
    pub(super) marks_from_now: bool,
    /// An empty queue ends the dropping state.
    pub(super) empty_ends_dropping: bool,
    /// An empty queue resets `first_above_time`.
    pub(super) empty_resets_first_above: bool,
}

/// The backlog that is left alone: less than a packet that fills the link's MTU.
#[derive(Clone, Copy)]
pub(super) enum SmallBacklog {
    /// At most the MTU.
    Mtu,
    /// Less than the MTU.
    BelowMtu,
    /// At most the largest packet seen, of at least 256 bytes.
    LargestPacket,
    /// Less than the largest packet seen, of at least 256 bytes.
    BelowLargestPacket,
}

const RFC8289: Rules = Rules {
    fixed_point: false,
    small_backlog: SmallBacklog::Mtu,
    returns_early: false,
    hesitates: false,
    resumes_within: 16,
    resumed_count: since_last_time,
    counts_last_drop: true,
    marks_from_now: false,
    empty_ends_dropping: false,
    empty_resets_first_above: true,
};

const LINUX: Rules = Rules { fixed_point: true, empty_ends_dropping: true, empty_resets_first_above: false, ..RFC8289 };

const NS3: Rules = Rules { small_backlog: SmallBacklog::BelowMtu, marks_from_now: true, ..LINUX };

const NS2_2012: Rules = Rules {
    small_backlog: SmallBacklog::LargestPacket,
    resumes_within: 16,
    resumed_count: |count, _| (count > 1).then(|| count - 1),
    ..RFC8289
};

const NS2_2013: Rules = Rules {
    returns_early: true,
    resumes_within: 8,
    resumed_count: |count, _| match count {
        0..=2 => None,
        3..=128 => Some(count - 2),
        _ => Some((0.9844 * f64::from(count)) as u32),
    },
    counts_last_drop: false,
    ..NS2_2012
};

const NS2_SFQ: Rules = Rules { returns_early: false, resumed_count: two_less, ..NS2_2013 };

const ACMQ2012: Rules = Rules {
    small_backlog: SmallBacklog::BelowLargestPacket,
    hesitates: true,
    resumes_within: 1,
    resumed_count: two_less,
    empty_ends_dropping: true,
    ..RFC8289
};

/// The drops since dropping began last time.
fn since_last_time(count: u32, last_count: u32) -> Option<u32> {
    let delta = count.wrapping_sub(last_count);
    (delta > 1 && delta <= count).then_some(delta)
}

fn two_less(count: u32, _: u32) -> Option<u32> {
    (count > 2).then(|| count - 2)
}

impl Variant {
    pub(super) const fn rules(self) -> Rules {
        match self {
            Self::Rfc8289 => RFC8289,
            Self::Linux => LINUX,
            Self::Ns3 => NS3,
            Self::Ns2_2013 => NS2_2013,
            Self::Ns2_2012 => NS2_2012,
            Self::Acmq2012 => ACMQ2012,
            Self::Ns2Sfq => NS2_SFQ,
        }
    }
}
