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
    /// The last part of a wait that is spent asking for the time, at the least. Only for a thread that nothing else may
    /// interrupt: otherwise the scheduler takes its time slice back just when a packet is due.
    pub spin: Span,
}

impl Patience {
    /// For a thread under `SCHED_FIFO`.
    pub const FIFO: Self = Self { quantum: Span(30_000), spin: Span(50_000) };
    /// For a thread like any other.
    pub const PLAIN: Self = Self { quantum: Span(30_000), spin: Span::ZERO };
}

/// Of all time, at most this part (in percent) is spent awake. What is more is taken back by sleeping past the time at
/// which a packet is due, by a quantum. Without that, two things are lost: the hosts' processor, and the emulator's:
/// the kernel stops `SCHED_FIFO` threads for 50 ms once they have run for 95 % of a second ("RT throttling").
const MOST_AWAKE: i64 = 50;
/// Where little happens, so much more of a wait is spent asking for the time: an eighth, and at most this. Processors
/// sleep then, and a virtual one's timer may be a quarter of a millisecond late.
const MOST_SPIN: Span = Span(250_000);
const SPIN_SHARE: u64 = 8;
/// Time awake that may be saved up, or owed, in nanoseconds.
const MOST_SAVED: i64 = 1_000_000;
/// Most descriptors that are waited for: two devices, and what ends the loop.
const MOST_DESCRIPTORS: usize = 4;
/// Longest sleep, so that a step of the clock or a lost wake-up cannot stop the loop.
const MOST_SLEEP: Span = Span::from_millis(250);

/// `CLOCK_MONOTONIC`, in nanoseconds since an epoch of its own.
pub struct Monotonic {
    epoch: u64,
    patience: Patience,
    woken: Time,
    /// Time that may be spent awake yet, in nanoseconds.
    saved: i64,
}

impl Monotonic {
    /// A clock that starts at zero now.
    pub fn new(patience: Patience) -> Self {
        Self { epoch: monotonic_ns(), patience, woken: Time::ZERO, saved: MOST_SAVED }
    }

    /// Waits like a thread that others may interrupt.
    pub fn be_patient(&mut self) {
        self.patience = Patience::PLAIN;
    }

    /// What `CLOCK_MONOTONIC` showed at zero.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How long before `until` the thread is to be awake.
    fn spin(&self, until: Time) -> Span {
        let least = self.patience.spin;
        if least == Span::ZERO || self.saved <= 0 {
            return Span::ZERO;
        }
        least.max(MOST_SPIN.min(Span(until.since(self.woken).0 / SPIN_SHARE)))
    }

    fn sleep(&self, until: Time) {
        let at = TimeSpec::from_duration(std::time::Duration::from_nanos(self.epoch + until.0));
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, nix::time::ClockNanosleepFlags::TIMER_ABSTIME, &at);
    }

    /// Asks for the time until then, and up to `blind` for packets too: one ends it.
    fn stay_awake(&self, until: Time, blind: Time, readable: &[BorrowedFd<'_>]) {
        while self.now() < blind {
            if can_be_read(readable, Span::ZERO) {
                return;
            }
        }
        while self.now() < until {
            std::hint::spin_loop();
        }
    }

    /// Counts time awake and time asleep.
    fn save(&mut self, awake: Span, asleep: Span) {
        let gained = (asleep.0 as i64 * MOST_AWAKE - awake.0 as i64 * (100 - MOST_AWAKE)) / 100;
        self.saved = (self.saved + gained).clamp(-MOST_SAVED, MOST_SAVED);
    }

    /// Sleeps until then, or until one of the descriptors can be read; returns when that was.
    fn sleep_or_read(&mut self, until: Time, readable: &[BorrowedFd<'_>]) -> Time {
        if readable.is_empty() {
            self.sleep(until);
        } else {
            can_be_read(readable, until.since(self.now()));
        }
        self.now()
    }
}

/// Whether one of the descriptors can be read, now or within a time.
fn can_be_read(readable: &[BorrowedFd<'_>], within: Span) -> bool {
    let Some(first) = readable.first() else { return false };
    // No allocation for each wait.
    let of = |place: usize| PollFd::new(*readable.get(place).unwrap_or(first), PollFlags::POLLIN);
    let mut polled: [PollFd<'_>; MOST_DESCRIPTORS] = std::array::from_fn(of);
    let count = readable.len().min(MOST_DESCRIPTORS);
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(within.0.min(MOST_SLEEP.0)));
    ppoll(&mut polled[..count], Some(timeout), None).is_ok_and(|ready| ready > 0)
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Time {
        Time(monotonic_ns().saturating_sub(self.epoch))
    }

    fn wait(&mut self, until: Time, readable: &[BorrowedFd<'_>]) {
        let quantum = self.patience.quantum;
        let begun = self.now();
        self.save(begun.since(self.woken), Span::ZERO);
        let mut now = begun;
        let owes = self.saved <= 0;
        let rest = if owes { begun + quantum } else { self.woken + quantum };
        if now < rest && (owes || rest < until) {
            self.sleep(rest);
            now = self.now();
        }
        let spin = self.spin(until);
        if until - spin > now {
            now = self.sleep_or_read(until - spin, readable);
        }
        self.save(Span::ZERO, now.since(begun));
        self.woken = now;
        // Not if a packet has come: it may be due sooner.
        if until - spin <= now {
            self.stay_awake(until, until - spin.min(self.patience.spin), readable);
        }
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
    use std::os::fd::AsFd as _;

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
    fn who_is_awake_too_much_sleeps_past_what_is_due() {
        let mut clock = Monotonic::new(Patience::FIFO);
        clock.save(Span(3_000_000), Span(1_000_000));
        assert_eq!(clock.saved, 0, "half of all time");
        clock.woken = clock.now();
        let due = clock.now() + Span(5_000);
        clock.wait(due, &[]);
        assert!(clock.now() >= due + Span(20_000), "a quantum, though something was due");
        assert!(clock.saved > 0);
        clock.save(Span::ZERO, Span::from_millis(50));
        assert_eq!(clock.saved, MOST_SAVED, "a long sleep buys no long wake");
    }

    #[test]
    fn whichever_packet_comes_ends_a_wait() {
        use std::io::Write as _;
        use std::os::unix::net::UnixStream;
        let wakes_at_once = |patience, ready: usize| {
            let mut pairs = [0; 3].map(|_| UnixStream::pair().unwrap());
            pairs[ready].1.write_all(&[1]).unwrap();
            let mut clock = Monotonic::new(patience);
            let until = clock.now() + Span::from_secs(9);
            clock.wait(until, &pairs.each_ref().map(|(read, _)| read.as_fd()));
            clock.now() < Time::ZERO + MOST_SLEEP
        };
        for patience in [Patience::PLAIN, Patience::FIFO] {
            // Unless the machine stands still, each time.
            assert!((0..3).all(|ready| (0..9).any(|_| wakes_at_once(patience, ready))));
        }
        // Nor does it sleep longer than that, should a wake-up be lost.
        let (read, _silent) = UnixStream::pair().unwrap();
        let mut clock = Monotonic::new(Patience::PLAIN);
        clock.wait(Time(u64::MAX / 2), &[read.as_fd()]);
        assert!(clock.now() >= Time::ZERO + MOST_SLEEP && clock.now() < Time::ZERO + Span::from_secs(9));
    }

    #[test]
    fn where_little_happens_a_thread_wakes_earlier() {
        let mut clock = Monotonic::new(Patience::FIFO);
        let spins = |clock: &Monotonic| [100_000, 800_000, 9_000_000].map(|ns| clock.spin(clock.woken + Span(ns)).0);
        assert_eq!(spins(&clock), [50_000, 100_000, 250_000]);
        clock.saved = 0;
        assert_eq!(spins(&clock), [0; 3], "not on credit");
        clock.saved = MOST_SAVED;
        clock.be_patient();
        assert_eq!(spins(&clock), [0; 3]);
    }

    #[test]
    fn a_packet_that_comes_while_the_thread_is_awake_early_ends_its_wait() {
        let (read, mut written) = std::os::unix::net::UnixStream::pair().unwrap();
        let clock = Monotonic::new(Patience::FIFO);
        std::io::Write::write_all(&mut written, &[1]).unwrap();
        let until = clock.now() + Span::from_secs(5);
        clock.stay_awake(until, until, &[read.as_fd()]);
        assert!(clock.now() < until);
    }

    #[test]
    fn the_last_part_of_a_wait_is_spent_awake_only_by_a_thread_that_nothing_interrupts() {
        let mut clock = Monotonic::new(Patience::FIFO);
        let now = clock.now().0;
        assert!(now < 1_000_000_000 && monotonic_ns() - clock.epoch() >= now, "time zero is the beginning");
        let until = clock.now() + Span::from_millis(1);
        clock.wait(until, &[]);
        // It slept for 50 us less, and asked for the time until then.
        assert!(clock.now() >= until && clock.woken < clock.now());
        clock.be_patient();
        assert_eq!(clock.patience, Patience::PLAIN);
        // A quarter awake: what is awake is paid for with as much sleep.
        clock.saved = 0;
        clock.save(Span(100_000), Span(300_000));
        assert_eq!(clock.saved, 100_000);
        clock.save(Span(400_000), Span::ZERO);
        assert_eq!(clock.saved, -100_000);
        clock.save(Span::from_secs(1), Span::ZERO);
        assert_eq!(clock.saved, -MOST_SAVED, "nor is more owed than could be saved");
    }
}
