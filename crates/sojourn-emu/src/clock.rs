//! The clock that drives the loop: the kernel's, or one that a test moves.

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime, clock_nanosleep};
use sojourn_net::{Span, Time};
use std::os::fd::BorrowedFd;

/// Tells the time, and waits for it or for packets.
pub trait Clock {
    /// Now.
    fn now(&self) -> Time;

    /// Waits until `until`, or until one of the descriptors can be read, whichever comes first; may return early.
    fn wait(&mut self, until: Time, readable: &[BorrowedFd<'_>]);
}

/// How the loop waits, which is what the rights of the process decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The loop sleeps at least this long between two looks for packets, so that at high rates packets are taken in
    /// groups and the hosts get the processor.
    pub quantum: Span,
    /// The last part of a wait that is spent asking for the time. Only for a thread that nothing else may interrupt:
    /// otherwise the scheduler takes its time slice back just when a packet is due.
    pub spin: Span,
}

impl Patience {
    /// For a thread under `SCHED_FIFO`.
    pub const FIFO: Self = Self { quantum: Span(30_000), spin: Span(50_000) };
    /// For a thread like any other.
    pub const PLAIN: Self = Self { quantum: Span(30_000), spin: Span::ZERO };
}

/// Of each window of this length …
const WINDOW: Span = Span::from_millis(100);
/// … at most this much is spent asking for the time. The kernel stops a `SCHED_FIFO` thread that never sleeps for
/// 50 ms in each second ("RT throttling").
const MOST_SPINNING: Span = Span::from_millis(40);
/// Most descriptors that are waited for: two devices, and what ends the loop.
const MOST_DESCRIPTORS: usize = 4;
/// Longest sleep, so that a step of the clock or a lost wake-up cannot stop the loop.
const MOST_SLEEP: Span = Span::from_millis(250);

/// `CLOCK_MONOTONIC`, in nanoseconds since an epoch of its own.
pub struct Monotonic {
    epoch: u64,
    patience: Patience,
    woken: Time,
    window: Time,
    spun: Span,
}

impl Monotonic {
    /// A clock that starts at zero now.
    pub fn new(patience: Patience) -> Self {
        Self { epoch: monotonic_ns(), patience, woken: Time::ZERO, window: Time::ZERO, spun: Span::ZERO }
    }

    /// Waits like a thread that others may interrupt.
    pub fn be_patient(&mut self) {
        self.patience = Patience::PLAIN;
    }

    /// What `CLOCK_MONOTONIC` showed at zero.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    fn sleep(&self, until: Time) {
        let at = TimeSpec::from_duration(std::time::Duration::from_nanos(self.epoch + until.0));
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, nix::time::ClockNanosleepFlags::TIMER_ABSTIME, &at);
    }

    /// Whether there is still time of this window to spin in.
    fn may_spin(&mut self, now: Time) -> bool {
        if now.since(self.window) >= WINDOW {
            (self.window, self.spun) = (now, Span::ZERO);
        }
        self.spun < MOST_SPINNING
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time(monotonic_ns().saturating_sub(self.epoch))
    }

    fn wait(&mut self, until: Time, readable: &[BorrowedFd<'_>]) {
        let Patience { quantum, spin } = self.patience;
        let rest = self.woken + quantum;
        if rest < until && self.now() < rest {
            self.sleep(rest);
        }
        let now = self.now();
        let spins = spin > Span::ZERO && self.may_spin(now);
        let alarm = if spins { until - spin } else { until };
        if alarm > now {
            let Some(first) = readable.first() else {
                self.sleep(alarm);
                return;
            };
            // No allocation for each wait.
            let of = |place: usize| PollFd::new(*readable.get(place).unwrap_or(first), PollFlags::POLLIN);
            let mut polled: [PollFd<'_>; MOST_DESCRIPTORS] = std::array::from_fn(of);
            let count = readable.len().min(MOST_DESCRIPTORS);
            let left = alarm.since(now).0.min(MOST_SLEEP.0);
            let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left));
            let found = ppoll(&mut polled[..count], Some(timeout), None).unwrap_or(0);
            if found > 0 || self.now() < alarm {
                self.woken = self.now();
                return;
            }
        }
        if spins {
            let from = self.now();
            while self.now() < until {
                std::hint::spin_loop();
            }
            self.spun = self.spun + self.now().since(from);
        }
        self.woken = self.now();
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds, which is what the kernel stamps packets with.
#[inline]
pub fn monotonic_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |at| at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_time_and_not_before() {
        let mut clock = Monotonic::new(Patience::PLAIN);
        let until = clock.now() + Span::from_millis(3);
        for _ in 0..100 {
            if clock.now() >= until {
                break;
            }
            clock.wait(until, &[]);
        }
        assert!(clock.now() >= until);
    }

    #[test]
    fn a_window_has_only_so_much_spinning() {
        let mut clock = Monotonic::new(Patience::FIFO);
        assert!(clock.may_spin(Time(1)));
        clock.spun = MOST_SPINNING;
        assert!(!clock.may_spin(Time(2)));
        assert!(clock.may_spin(Time(2) + WINDOW), "a new window");
    }
}
