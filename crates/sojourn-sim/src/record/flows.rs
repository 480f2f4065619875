//! The table of connections: one row for each, with what its sender's window did and how many packets it lost.
//!
//! The congestion window is sampled at each acknowledgement that advances, as a probe in a kernel's ACK path samples it; the initial
//! slow-start threshold is the first that is finite at such a sample. Of the two ends the one that delivered more counts as the sender.
//! Packets and losses are those of the link that the sender's data crosses, the handshake's and acknowledgements of its own included, so they are
//! what grouping the packet log by flow gives. Times are those of the client's clock, shifted by its distance from the link.

use super::LinkRecord;
use crate::way::{End, Way};
use sojourn_net::Time;
use sojourn_net::tcp::{Endpoint, Sender};

/// Columns of the table. All have the same length.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// The flow's number.
    pub flow: Vec<u32>,
    /// The link that its data crosses: 0 = down, 1 = up.
    pub link: Vec<u8>,
    /// Payload bytes delivered in order.
    pub bytes: Vec<u64>,
    /// Packets that arrived at the link.
    pub packets: Vec<u32>,
    /// Packets dropped there.
    pub lost: Vec<u32>,
    /// Segments sent again.
    pub retransmits: Vec<u32>,
    /// When the connection was opened.
    pub start_ns: Vec<u64>,
    /// When it had closed at both ends; −1 if it was open at the end of the run.
    pub end_ns: Vec<i64>,
    /// Mean congestion window in segments; NaN without a sample.
    pub mean_cwnd_pkts: Vec<f64>,
    /// First finite slow-start threshold in segments; NaN if there was none.
    pub initial_ssthresh_pkts: Vec<f64>,
    /// Mean of the round-trip times measured; 0 without one.
    pub mean_rtt_ns: Vec<u64>,
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

    /// A connection has closed, or the run has with `ended` none.
    pub(crate) fn closed(
        &mut self,
        (slot, flow): (u32, u32),
        ended: Option<Time>,
        ends: &[Endpoint; 2],
        mss: u32,
        links: [&LinkRecord; 2],
    ) {
        let [to_client, to_server] = [&ends[0], &ends[1]].map(|end| end.receiver().delivered());
        let (sender, way, bytes) = match to_client >= to_server {
            true => (End::Server, Way::Down, to_client),
            false => (End::Client, Way::Up, to_server),
        };
        let place = self.places[slot as usize];
        let samples = place.ends[sender as usize];
        let [packets, lost] = links[way as usize].of_flow(flow);
        let segments = |bytes: f64| bytes / f64::from(mss);
        let table = &mut self.table;
        table.flow.push(flow);
        table.link.push(way as u8);
        table.bytes.push(bytes);
        table.packets.push(packets);
        table.lost.push(lost);
        let sender = ends[sender as usize].sender();
        table.retransmits.push(sender.statistics().retransmits as u32);
        table.start_ns.push(place.start.0);
        table.end_ns.push(ended.map_or(-1, |end| end.0 as i64));
        table.mean_cwnd_pkts.push(segments(samples.cwnd as f64 / samples.count as f64));
        table.initial_ssthresh_pkts.push(samples.ssthresh.map_or(f64::NAN, |bytes| segments(bytes as f64)));
        table.mean_rtt_ns.push(sender.mean_rtt().0);
    }

    /// The table, once the run is over.
    pub(crate) fn finish(self) -> FlowTable {
        self.table
    }
}
