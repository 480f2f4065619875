//! What a link carried over time: by second for the spread of its utilisation, and in at most 512 bins for pictures.

use super::histogram::Histogram;
use sojourn_net::{Span, Time};

const SECOND: u64 = 1_000_000_000;

/// One bin of the time series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Bytes carried × 2²⁰, so that parts of a packet count.
    bytes: u64,
    /// Sum of the times in the queue of packets that left, in nanoseconds.
    waited: u128,
    left: u64,
    /// Packets dropped.
    pub dropped: u64,
}

impl Bin {
    /// Bytes carried.
    pub fn bytes(&self) -> f64 {
        self.bytes as f64 / (1u64 << 20) as f64
    }

    /// Mean time in the queue in nanoseconds of the packets that left it; `None` if none left.
    pub fn mean_wait(&self) -> Option<f64> {
        (self.left > 0).then(|| self.waited as f64 / self.left as f64)
    }
}

/// Running sums of one link.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    start: Time,
    width: u64,
    /// The bins, but for what the present one has come to.
    series: Vec<Bin>,
    /// The bin asked for last, which is nearly always asked for again: its place, when it starts and for how long it
    /// lasts (zero: there is none).
    present: Bin,
    place: usize,
    place_start: u64,
    place_width: u64,
    second: Time,
    in_second: u64,
    /// Bytes carried in each whole second.
    seconds: Histogram,
    squares: f64,
    total: u64,
}

/// The part of `weight` that falls to `part` of `whole`.
fn share(weight: u64, part: Span, whole: Span) -> u64 {
    (u128::from(weight) * u128::from(part.0) / u128::from(whole.0.max(1))) as u64
}

impl Bins {
    /// Bins of `width`.
    pub fn new(width: Span) -> Self {
        Self { width: width.0.max(1), second: Time(SECOND), ..Self::default() }
    }

    /// Starts anew at `now`. What a transmission already under way carries from now on is not counted.
    pub fn reset(&mut self, now: Time) {
        *self = Self { start: now, second: now + Span(SECOND), ..Self::new(Span(self.width)) };
    }

    /// The width of a bin.
    pub fn width(&self) -> Span {
        Span(self.width)
    }

    /// The series, once it is finished.
    pub fn series(&self) -> &[Bin] {
        &self.series
    }

    /// Bytes carried since the reset (up to the end of the last transmission started).
    pub fn bytes(&self) -> f64 {
        self.total as f64 / (1u64 << 20) as f64
    }

    /// Bytes carried in each whole second.
    pub fn seconds(&self) -> &Histogram {
        &self.seconds
    }

    /// Standard deviation of the bytes carried in a second.
    pub fn seconds_sd(&self) -> f64 {
        let n = self.seconds.count() as f64;
        if n < 2.0 {
            return 0.0;
        }
        let mean = self.seconds.mean();
        ((self.squares / n - mean * mean).max(0.0) * n / (n - 1.0)).sqrt()
    }

    /// Closes the seconds that end at or before `now`, and takes off what transmissions under way will carry later: by
    /// time, as if the rate did not change within one, which may be up to a packet off.
    pub fn finish(&mut self, now: Time, later: (Time, Time, u32)) {
        self.close_seconds(now);
        self.put_back();
        let (start, end, bytes) = later;
        if end > now && end > start {
            let part = share(u64::from(bytes) << 20, end.since(now), end.since(start));
            self.total = self.total.saturating_sub(part);
            let last = self.index(end);
            if let Some(bin) = self.series.get_mut(last) {
                bin.bytes = bin.bytes.saturating_sub(part);
            }
        }
    }

    fn index(&self, now: Time) -> usize {
        (now.since(self.start).0 / self.width) as usize
    }

    /// The bin of `now`.
    #[inline]
    fn bin(&mut self, now: Time) -> &mut Bin {
        if now.0.wrapping_sub(self.place_start) >= self.place_width {
            self.turn_to(now);
        }
        &mut self.present
    }

    #[cold]
    fn turn_to(&mut self, now: Time) {
        self.put_back();
        self.place = self.index(now);
        self.place_start = self.start.0 + self.place as u64 * self.width;
        self.place_width = self.width;
        if self.place >= self.series.len() {
            self.series.resize(self.place + 1, Bin::default());
        }
        self.present = self.series[self.place];
    }

    /// Puts the present bin into the series; there is none then.
    fn put_back(&mut self) {
        if std::mem::take(&mut self.place_width) > 0 {
            self.series[self.place] = self.present;
        }
    }

    #[cold]
    fn close_seconds(&mut self, now: Time) {
        while self.second <= now {
            let bytes = self.in_second >> 20;
            self.seconds.add(bytes);
            self.squares += bytes as f64 * bytes as f64;
            self.in_second = 0;
            self.second += Span(SECOND);
        }
    }

    /// A transmission of `bytes` from `start` to `end`.
    #[inline]
    pub(super) fn carry(&mut self, start: Time, end: Time, bytes: u32) {
        let weight = u64::from(bytes) << 20;
        self.total += weight;
        if end <= self.second {
            self.in_second += weight;
        } else {
            self.close_seconds(start);
            let mut from = start;
            let mut left = weight;
            while self.second < end {
                let part = share(weight, self.second.since(from), end.since(start));
                self.in_second += part;
                left -= part;
                from = self.second;
                self.close_seconds(from);
            }
            self.in_second += left;
        }
        self.bin(end).bytes += weight;
    }

    #[inline]
    pub(super) fn waited(&mut self, now: Time, sojourn: Span) {
        let bin = self.bin(now);
        bin.waited += u128::from(sojourn.0);
        bin.left += 1;
    }

    pub(super) fn dropped(&mut self, now: Time) {
        self.bin(now).dropped += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: (Time, Time, u32) = (Time::ZERO, Time::ZERO, 0);

    fn second(tenths: u64) -> Time {
        Time(tenths * 100_000_000)
    }

    #[test]
    fn the_standard_deviation_is_that_of_a_sample() {
        let mut bins = Bins::new(Span::from_secs(1));
        bins.carry(second(12), second(13), 2);
        bins.finish(second(20), END);
        assert!((bins.seconds_sd() - 2f64.sqrt()).abs() < 1e-12, "0 and 2 bytes: {}", bins.seconds_sd());
        let mut one = Bins::new(Span::from_secs(1));
        one.carry(second(2), second(3), 2);
        one.finish(second(19), END);
        assert_eq!((one.seconds().count(), one.seconds_sd()), (1, 0.0));
    }

    #[test]
    fn bins_and_seconds_start_at_the_reset() {
        let mut bins = Bins::new(Span::from_secs(2));
        bins.carry(second(1), second(2), 700);
        bins.dropped(second(2));
        bins.waited(second(2), Span(50));
        bins.reset(second(5));
        bins.waited(second(5), Span(10));
        bins.waited(second(24), Span(30));
        bins.carry(second(24), second(25), 100);
        bins.dropped(second(25));
        bins.waited(second(7), Span(20));
        bins.finish(second(45), END);
        let found: Vec<_> = bins.series().iter().map(|bin| (bin.mean_wait(), bin.bytes(), bin.dropped)).collect();
        assert_eq!(found, [(Some(20.0), 0.0, 0), (None, 100.0, 1)]);
        assert_eq!((bins.bytes(), bins.seconds().count(), bins.seconds().max()), (100.0, 4, 100));
    }

    #[test]
    fn what_a_transmission_carries_after_the_end_is_taken_off() {
        let mut bins = Bins::new(Span::from_secs(1));
        bins.carry(second(8), second(12), 400);
        bins.finish(second(9), (second(8), second(12), 400));
        assert_eq!(bins.bytes(), 100.0);
        assert_eq!(bins.series()[1].bytes(), 100.0);
        let mut over = Bins::new(Span::from_secs(1));
        over.carry(second(8), second(12), 400);
        over.finish(second(12), (second(8), second(12), 400));
        assert_eq!(over.bytes(), 400.0);
    }

    #[test]
    fn a_transmission_across_a_second_counts_in_both() {
        let mut bins = Bins::new(Span::from_secs(1));
        bins.carry(Time(500_000_000), Time(1_250_000_000), 1500);
        bins.carry(Time(1_250_000_000), Time(1_500_000_000), 400);
        bins.finish(Time(3_000_000_000), (Time::ZERO, Time::ZERO, 0));
        assert_eq!(bins.seconds().count(), 3);
        assert_eq!(bins.seconds().max(), 1000);
        assert!((bins.seconds().mean() - 1900.0 / 3.0).abs() < 1.0);
        assert!((bins.bytes() - 1900.0).abs() < 1e-6);
    }
}
