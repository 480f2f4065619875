//! What happened at a link: summaries always, the packet log on demand.
//!
//! Both come from the same four calls of the queue's probe, so they agree.

use super::bins::Bins;
use super::histogram::Histogram;
use super::packet_log::{Log, LogRecord};
use crate::engine::packet::{Body, NO_SACK, Packet};
use sojourn_net::probe::{DropCause, Probe};
use sojourn_net::{Packet as _, Span, Time};

/// The record of one link.
#[derive(Default)]
pub struct LinkRecord {
    /// Packets that arrived, in the period since the last reset.
    pub arrived: u64,
    /// Packets that left the queue.
    pub departed: u64,
    /// Of those, packets with payload.
    pub departed_data: u64,
    /// Bytes of the packets that left the queue.
    pub departed_bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Drops by cause.
    pub dropped: [u64; DropCause::ALL.len()],
    /// Time in the queue of the packets that left.
    pub sojourn: Histogram,
    /// What the link carried, by second and by bin.
    pub bins: Bins,
    waiting_packets: u32,
    waiting_bytes: u64,
    /// Packets waiting × nanoseconds.
    occupancy: u128,
    changed: Time,
    /// SACK blocks of dropped packets, to be freed.
    pub(crate) orphans: Vec<u32>,
    /// Dropped datagrams whose sender is told: source and number.
    pub(crate) lost: Vec<(u32, u64)>,
    pub(crate) log: Option<LogRecord>,
    /// For each flow number, packets dropped since the last reset.
    pub(crate) drops_by_flow: Vec<u32>,
    /// For each flow number, packets that arrived and packets dropped, from the beginning of the run.
    pub(crate) by_flow: Option<Vec<[u32; 2]>>,
}

impl LinkRecord {
    /// Nothing yet. `bin` is the width of the time series' bins.
    pub fn new(bin: Span, keep_log: bool) -> Self {
        Self { bins: Bins::new(bin), log: keep_log.then(LogRecord::default), ..Self::default() }
    }

    /// Forgets all but what is waiting and the packet log: the measured period starts at `now`.
    pub fn reset(&mut self, now: Time) {
        (self.arrived, self.departed, self.departed_data, self.departed_bytes) = (0, 0, 0, 0);
        self.marked = 0;
        self.dropped = [0; DropCause::ALL.len()];
        self.drops_by_flow.clear();
        self.sojourn = Histogram::default();
        self.bins.reset(now);
        self.occupancy = 0;
        self.changed = now;
    }

    /// Packets dropped, whatever the cause.
    pub fn total_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Packets waiting × nanoseconds since the reset, up to `now`.
    pub fn occupancy(&self, now: Time) -> u128 {
        self.occupancy + u128::from(self.waiting_packets) * u128::from(now.since(self.changed).0)
    }

    /// Packets waiting.
    pub fn waiting(&self) -> u32 {
        self.waiting_packets
    }

    /// Bytes waiting.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// A transmission of `bytes` on the wire from `start` to `end`.
    #[inline]
    pub fn transmitted(&mut self, start: Time, end: Time, bytes: u32) {
        self.bins.carry(start, end, bytes);
    }

    /// The row that the next packet gets in the log.
    pub(crate) fn next_row(&self) -> u32 {
        self.log.as_ref().map_or(0, LogRecord::next)
    }

    /// Takes the settled rows at the front of the log out, if one is kept and there are at least `least` of them; and
    /// the number of the first.
    pub fn take_settled(&mut self, least: usize) -> Option<(u32, Log)> {
        self.log.as_mut()?.take_settled(least)
    }

    /// The rows of the log that were not taken out, and the number of the first.
    pub fn into_log(self) -> Option<(u32, Log)> {
        self.log.map(|record| (record.first, record.log))
    }

    /// The packet that arrives next is the one with this number in the run.
    pub fn set_journey(&mut self, journey: u32) {
        if let Some(log) = &mut self.log {
            log.journey = journey;
        }
    }

    /// The number in the run of the packet in a row that has just been settled.
    pub(crate) fn journey_of(&self, row: u32) -> u32 {
        self.log.as_ref().map_or(0, |log| log.journey_of(row))
    }

    /// Packets of a flow that arrived, and those of them that were dropped.
    pub(crate) fn of_flow(&self, flow: u32) -> [u32; 2] {
        self.by_flow.as_ref().and_then(|flows| flows.get(flow as usize)).copied().unwrap_or_default()
    }

    /// The packet arrived when so many packets and bytes were waiting: for the log and the counts by flow.
    #[inline(never)] // The last thing that happens on arrival, so that those without either pay for no call.
    fn trace_arrival(&mut self, now: Time, packet: &Packet, (packets, bytes): (u32, u64)) {
        self.count_flow(packet.flow, 0);
        if let Some(log) = &mut self.log {
            log.arrived(now, packet, packets, bytes);
        }
    }

    fn count_flow(&mut self, flow: u32, what: usize) {
        if let Some(flows) = &mut self.by_flow {
            let flow = flow as usize;
            if flow >= flows.len() {
                flows.resize((flow + 1).next_power_of_two(), [0; 2]);
            }
            flows[flow][what] += 1;
        }
    }

    #[inline]
    fn count_waiting(&mut self, now: Time) {
        self.occupancy += u128::from(self.waiting_packets) * u128::from(now.since(self.changed).0);
        self.changed = now;
    }
}

impl Probe<Packet> for LinkRecord {
    #[inline]
    fn enqueued(&mut self, now: Time, packet: &Packet) {
        let before = (self.waiting_packets, self.waiting_bytes);
        self.arrived += 1;
        self.count_waiting(now);
        self.waiting_packets += 1;
        self.waiting_bytes += u64::from(packet.size());
        if self.by_flow.is_some() || self.log.is_some() {
            self.trace_arrival(now, packet, before);
        }
    }

    #[inline]
    fn dequeued(&mut self, now: Time, packet: &Packet, sojourn: Span) {
        let size = u64::from(packet.size());
        self.count_waiting(now);
        self.waiting_packets -= 1;
        self.waiting_bytes -= size;
        self.departed += 1;
        self.departed_data += u64::from(packet.kind().is_data());
        self.departed_bytes += size;
        if let Some(log) = &mut self.log {
            log.departed(now, packet);
        }
        self.bins.waited(now, sojourn);
        self.sojourn.add(sojourn.0);
    }

    fn marked(&mut self, _: Time, _: &Packet) {
        self.marked += 1;
    }

    fn dropped(&mut self, now: Time, packet: Packet, cause: DropCause, waited: Option<Span>) {
        if waited.is_some() {
            self.count_waiting(now);
            self.waiting_packets -= 1;
            self.waiting_bytes -= u64::from(packet.size());
        } else {
            self.arrived += 1;
            self.trace_arrival(now, &packet, (self.waiting_packets, self.waiting_bytes));
        }
        self.count_flow(packet.flow, 1);
        let flow = packet.flow as usize;
        if flow >= self.drops_by_flow.len() {
            self.drops_by_flow.resize((flow + 1).next_power_of_two(), 0);
        }
        self.drops_by_flow[flow] += 1;
        self.dropped[cause as usize] += 1;
        self.bins.dropped(now);
        if let Some(log) = &mut self.log {
            log.dropped(&packet, cause);
        }
        if packet.sack != NO_SACK {
            self.orphans.push(packet.sack);
        }
        if let (true, Body::Datagram { source, .. }) = (packet.reports_loss(), packet.body()) {
            self.lost.push((source, packet.seq));
        }
    }
}
