//! On and off: datagrams at a constant rate for a random time, then none for another.
//!
//! Source: the traffic model of ns-2's `Exponential` and `Pareto` on/off generators; many of them with heavy-tailed
//! times add up to self-similar traffic (Willinger, Taqqu, Sherman, Wilson, SIGCOMM 1995). Difference: the first packet
//! of an on-time leaves at its beginning, and an on-time may hold parts of a packet's interval, which are lost.

use super::source::{Datagrams, Source};
use crate::distribution::Distribution;
use crate::engine::{Event, Network};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// A stream of datagrams that comes and goes.
pub struct OnOff {
    /// What it sends.
    pub datagrams: Datagrams,
    /// Time between packets while it is on.
    pub gap: Span,
    /// Size of the packets at IP.
    pub size: u16,
    /// How long it is on.
    pub on: Distribution<Span>,
    /// How long it is off.
    pub off: Distribution<Span>,
    /// When it starts, on.
    pub start: Time,
    /// Its random stream.
    pub rng: Pcg64Mcg,
    /// When the on-time ends.
    pub until: Time,
}

impl Source for OnOff {
    fn on(&mut self, event: Event, network: &mut Network) {
        let now = network.now();
        let next = match event {
            Event::Start => {
                self.datagrams.begin(network);
                self.start
            }
            Event::Wake(_) => {
                if now >= self.until {
                    self.until = now + self.on.draw(&mut self.rng).max(Span(1));
                }
                self.datagrams.send(self.size, network);
                let next = now + self.gap;
                if next < self.until { next } else { self.until + self.off.draw(&mut self.rng) }
            }
            _ => return,
        };
        network.wake_at(next, self.datagrams.number, 0);
    }
}
