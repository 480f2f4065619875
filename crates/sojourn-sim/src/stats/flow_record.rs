//! The table of connections: one row for each, with what its sender's window did and how many packets it lost.
//!
//! The congestion window is sampled at each acknowledgement that advances, as a probe in a kernel's ACK path samples
//! it; the initial slow-start threshold is the first that is finite at such a sample. Of the two ends the one that
//! delivered more counts as the sender. Packets and losses are those of the link that the sender's data crosses, the
//! handshake's and acknowledgements of its own included, so they are what grouping the packet log by flow gives. Times
//! are those of the client's clock, shifted by its distance from the link.

use super::table::table;
use crate::engine::direction::{Direction, End};
use sojourn_net::Time;
use sojourn_net::tcp::{Endpoint, Sender};

table! {
    /// One row per connection.
    FlowTable of FlowRow {
        /// The flow's number.
        flow: u32,
        /// Which way its data goes: 0 = down, 1 = up.
        link: u8,
        /// Payload bytes delivered in order.
        bytes: u64,
        /// Packets that arrived at the first link of the path that it crosses.
        packets: u32,
        /// Packets dropped there and at the links behind it.
        lost: u32,
        /// Segments sent again.
        retransmits: u32,
        /// When the connection was opened.
        start_ns: u64,
        /// When it had closed at both ends; −1 if it was open at the end of the run.
        end_ns: i64,
        /// Mean congestion window in segments; NaN without a sample.
        mean_cwnd_pkts: f64,
        /// First finite slow-start threshold in segments; NaN if there was none.
        initial_ssthresh_pkts: f64,
        /// Mean of the round-trip times measured; 0 without one.
        mean_rtt_ns: u64,
    }
}

/// Samples of one end's window.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    count: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
}

/// What is kept of one place for connections.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: Time,
    ends: [Samples; 2],
}

/// The table, and the connections that are open.
#[derive(Clone, Debug, Default)]
pub struct FlowRecord {
    table: FlowTable,
    places: Vec<Place>,
}

impl FlowRecord {
    /// A connection was opened in a place.
    pub(crate) fn opened(&mut self, now: Time, slot: u32) {
        let slot = slot as usize;
        if slot >= self.places.len() {
            self.places.resize(slot + 1, Place::default());
        }
        self.places[slot] = Place { start: now, ..Place::default() };
    }

    /// An acknowledgement advanced at one end.
    #[inline]
    pub(crate) fn acknowledged(&mut self, slot: u32, end: End, sender: &Sender) {
        let samples = &mut self.places[slot as usize].ends[end as usize];
        let window = sender.window();
        samples.count += 1;
        samples.cwnd += window.cwnd;
        if samples.ssthresh.is_none() && window.ssthresh < u64::MAX {
            samples.ssthresh = Some(window.ssthresh);
        }
    }

    /// A connection has closed, or the run has with `ended` none. `counts`: by direction, packets and losses.
    pub(crate) fn closed(
        &mut self,
        (slot, flow): (u32, u32),
        ended: Option<Time>,
        ends: &[Endpoint; 2],
        mss: u32,
        counts: [[u32; 2]; 2],
    ) {
        let [to_client, to_server] = [&ends[0], &ends[1]].map(|end| end.receiver().delivered());
        let (sender, direction, bytes) = match to_client >= to_server {
            true => (End::Server, Direction::Down, to_client),
            false => (End::Client, Direction::Up, to_server),
        };
        let place = self.places[slot as usize];
        let samples = place.ends[sender as usize];
        let [packets, lost] = counts[direction as usize];
        let segments = |bytes: f64| bytes / f64::from(mss);
        let sender = ends[sender as usize].sender();
        self.table.push(FlowRow {
            flow,
            link: direction as u8,
            bytes,
            packets,
            lost,
            retransmits: sender.statistics().retransmits as u32,
            start_ns: place.start.0,
            end_ns: ended.map_or(-1, |end| end.0 as i64),
            mean_cwnd_pkts: segments(samples.cwnd as f64 / samples.count as f64),
            initial_ssthresh_pkts: samples.ssthresh.map_or(f64::NAN, |bytes| segments(bytes as f64)),
            mean_rtt_ns: sender.mean_rtt().0,
        });
    }

    /// The table, once the run is over.
    pub(crate) fn finish(self) -> FlowTable {
        self.table
    }
}
