//! Datagrams at a pace of their own: constant bit rate, or a Poisson process.
//!
//! Source: ns-2's `CBR`, and the arrivals of the M/D/1 and M/M/1 queues. Difference: the time of a packet is rounded
//! to the nanosecond, the sum of the gaps is not, so that the rate is exact.

use super::source::{Datagrams, Source};
use crate::distribution::Distribution;
use crate::engine::{Event, Network};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Bytes, Span, Time};

/// A stream of datagrams.
pub struct Udp {
    /// What it sends.
    pub datagrams: Datagrams,
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
    /// When the next packet is due, without rounding to the nanosecond.
    pub due: f64,
}

impl Source for Udp {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                self.datagrams.begin(network);
                self.due = self.start.0 as f64 + self.gap.sample(&mut self.rng);
            }
            Event::Wake(_) => {
                if network.now() >= self.stop {
                    return;
                }
                let size = self.size.draw(&mut self.rng).0.min(u64::from(u16::MAX)) as u16;
                self.datagrams.send(size, network);
                self.due += self.gap.sample(&mut self.rng);
            }
            _ => return,
        }
        network.wake_at(Time(self.due as u64), self.datagrams.number, 0);
    }
}
