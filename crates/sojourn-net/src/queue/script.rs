//! A queue under test at given times with given random numbers, and what became of each packet.

use super::Cx;
use crate::probe::{DropCause, Probe};
use crate::{Ecn, Packet, Span, Time};
use std::convert::Infallible;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tagged {
    pub(crate) number: usize,
    size: u32,
    flow: u32,
    ecn: Ecn,
}

impl Tagged {
    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
    pub(crate) fn with_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }
}

impl Packet for Tagged {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        assert_ne!(self.ecn, Ecn::NotEct, "a transport without ECN was marked");
        self.ecn = Ecn::Ce;
    }
}

/// A packet without ECN.
pub(crate) fn packet(number: usize, size: u32) -> Tagged {
    Tagged { number, size, flow: 0, ecn: Ecn::NotEct }
}

pub(crate) fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// The numbers of the packets, by fate.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) dequeued: Vec<usize>,
    pub(crate) marked: Vec<usize>,
    pub(crate) dropped: Vec<(usize, DropCause)>,
}

impl Probe<Tagged> for Told {
    fn enqueued(&mut self, _: Time, _: &Tagged) {}
    fn dequeued(&mut self, _: Time, packet: &Tagged, _: Span) {
        self.dequeued.push(packet.number);
    }
    fn marked(&mut self, _: Time, packet: &Tagged) {
        self.marked.push(packet.number);
    }
    fn dropped(&mut self, _: Time, packet: Tagged, cause: DropCause, _: Option<Span>) {
        self.dropped.push((packet.number, cause));
    }
}

/// A random stream that always gives the same number in [0, 1).
pub(crate) struct Fixed(pub(crate) f64);

impl rand::TryRng for Fixed {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 * (1u64 << 32) as f64) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(((self.0 * (1u64 << 53) as f64) as u64) << 11)
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("no discipline draws bytes")
    }
}

#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The number that every draw gives.
    pub(crate) draw: f64,
    pub(crate) departures: u64,
    pub(crate) fates: Told,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn at<R>(&mut self, now: Time, act: impl FnOnce(&mut Cx<'_, Tagged>) -> R) -> R {
        act(&mut Cx { now, rng: &mut Fixed(self.draw), probe: &mut self.fates })
    }
}
