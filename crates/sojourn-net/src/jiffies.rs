//! When a timer of Linux expires: at a tick (jiffy), and never early.
//!
//! Source: Linux's timer wheel, by its rules ("Reinventing the timer wheel", LWN 2015): a wait is rounded up to whole
//! ticks (HZ 250: 4 ms) and counted from the tick in progress; it ends with the tick after. Waits of 64 ticks or more
//! end at every eighth tick only, waits of 512 or more at every sixty-fourth. Difference: the levels above are left
//! out.

use crate::{Span, Time};

pub(crate) const TICK: u64 = 4_000_000;

/// Ticks that a wait lasts, rounded up.
pub(crate) fn ticks(wait: Span) -> u64 {
    wait.0.div_ceil(TICK)
}

/// Ticks between which a wait of so many ends.
fn grain(ticks: u64) -> u64 {
    match ticks {
        0..64 => 1,
        64..512 => 8,
        _ => 64,
    }
}

/// When a timer expires that is set at `now` for `wait`.
pub(crate) fn expiry(now: Time, wait: Span) -> Time {
    let count = ticks(wait);
    let grain = grain(count);
    // Rounded down to a multiple of it, which is a power of two: without a division.
    Time(((now.0 / TICK + count + grain) & !(grain - 1)) * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_wait_ends_up_to_two_ticks_late_a_long_one_at_every_eighth() {
        let at = |now_ms: f64, wait_ms| expiry(Time((now_ms * 1e6) as u64), Span::from_millis(wait_ms)).0 as f64 / 1e6;
        assert_eq!(at(0.0, 40), 44.0);
        assert_eq!(at(3.9, 40), 44.0);
        assert_eq!(at(4.0, 40), 48.0);
        assert_eq!(at(1.0, 2), 8.0);
        assert_eq!(at(0.0, 256), 288.0);
        assert_eq!(at(28.0, 256), 288.0);
        assert_eq!(at(32.0, 256), 320.0);
        assert_eq!(at(0.0, 2048), 2304.0);
    }
}
