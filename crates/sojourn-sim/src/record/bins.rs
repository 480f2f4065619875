//! What a link carried over time: by second for the spread of its utilisation, and in at most 512 bins for pictures.

use super::Histogram;
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
#[derive(Clone, Debug)]
pub struct Bins {
    start: Time,
    width: u64,
    /// The bins, but for what the present one has come to.
    series: Vec<Bin>,
    /// The bin asked for last, which is nearly always asked for again: its place, when it starts and for how long it lasts (zero: there
    /// is none).
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
        Self {
            start: Time::ZERO,
            width: width.0.max(1),
            series: Vec::new(),
            present: Bin::default(),
            place: 0,
            place_start: 0,
            place_width: 0,
            second: Time(SECOND),
            in_second: 0,
            seconds: Histogram::default(),
            squares: 0.0,
            total: 0,
        }
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

    /// Closes the seconds that end at or before `now`, and takes off what transmissions under way will carry later.
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
