//! What the flows of all protocols share: what was asked for, the hosts, the tracks and the log.

use crate::delay::discard::Discard;
use crate::delay::estimate::SentAt;
use crate::delay::host::Hosts;
use crate::delay::log::Log;
use crate::delay::log::entry::Entry;
use crate::delay::options::Options;
use crate::delay::protocol::Protocol;
use crate::delay::track::{Track, TrackRef};

/// No index.
pub(crate) const NONE: u32 = u32::MAX;

/// What the flows of all protocols write to.
#[derive(Default)]
pub(crate) struct MeterState {
    pub(crate) options: Options,
    pub(crate) hosts: Hosts,
    pub(crate) tracks: Vec<Track>,
    pub(crate) log: Log,
    /// Packets that cannot be counted under a host, by reason.
    pub(crate) discarded: [u64; Discard::ALL.len()],
    /// Packets between two hosts that the user both called local.
    pub(crate) between_local: u64,
    /// Places for packets that flows remember until they are answered.
    pub(crate) remembered: usize,
}

impl MeterState {
    /// Log a packet under a track, which is made when it is the first: then `of` tells which it is.
    #[inline]
    pub(crate) fn log<'a>(&mut self, track: &mut Option<u32>, of: impl FnOnce() -> TrackRef<'a>, entry: Entry) {
        let track = *track.get_or_insert_with(|| {
            self.tracks.push(Track::new(&of(), entry.time));
            self.tracks.len() as u32 - 1
        });
        self.log.push(track, entry);
    }

    /// Count a discarded packet under the host that sent it, or under none if the flow has no hosts yet.
    #[inline]
    pub(crate) fn discard(&mut self, host: u32, protocol: Protocol, why: Discard, count: u64) {
        match self.hosts.all.get_mut(host as usize) {
            Some(host) => host.stats(protocol).discarded[why as usize] += count,
            None => self.discarded[why as usize] += count,
        }
    }

    /// Of so many TCP packets to a host, whose own packets of that connection are in that track, the last of which was
    /// sent then, nothing tells when they arrived, as is seen now.
    #[inline]
    pub(crate) fn untold(&mut self, (host, track): (u32, Option<u32>), sent: SentAt, packets: u32, now: i64) {
        if let Some(host) = self.hosts.all.get_mut(host as usize) {
            host.stats(Protocol::Tcp).interpolation.untold(track.unwrap_or(NONE), sent, packets, now);
        }
    }

    /// Of a TCP segment with data to a host, which was sent then, nothing tells when it arrived, as is seen now; the
    /// track as above.
    #[inline]
    pub(crate) fn covered(&mut self, (host, track): (u32, Option<u32>), sent: SentAt, now: i64) {
        if let Some(host) = self.hosts.all.get_mut(host as usize) {
            host.stats(Protocol::Tcp).interpolation.covered(track.unwrap_or(NONE), sent, now);
        }
    }

    /// So many TCP packets without data to a host, the last of which was sent then, may have arrived or not; the track
    /// as above. Seldom, so that nothing is made ready for it.
    #[inline(never)]
    pub(crate) fn unproven(&mut self, (host, track): (u32, Option<u32>), sent: SentAt, packets: u32) {
        if let Some(host) = self.hosts.all.get_mut(host as usize) {
            host.stats(Protocol::Tcp).interpolation.unproven(track.unwrap_or(NONE), sent, packets);
        }
    }

    /// A TCP segment with data left for a host, perhaps `again`.
    #[inline]
    pub(crate) fn data(&mut self, host: u32, again: bool) {
        if let Some(host) = self.hosts.all.get_mut(host as usize) {
            host.stats(Protocol::Tcp).interpolation.data(again);
        }
    }

    /// A track gets no more entries.
    pub(crate) fn close(&mut self, track: &mut Option<u32>) {
        if let Some(track) = track.take().and_then(|track| self.tracks.get_mut(track as usize)) {
            track.closed = true;
        }
    }
}
