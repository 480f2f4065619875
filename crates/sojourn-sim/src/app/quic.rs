//! A QUIC connection between two hosts of the network: both endpoints, and the packets between them.
//!
//! Packets of it are datagrams of the kind `quic`. Each carries its place in the connection's list, which holds what is
//! in it until it arrives. Who owns the connection says which numbers its datagrams and its timers carry.

use crate::engine::{Datagram, Direction, End, Kind, Network};
use sojourn_net::quic::{Endpoint, Packet, StreamId};
use sojourn_net::{Ecn, Time};

/// IPv4 and UDP headers.
const HEADERS: u64 = 28;

/// Whose connection it is, between which hosts, and the numbers of its first packet and of its opener's timer.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) source: u32,
    pub(super) group: u16,
    pub(super) packets: u64,
    pub(super) timers: u64,
}

/// Both ends, the one that opened it first.
pub(super) struct QuicConnection {
    ends: [Endpoint; 2],
    opener: End,
    flow: u32,
    /// What is on its way, or was lost: whether the opener sent it, and what.
    packets: Vec<Option<(bool, Packet)>>,
    armed: [Option<Time>; 2],
}

impl QuicConnection {
    /// A connection of which nothing was sent.
    pub(super) fn new(ends: [Endpoint; 2], opener: End, flow: u32) -> Self {
        Self { ends, opener, flow, packets: Vec::new(), armed: [None; 2] }
    }

    /// Both ends.
    pub(super) fn ends(&mut self) -> &mut [Endpoint; 2] {
        &mut self.ends
    }

    /// Bytes that an end has of the other, in whatever order.
    pub(super) fn arrived(&self, accepted: bool) -> u64 {
        self.ends[usize::from(accepted)].arrived()
    }

    /// All that an end has written has been acknowledged.
    pub(super) fn is_idle(&self, accepted: bool) -> bool {
        self.ends[usize::from(accepted)].is_idle()
    }

    /// Packets that the end that accepted has sent again.
    pub(super) fn retransmits(&self) -> u64 {
        self.ends[1].retransmits()
    }

    /// Sends what both ends have to send, and arms their timers.
    pub(super) fn flush(&mut self, owner: Owner, network: &mut Network) {
        let Owner { source, group, .. } = owner;
        let now = network.now();
        for (place, end) in self.ends.iter_mut().enumerate() {
            let by_opener = place == 0;
            let upwards = by_opener == (self.opener == End::Client);
            while let Some(sent) = end.poll(now) {
                let (size, ecn) = ((sent.bytes + HEADERS) as u16, sent.ecn);
                let seq = owner.packets + self.packets.len() as u64;
                self.packets.push(Some((by_opener, sent)));
                let direction = if upwards { Direction::Up } else { Direction::Down };
                let (flow, kind, owner) = (self.flow, Kind::Quic, source);
                network.datagram(&Datagram { group, direction, kind, flow, owner, seq, size, ecn });
            }
            let at = end.next_timer();
            if at != Time::NEVER && self.armed[place] != Some(at.max(now)) {
                self.armed[place] = Some(at.max(now));
                network.wake_at(at, source, owner.timers + place as u64);
            }
        }
    }

    /// The packet in this place arrived with this ECN field: whether the end that accepted has it now, and the streams
    /// that have grown.
    pub(super) fn on_packet(&mut self, place: usize, ecn: Ecn, now: Time) -> Option<(bool, Vec<(StreamId, u64)>)> {
        let (by_opener, packet) = self.packets.get_mut(place)?.take()?;
        let packet = Packet { ecn, ..packet };
        Some((by_opener, self.ends[usize::from(by_opener)].on_packet(now, &packet)))
    }

    /// A timer of an end has come. False if another was armed since.
    pub(super) fn on_timeout(&mut self, accepted: bool, now: Time) -> bool {
        let place = usize::from(accepted);
        let due = self.armed[place].take_if(|at| *at == now).is_some();
        if due {
            self.ends[place].on_timeout(now);
        }
        due
    }
}
