//! Giving up a segment that comes too slowly: its connection is closed, and it is fetched again at a lower level.
//!
//! Source: GPAC's option `AllowAbort`, which is off unless set (`gf_dash_group_check_bandwidth` in
//! src/media_tools/dash_client.c, called from modules/mpd_in/mpd_in.c, of its releases 0.5.2 to 0.7.0, 2015 to 2017),
//! written from its behaviour. It holds for every algorithm. Whenever bytes come, a download is given up that
//! - is not of the lowest level, began at least 0.2 s ago, and has been slower than its nominal rate since the first
//!   byte; and
//! - will not end, at this speed, before the segments behind the one being played have been played; or ends now: a rest
//!   of less than a millisecond is taken for an unknown one, so that a slow segment is given up at its last byte at the
//!   latest.
//!
//! The next level is the highest below the speed times what is left of the segment's duration since the request; below
//! the greatest speed seen in this download once that duration is over.
//!
//! Not taken over: that nothing is given up while GPAC fills its buffer for the first time, if it is set to wait for
//! that.

/// A download is not looked at before.
const FROM_S: f64 = 0.2;
/// Rests that are shorter are not known to GPAC.
const UNKNOWN_S: f64 = 1e-3;

/// Where a download stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Level being fetched.
    pub(super) level: usize,
    /// Size of the segment.
    pub(super) bytes: u64,
    /// Bytes that have come.
    pub(super) done: u64,
    /// Since the request.
    pub(super) elapsed_s: f64,
    /// Since the first byte.
    pub(super) transfer_s: f64,
    /// Duration of a segment.
    pub(super) segment_s: f64,
    /// Seconds of video in the buffer.
    pub(super) buffer_s: f64,
}

/// Watches over one download.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    fastest_kbps: f64,
}

impl Watch {
    /// The level at which to begin again, if the download is to be given up.
    pub(super) fn look(&mut self, rates_kbps: &[f64], progress: &Progress) -> Option<usize> {
        let Progress { level, bytes, done, elapsed_s, transfer_s, segment_s, buffer_s } = *progress;
        // GPAC's clock has milliseconds.
        let kbps = done as f64 * 8e-3 / transfer_s.max(1e-3);
        self.fastest_kbps = self.fastest_kbps.max(kbps);
        if level == 0 || kbps > rates_kbps[level] || elapsed_s < FROM_S {
            return None;
        }
        let rest_s = (bytes - done) as f64 * 8e-3 / kbps;
        let waiting_s = ((buffer_s / segment_s).ceil() - 1.0).max(0.0) * segment_s;
        if rest_s >= UNKNOWN_S && rest_s < waiting_s {
            return None;
        }
        let left = 1.0 - elapsed_s / segment_s;
        let target = if left > 0.0 { (kbps * left).max(rates_kbps[0]) } else { self.fastest_kbps };
        Some(rates_kbps.iter().rposition(|rate| *rate < target).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [f64; 4] = [235.0, 380.0, 760.0, 1777.0];

    /// 1777 kb/s for 4 s, a quarter of it here after 1 s at 888 kb/s, a round trip of 0.5 s before.
    fn slow() -> Progress {
        Progress {
            level: 3,
            bytes: 888_500,
            done: 111_062,
            elapsed_s: 1.5,
            transfer_s: 1.0,
            segment_s: 4.0,
            buffer_s: 5.0,
        }
    }

    #[test]
    fn a_slow_download_is_given_up_for_what_can_still_be_fetched() {
        // 888.5 kb/s for the 2.5 s of 4 that are left: 555 kb/s.
        assert_eq!(Watch::default().look(&LADDER, &slow()), Some(1));
        // With 1.5 s passed and all over: the greatest speed so far.
        let mut watch = Watch { fastest_kbps: 900.0 };
        assert_eq!(watch.look(&LADDER, &Progress { elapsed_s: 4.0, ..slow() }), Some(2));
        // Nothing would do: the lowest.
        assert_eq!(Watch::default().look(&LADDER, &Progress { elapsed_s: 3.9, ..slow() }), Some(0));
    }

    #[test]
    fn it_goes_on_while_the_buffer_lasts() {
        // 7 s to come; behind the segment being played are 4 s, 8 s.
        let with = |buffer_s| Watch::default().look(&LADDER, &Progress { buffer_s, ..slow() });
        assert_eq!([8.0, 8.1].map(with), [Some(1), None]);
    }

    #[test]
    fn a_slow_segment_is_given_up_at_its_last_byte() {
        let all = Progress { done: 888_500, transfer_s: 8.0, elapsed_s: 8.5, buffer_s: 50.0, ..slow() };
        assert_eq!(Watch::default().look(&LADDER, &all), Some(2));
    }

    #[test]
    fn fast_young_and_lowest_downloads_go_on() {
        let look = |progress| Watch::default().look(&LADDER, &progress);
        assert_eq!(look(Progress { transfer_s: 0.4, ..slow() }), None);
        assert_eq!(look(Progress { elapsed_s: 0.19, ..slow() }), None);
        assert_eq!(look(Progress { level: 0, done: 10_000, ..slow() }), None);
    }
}
