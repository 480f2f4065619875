//! Datagrams at a pace of their own: constant bit rate, or a Poisson process.
//!
//! Source: ns-2's `CBR`, and the arrivals of the M/D/1 and M/M/1 queues. Difference: the time of a packet is rounded
//! to the nanosecond, the sum of the gaps is not, so that the rate is exact.

use super::source::Source;
use crate::distribution::Distribution;
use crate::engine::{Datagram, Direction, Event, Kind, Network};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Bytes, Span, Time};

/// A stream of datagrams that nothing slows down. Its arrivals are counted at the link only.
pub struct Udp {
    /// Number of this source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// Which link it crosses.
    pub direction: Direction,
    /// Time between packets.
    pub gap: Distribution<Span>,
    /// Size of the packets at IP.
    pub size: Distribution<Bytes>,
    /// When it starts.
    pub start: Time,
    /// Nothing is sent from then on.
    pub stop: Time,
    /// Its random stream.
    pub rng: Pcg64Mcg,
    /// Its flow number, once started.
    pub flow: u32,
    /// Packets sent.
    pub sent: u64,
    /// When the next packet is due, without rounding to the nanosecond.
    pub due: f64,
}

impl Source for Udp {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                self.flow = network.new_flow(self.group);
                self.due = self.start.0 as f64 + self.gap.sample(&mut self.rng);
            }
            Event::Wake(_) => {
                if network.now() >= self.stop {
                    return;
                }
                let size = self.size.draw(&mut self.rng).0.min(u64::from(u16::MAX)) as u16;
                network.datagram(&Datagram {
                    group: self.group,
                    direction: self.direction,
                    kind: Kind::Datagram,
                    flow: self.flow,
                    owner: self.number,
                    seq: self.sent,
                    size,
                });
                self.sent += 1;
                self.due += self.gap.sample(&mut self.rng);
            }
            _ => return,
        }
        network.wake_at(Time(self.due as u64), self.number, 0);
    }
}
