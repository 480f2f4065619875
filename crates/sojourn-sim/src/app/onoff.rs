//! On and off: datagrams at a constant rate for a random time, then none for another.
//!
//! Source: the traffic model of ns-2's `Exponential` and `Pareto` on/off generators; many of them with heavy-tailed
//! times add up to self-similar traffic (Willinger, Taqqu, Sherman, Wilson, SIGCOMM 1995). Difference: the first packet
//! of an on-time leaves at its beginning, and an on-time may hold parts of a packet's interval, which are lost.

use super::source::Source;
use crate::distribution::Distribution;
use crate::engine::{Datagram, Direction, Event, Kind, Network};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// A stream of datagrams that comes and goes.
pub struct OnOff {
    /// Number of this source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// Which link it crosses.
    pub direction: Direction,
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
    /// Where it stands.
    pub state: OnOffState,
}

/// Where an on/off source stands.
#[derive(Default)]
pub struct OnOffState {
    flow: u32,
    sent: u64,
    /// When the on-time ends.
    until: Time,
}

impl Source for OnOff {
    fn on(&mut self, event: Event, network: &mut Network) {
        let now = network.now();
        let next = match event {
            Event::Start => {
                self.state.flow = network.new_flow(self.group);
                self.start
            }
            Event::Wake(_) => {
                if now >= self.state.until {
                    self.state.until = now + self.on.draw(&mut self.rng).max(Span(1));
                }
                network.datagram(&Datagram {
                    group: self.group,
                    direction: self.direction,
                    kind: Kind::Datagram,
                    flow: self.state.flow,
                    owner: self.number,
                    seq: self.state.sent,
                    size: self.size,
                });
                self.state.sent += 1;
                let next = now + self.gap;
                if next < self.state.until { next } else { self.state.until + self.off.draw(&mut self.rng) }
            }
            _ => return,
        };
        network.wake_at(next, self.number, 0);
    }
}
