//! The tracks in which the packets of one side of a connection are logged: as the observer saw them, and as their
//! receiver reported.

use crate::delay::meter_state::{MeterState, NONE};

#[derive(Debug, Default)]
pub(crate) struct TrackPair {
    pub(crate) observed: Option<u32>,
    pub(crate) reported: Option<u32>,
}

impl TrackPair {
    /// Tracks are numbered anew: `map` gives the new number of each, if it still exists.
    pub(crate) fn renumber(&mut self, map: &[u32]) {
        for track in [&mut self.observed, &mut self.reported] {
            *track = track.and_then(|old| map.get(old as usize).copied()).filter(|&new| new != NONE);
        }
    }

    /// What follows is logged in tracks of its own.
    pub(crate) fn close(&mut self, state: &mut MeterState) {
        for track in [&mut self.observed, &mut self.reported] {
            state.close(track);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::estimate::Estimator;
    use crate::delay::host::Hosts;
    use crate::delay::log::Log;
    use crate::delay::log::entry::Entry;
    use crate::delay::options::Options;
    use crate::delay::protocol::Protocol;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    #[test]
    fn what_follows_a_change_of_clock_is_logged_in_new_tracks_of_both_estimators() {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let of = |estimator| TrackRef { key: &key, side, protocol: Protocol::Tcp, estimator, hosts: [0, 1] };
        let mut state = MeterState {
            options: Options::default(),
            hosts: Hosts::new(Vec::new()),
            tracks: Vec::new(),
            log: Log::default(),
            discarded: Default::default(),
            between_local: 0,
            remembered: 0,
        };
        let mut tracks = TrackPair::default();
        for _ in 0..2 {
            state.log(&mut tracks.observed, || of(Estimator::Observer), Entry::new(1, 0, 0, 0, None));
            state.log(&mut tracks.reported, || of(Estimator::Reported), Entry::new(1, 0, 0, 0, None));
            let open: Vec<bool> = state.tracks.iter().map(|track| !track.closed).collect();
            assert_eq!(open[open.len() - 2..], [true; 2]);
            tracks.close(&mut state);
            assert_eq!((tracks.observed, tracks.reported), (None, None));
            assert!(state.tracks.iter().all(|track| track.closed));
        }
        assert_eq!(state.tracks.len(), 4);
        // Of four tracks the first two are gone.
        (tracks.observed, tracks.reported) = (Some(1), Some(3));
        tracks.renumber(&[NONE, NONE, 0, 1]);
        assert_eq!((tracks.observed, tracks.reported), (None, Some(1)));
    }
}
