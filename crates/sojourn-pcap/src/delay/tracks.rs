//! The tracks in which the packets of one side of a connection are logged: as the observer saw them, and as their
//! receiver reported.

use crate::delay::state::{MeterState, NONE};

#[derive(Debug, Default)]
pub(crate) struct Tracks {
    pub(crate) observed: Option<u32>,
    pub(crate) reported: Option<u32>,
}

impl Tracks {
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
