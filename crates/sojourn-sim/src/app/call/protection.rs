//! How much forward error correction a call sends, beside its repairs.
//!
//! Source: libwebrtc `media_opt_util.cc` (negative acknowledgements and FEC together), `fec_controller_default.cc`,
//! `send_side_bandwidth_estimation.cc`: by the largest loss of 20 packets or more that a receiver report of the last
//! ten seconds told of, and by the rate of a picture, scaled by its pixels to the power of -0.3, a share of all packets
//! out of a table (`fec_rate_table.h`); at least a fifth where pictures have two packets, at most half; twice as much
//! for key frames. Nothing below a round trip of 20 ms, and nothing below 200 ms for pictures of fewer than 400, 700 or
//! 1000 bytes (up to 352×288, up to 640×480, and beyond).
//! Differences: reports come with negative acknowledgements alone, as nearly all of Chromium 156 do; between the
//! table's rows and columns below, which are every few of its own, it is interpolated.

use super::packet::Reception;
use sojourn_net::{Span, Time};
use std::collections::VecDeque;

const MEMORY: Span = Span::from_secs(10);
/// Fewer packets are judged with those of the next report.
const LEAST_REPORTED: u32 = 20;
const LOW_RTT: Span = Span::from_millis(20);
const HIGH_RTT: Span = Span::from_millis(200);
/// Pixels that the table is for, and the exponent of others.
const REFERENCE: f64 = 704.0 * 576.0;
const EXPONENT: f64 = -0.3;
/// Shares in parts of 255: of what begins the pictures, and the most.
const LEAST: f64 = 51.0;
const MOST: f64 = 128.0;
const KEY: f64 = 2.0;
const PAYLOAD: f64 = 1460.0;
const MOST_FRAMES: f64 = 6.0;

/// Losses in parts of 255, and for each rate of a picture in kbit the share of all packets that are FEC, likewise.
const LOSSES: [f64; 16] = [0., 2., 4., 6., 8., 10., 12., 15., 18., 22., 26., 30., 38., 50., 65., 96.];
const SHARES: [(f64, [f64; 16]); 14] = [
    (5., [0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 11., 39., 39., 51.]),
    (10., [0., 0., 0., 0., 0., 0., 0., 0., 8., 8., 8., 8., 30., 56., 65., 87.]),
    (15., [0., 0., 0., 0., 0., 0., 0., 6., 23., 23., 23., 23., 44., 68., 85., 105.]),
    (20., [0., 0., 0., 0., 0., 5., 5., 19., 36., 41., 41., 41., 55., 80., 102., 116.]),
    (25., [0., 0., 0., 0., 4., 16., 16., 30., 47., 58., 58., 58., 63., 94., 122., 127.]),
    (30., [0., 0., 0., 0., 14., 27., 27., 41., 56., 69., 69., 69., 69., 106., 127., 127.]),
    (35., [0., 0., 3., 3., 28., 38., 38., 51., 63., 72., 76., 80., 80., 114., 127., 127.]),
    (45., [0., 0., 24., 24., 53., 53., 53., 61., 64., 70., 88., 106., 106., 124., 127., 127.]),
    (55., [0., 0., 43., 43., 53., 53., 53., 58., 58., 87., 97., 111., 125., 127., 127., 127.]),
    (65., [0., 4., 45., 45., 45., 45., 49., 74., 74., 90., 95., 120., 127., 127., 127., 127.]),
    (80., [0., 34., 38., 38., 42., 42., 72., 80., 80., 89., 114., 118., 127., 127., 127., 127.]),
    (105., [0., 29., 29., 56., 59., 70., 86., 89., 100., 116., 127., 127., 127., 127., 127., 127.]),
    (155., [0., 21., 42., 63., 66., 85., 85., 92., 108., 114., 127., 127., 127., 127., 127., 127.]),
    (250., [0., 27., 54., 67., 76., 85., 85., 85., 112., 121., 121., 127., 127., 127., 127., 127.]),
];

/// What is to be protected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protected {
    /// Of video and its protection together, in bit/s.
    pub(super) rate: f64,
    pub(super) fps: f64,
    pub(super) pixels: f64,
    pub(super) rtt: Span,
}

/// FEC packets for each packet of video, and of how many pictures together at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factors {
    pub(super) inter: f64,
    pub(super) key: f64,
    pub(super) frames: u32,
}

/// What was reported lost.
#[derive(Debug, Default)]
pub(super) struct Protection {
    /// What the last report of enough packets told.
    judged: Reception,
    /// Losses of ten seconds, in parts of 255.
    losses: VecDeque<(Time, f64)>,
}

impl Protection {
    /// A receiver reports.
    pub(super) fn reported(&mut self, told: Reception, now: Time) {
        let expected = told.expected - self.judged.expected;
        if expected >= LEAST_REPORTED {
            let lost = expected - (told.received - self.judged.received).min(expected);
            self.losses.push_back((now, (256.0 * f64::from(lost) / f64::from(expected)).floor().min(255.0)));
            self.judged = told;
        }
    }

    /// The largest loss of the last ten seconds, in parts of 255.
    fn worst(&mut self, now: Time) -> f64 {
        while self.losses.front().is_some_and(|(at, _)| now.since(*at) > MEMORY) {
            self.losses.pop_front();
        }
        self.losses.iter().map(|(_, loss)| *loss).fold(0.0, f64::max)
    }

    /// How much FEC is sent from now on, if any.
    pub(super) fn factors(&mut self, of: &Protected, now: Time) -> Option<Factors> {
        let loss = self.worst(now);
        let bits = of.rate / of.fps;
        let least_bytes = match of.pixels {
            ..=101_376.0 => 400.0,
            ..=307_200.0 => 700.0,
            _ => 1000.0,
        };
        if loss <= 0.0 || of.rtt < LOW_RTT || (bits / 8.0 < least_bytes && of.rtt < HIGH_RTT) {
            return None;
        }
        let least = if bits / 8.0 >= PAYLOAD / 2.0 { LEAST } else { 0.0 };
        let kbit = libm::pow(of.pixels / REFERENCE, EXPONENT) * bits / 1e3;
        let inter = share(kbit, loss).max(least).min(MOST);
        let key = (KEY * inter).max(share(KEY * kbit, loss)).max(loss).min(MOST);
        // Shares are of all packets, factors of those of video.
        let of_video = |share: f64| share / (255.0 - share);
        let frames = (2.0 * of.fps * of.rtt.as_secs() + 0.5).floor().clamp(1.0, MOST_FRAMES) as u32;
        Some(Factors { inter: of_video(inter), key: of_video(key), frames })
    }
}

/// The table's share for a picture's rate and a loss.
fn share(kbit: f64, loss: f64) -> f64 {
    let place = |points: &dyn Fn(usize) -> f64, count: usize, at: f64| {
        let next = (1..count - 1).find(|next| points(*next) > at).unwrap_or(count - 1);
        let (from, to) = (points(next - 1), points(next));
        (next, ((at - from) / (to - from)).clamp(0.0, 1.0))
    };
    let (row, down) = place(&|i| SHARES[i].0, SHARES.len(), kbit);
    let (column, along) = place(&|i| LOSSES[i], LOSSES.len(), loss);
    let of = |row: usize| {
        let shares = &SHARES[row].1;
        shares[column - 1] + along * (shares[column] - shares[column - 1])
    };
    of(row - 1) + down * (of(row) - of(row - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HD: f64 = 1280.0 * 720.0;

    fn factors(loss: f64, rate: f64, pixels: f64, rtt_ms: u64) -> Option<Factors> {
        let mut protection = Protection::default();
        protection.reported(Reception { expected: 1000, received: 1000 - (1000.0 * loss) as u32 }, Time::ZERO);
        protection.factors(&Protected { rate, fps: 30.0, pixels, rtt: Span::from_millis(rtt_ms) }, Time::ZERO)
    }

    #[test]
    fn it_grows_with_the_loss_from_a_fifth_to_a_half() {
        let inter = |loss| factors(loss, 1.5e6, HD, 60).map(|factors| factors.inter);
        assert_eq!(inter(0.0), None);
        let found = [0.01, 0.02, 0.08, 0.15, 0.5].map(|loss| inter(loss).unwrap());
        assert!(found.is_sorted(), "{found:?}");
        // A fifth of all packets are a quarter of those of video; a half are as many as they are.
        assert!((found[0] - 0.25).abs() < 1e-9 && (found[4] - 1.0).abs() < 0.02, "{found:?}");
        let key = factors(0.02, 1.5e6, HD, 60).unwrap().key;
        assert!((key - 102.0 / 153.0).abs() < 0.05, "{key}");
    }

    #[test]
    fn there_is_none_for_short_paths_and_small_pictures() {
        assert_eq!(factors(0.05, 1.5e6, HD, 19), None);
        assert_eq!(factors(0.05, 239e3, HD, 60), None);
        assert!(factors(0.05, 241e3, HD, 60).is_some() && factors(0.05, 239e3, HD, 200).is_some());
        let least = |pixels| (0..500).find(|kbps| factors(0.05, f64::from(*kbps) * 1e3, pixels, 60).is_some());
        assert_eq!([320.0 * 180.0, 640.0 * 360.0, HD].map(least), [96, 168, 240].map(Some));
        let frames = [30, 60, 90, 300].map(|rtt| factors(0.05, 1.5e6, HD, rtt).unwrap().frames);
        assert_eq!(frames, [2, 4, 5, 6]);
    }

    #[test]
    fn the_largest_loss_of_ten_seconds_counts() {
        let mut protection = Protection::default();
        let (mut told, at) = (Reception::default(), |s: u64| Time(s * 1_000_000_000));
        for s in 0..30 {
            told.expected += 100;
            told.received += if s == 5 { 80 } else { 98 };
            protection.reported(told, at(s));
            assert_eq!(protection.worst(at(s)), if (5..=15).contains(&s) { 51.0 } else { 5.0 }, "{s}");
        }
        assert_eq!((protection.worst(at(39)), protection.worst(at(40))), (5.0, 0.0));
        // Of fewer than 20 packets nothing is known until the next report.
        for received in [19, 0] {
            told = Reception { expected: told.expected + 19, received: told.received + received };
            protection.reported(told, at(50));
            assert_eq!(protection.worst(at(50)), if received == 19 { 0.0 } else { 128.0 });
        }
        assert_eq!((share(45.0, 26.0), share(2000.0, 96.0), share(1.0, 30.0)), (88.0, 127.0, 0.0));
        assert!((share(40.0, 26.0) - 82.0).abs() < 1e-9);
    }
}
