//! One side of a TCP connection: its packets that wait for an answer, and the tracks in which they are logged.

use crate::delay::estimate::tcp_arrival::InFlight;
use crate::delay::estimate::tcp_report::Reports;
use crate::delay::flow::echoes::Echoes;
use crate::delay::flow::track_pair::TrackPair;
use crate::delay::meter_state::MeterState;

#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) echoes: Echoes,
    pub(super) tracks: TrackPair,
    pub(super) reports: Reports,
    pub(super) in_flight: InFlight,
    /// Places of these queues, as counted for all flows together.
    places: usize,
}

impl Side {
    /// The clock was set or the route changed: what follows is measured from a base of its own.
    pub(super) fn restart(&mut self, state: &mut MeterState) {
        self.tracks.close(state);
        self.forget(state);
    }

    /// Its queues may have grown: count their places among those of all flows.
    #[inline]
    pub(super) fn count_places(&mut self, state: &mut MeterState) {
        let places = self.echoes.places() + self.reports.places() + self.in_flight.places();
        state.remembered += places - std::mem::replace(&mut self.places, places);
    }

    /// What waits for an answer waits no longer.
    pub(super) fn forget(&mut self, state: &mut MeterState) {
        state.remembered -= std::mem::take(&mut self.places);
        (self.reports, self.in_flight, self.echoes) = Default::default();
    }
}
