//! TCP timestamps against the capture's own clock.
//!
//! Capture time minus TSval is the delay from the sender to the observer, up to a constant. It needs no
//! acknowledgement and no rule for delayed ones or for holes, and it holds for retransmissions too, which are stamped
//! when they are sent. It is not in the method as published, which has only the receiver's clock
//! ([`super::tcp_report`]).
//!
//! A stamp of tick T only says that the packet was sent within T after it, so a delay is known to an interval (x − T,
//! x]. Round trips narrow that: the time since the packet that is echoed passed the observer, less the shortest such
//! time of the host, is never less than the delay, and equals it where the sender answered at once, as a sender that
//! is clocked by acknowledgements does.

/// A delay and how far it may be off, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Queueing delay.
    pub delay: f64,
    /// Half of the interval that it is known to lie in.
    pub error: f64,
}

/// The delay of a packet whose `excess` is its delay over the base (stamp's tick not counted) and whose round trip
/// exceeds the shortest by `round_trip`, if it echoed one.
///
/// Where the interval reaches down to nothing, an empty queue is the answer that needs no coincidence. Otherwise a
/// packet that carries the same stamp as the one before is taken to have been sent together with it, `phase` after its
/// stamp.
#[inline]
pub fn estimate(excess: f64, tick: f64, round_trip: Option<f64>, phase: Option<f64>) -> Estimate {
    let (low, high) = (excess - tick, excess);
    match round_trip {
        Some(bound) if bound > low && bound < high => {
            let delay = bound.max(0.0);
            Estimate { delay, error: ((bound - low.max(0.0)) / 2.0).max(0.0) }
        }
        _ if low <= 0.0 => Estimate { delay: 0.0, error: high.max(0.0) / 2.0 },
        _ => Estimate { delay: high - phase.unwrap_or(tick / 2.0), error: tick / 2.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_narrows_the_tick() {
        assert_eq!(estimate(10.7, 1.0, None, None), Estimate { delay: 10.2, error: 0.5 });
        assert_eq!(estimate(10.7, 1.0, Some(10.1), None).delay, 10.1);
        // A sender that waited before it answered says nothing.
        assert_eq!(estimate(10.7, 1.0, Some(150.0), None).delay, 10.2);
        assert_eq!(estimate(10.75, 1.0, None, Some(0.25)).delay, 10.5);
        assert_eq!(estimate(0.6, 1.0, Some(150.0), None).delay, 0.0);
    }
}
