//! Fits of a track's stamps to the times at which its packets were seen, and those that they echo
//! ([`crate::delay::clock::tick`]).

use crate::delay::clock::tick::Fit;
use crate::delay::log::entry::Entry;
use crate::delay::track::Track;

/// Of tracks with more packets than this every eighth is fitted: more do not make a slope any better.
const FITTED: u64 = 512;

/// The fits of a track that packets are added to.
pub(crate) struct TickFits {
    pub(crate) fit: Fit,
    echo_fit: Fit,
    pub(crate) entries: u64,
}

impl TickFits {
    #[inline]
    pub(crate) fn of(track: &Track) -> Self {
        Self { fit: track.fit, echo_fit: track.echo_fit, entries: track.entries }
    }

    /// Count a packet as the observer saw it.
    #[inline]
    pub(crate) fn add(&mut self, entry: &Entry, start: i64) {
        if self.wants() {
            let seconds = (entry.time - start) as f64 / 1e9;
            self.fit.add(seconds, entry.stamp as f64);
            if let Some(extra) = entry.extra() {
                self.echo_fit.add(seconds - f64::from(extra) / 1e6, entry.stamp as f64);
            }
        }
    }

    /// Count a packet; whether it is fitted.
    #[inline]
    pub(crate) fn wants(&mut self) -> bool {
        self.entries += 1;
        self.entries <= FITTED || self.entries.is_multiple_of(8)
    }

    #[inline]
    pub(crate) fn leave(self, track: &mut Track) {
        (track.fit, track.echo_fit, track.entries) = (self.fit, self.echo_fit, self.entries);
    }
}
