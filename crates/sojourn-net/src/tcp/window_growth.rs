//! How Linux's receive window grows, as far as it decides what is acknowledged at once.
//!
//! Source: dynamic right-sizing (Fisk and Feng, 2001), as Linux has it (`tcp_input.c`), by its rules, as seen on Linux
//! 6.18:
//! - The window offered is half of the buffer at first. It grows with each segment that arrives, by two of them, up to
//!   what the buffer has room for.
//! - The buffer is 128 KiB at first, of which data takes 0.628 (1448 bytes take 2304 of memory). Once a round trip, if
//!   the application has read more than in any before, it grows: to twice of what was read, and by as much more as that
//!   has grown (a sender in slow start doubles what it sends). The most is 6 MiB (`tcp_rmem`), or what it was at first.
//!   What has arrived up to the farthest byte beyond a hole comes on top, with each segment beyond a hole too.
//! - The round trip is that of timestamps: the least, or, if it has become longer, smoothed by an eighth.
//!
//! Differences: the sender is told of [`receive_window`](super::Config::receive_window) and not of this one, which
//! seldom limits it; the application reads at once; memory is that of Ethernet's segments, whatever their size; without
//! timestamps the buffer stays as it is.

use crate::{Span, Time};

/// The largest buffer, if it was no larger at first.
const MOST: u64 = 6 << 20;
/// Data of less does not let it grow.
const LEAST: u32 = 128;
/// Segments that the application is thought to have read in the round trip before the first.
const INITIAL_SEGMENTS: u64 = 10;

/// Data that a buffer of this size has room for.
const fn data(buffer: u64) -> u64 {
    buffer * 1448 / 2304
}

/// The window that one receiver offers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowGrowth {
    offered: u64,
    pub(super) room: u64,
    most: u64,
    /// Smoothed round trip; zero before the first sample.
    round_trip: Span,
    /// The stamp of the last sample: of what answers one, only the first counts.
    echo: Time,
    /// Since when, and from where on, what was read is counted; most that was read in a round trip so far.
    since: Time,
    from: u64,
    read: u64,
}

impl WindowGrowth {
    /// Segments have `mss` bytes, the buffer `first` at first; the window is `most` at most.
    pub(super) fn new(mss: u32, first: u64, most: u64) -> Self {
        Self {
            offered: (first / 2).min(most),
            room: data(first).min(most),
            most: data(first.max(MOST)).min(most),
            round_trip: Span::ZERO,
            echo: Time::NEVER,
            since: Time::ZERO,
            from: 1,
            read: INITIAL_SEGMENTS * u64::from(mss),
        }
    }

    /// A segment of data arrived, `held` bytes being beyond holes. True if the window grows.
    pub(super) fn on_data(&mut self, payload: u32, held: impl FnOnce() -> u64) -> bool {
        if payload < LEAST || self.offered >= self.room {
            return false;
        }
        let room = self.room.saturating_sub(held());
        if self.offered >= room {
            return false;
        }
        self.offered = room.min(self.offered + 2 * u64::from(payload));
        true
    }

    /// A full segment arrived that answers what was sent at `echo`; `NEVER` if that is not known.
    pub(super) fn on_echo(&mut self, now: Time, echo: Time) {
        if echo != Time::NEVER && echo != self.echo {
            self.echo = echo;
            self.on_round_trip(now.since(echo));
        }
    }

    pub(super) fn on_round_trip(&mut self, sample: Span) {
        let known = self.round_trip;
        self.round_trip =
            if known == Span::ZERO || sample < known { sample } else { Span(known.0 - known.0 / 8 + sample.0 / 8) };
    }

    /// The application has read all before `next`; data that is there beyond holes ends `ahead` bytes later.
    #[inline]
    pub(super) fn on_read(&mut self, now: Time, next: u64, ahead: impl FnOnce() -> u64) {
        if self.round_trip == Span::ZERO || now < self.since + self.round_trip {
            return;
        }
        let read = next - self.from;
        (self.since, self.from) = (now, next);
        if read > self.read {
            let twice = 2 * read;
            let growth = 2 * (u128::from(twice) * u128::from(read - self.read) / u128::from(self.read)) as u64;
            self.read = read;
            self.make_room(twice + growth + ahead());
        }
    }

    /// A segment has arrived beyond a hole; data that is there ends `ahead` bytes after what is expected.
    pub(super) fn on_gap(&mut self, ahead: u64) {
        self.make_room(2 * self.read + ahead);
    }

    fn make_room(&mut self, wanted: u64) {
        self.room = self.room.max(wanted.min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    /// Counts the segments that it grows with.
    fn grown(window: &mut WindowGrowth) -> usize {
        (0..10_000).take_while(|_| window.on_data(MSS, || 0)).count()
    }

    #[test]
    fn it_grows_by_two_segments_with_each_until_a_buffer_of_128_kib_is_full() {
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        assert!(!window.on_data(127, || 0), "too little");
        assert!(window.on_data(MSS, || 0));
        assert_eq!(window.offered, 65_536 + 2896);
        assert_eq!(grown(&mut window), 5, "as seen: 82 kB after six segments");
        assert_eq!(window.offered, 82_375);
        assert_eq!(grown(&mut WindowGrowth::new(MSS, 128 << 10, 70_000)), 2, "no further than asked");
        assert_eq!(grown(&mut WindowGrowth::new(MSS, 128 << 10, 20_000)), 0);
        assert_eq!(grown(&mut WindowGrowth::new(MSS, 4 << 20, u64::MAX)), 187, "as seen: from 2.1 to 2.6 MB");
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        assert!(!window.on_data(MSS, || 16_839), "what is held beyond holes takes the room");
        assert!(window.on_data(MSS, || 16_838));
    }

    /// By the first 80 ms of a captured connection (30 ms of round trip): from its 34th segment on it grows again.
    #[test]
    fn once_a_round_trip_the_buffer_follows_what_was_read() {
        let ms = |ms: u64| Time(ms * 1_000_000);
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        window.on_round_trip(Span::from_millis(30));
        assert_eq!(grown(&mut window), 6);
        window.on_read(ms(29), 14_481, || 0);
        assert_eq!((window.since, window.read), (Time::ZERO, 14_480), "not yet a round trip");
        window.on_read(ms(30), 15_929, || 0);
        assert_eq!((window.since, window.read), (ms(30), 15_928));
        assert_eq!(grown(&mut window), 0, "twice of that is less than there is");
        window.on_read(ms(61), 47_785, || 0);
        // 31,856 bytes were read, twice of what was: 2 × 31,856 × (1 + 2).
        assert_eq!(window.room, 191_136);
        assert_eq!(grown(&mut window), 38);
        window.on_read(ms(92), 47_785 + 31_856, || 9999);
        assert_eq!((window.room, window.from), (191_136, 79_641), "no more than before");
        window.on_read(ms(123), 79_641 + 31_857, || 200_000);
        assert_eq!(window.room, 2 * 31_857 + 3 + 1 + 200_000, "what lies beyond holes will be read as well");
        for k in 4..40 {
            window.on_read(ms(31 * k), 111_498 + (1 << k), || 0);
        }
        assert_eq!(window.room, data(MOST));
    }

    #[test]
    fn a_segment_beyond_a_hole_makes_room_for_what_has_arrived_up_to_it() {
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        window.on_gap(53_000);
        assert_eq!(window.room, 82_375, "two initial windows and this are less than there is");
        window.on_gap(60_000);
        assert_eq!(window.room, 2 * 14_480 + 60_000);
        window.on_gap(1);
        assert_eq!(window.room, 2 * 14_480 + 60_000);
        window.on_gap(MOST);
        assert_eq!(window.room, data(MOST));
    }

    #[test]
    fn without_a_round_trip_the_buffer_stays() {
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        window.on_read(Time(1_000_000_000), 1_000_000, || 0);
        assert_eq!(window.room, 82_375);
    }

    #[test]
    fn of_several_segments_that_echo_one_stamp_the_first_tells_the_round_trip() {
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        for (now, echo, is) in [(9, u64::MAX, 0), (80, 0, 80), (99, 0, 80), (240, 80, 90)] {
            window.on_echo(Time(now), Time(echo));
            assert_eq!(window.round_trip, Span(is));
        }
    }

    #[test]
    fn the_round_trip_falls_at_once_and_rises_by_an_eighth() {
        let mut window = WindowGrowth::new(MSS, 128 << 10, u64::MAX);
        for (sample, is) in [(80, 80), (160, 90), (40, 40), (40, 40)] {
            window.on_round_trip(Span::from_millis(sample));
            assert_eq!(window.round_trip, Span::from_millis(is));
        }
    }
}
