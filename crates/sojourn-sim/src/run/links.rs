//! Sets up the links of a scenario: those of the path, and the access links of its senders.

use super::hosts::way;
use crate::engine::{AccessAt, AccessLink, Bottleneck, EventQueue, Jitter, LinkPort, Network};
use crate::scenario::{LinkOf, LinkRule, LinkSpec, Scenario};
use crate::stats::LinkRecord;
use crate::stream::stream;
use sojourn_net::link::Link;
use sojourn_net::{Packet, Rate, Span};

/// A link of a scenario's path by itself, for packets of any kind, and the random streams that go with it.
pub struct LoneLink<P> {
    /// The queue, and the rate behind it.
    pub link: Link<P>,
    /// The queue's random stream.
    pub queue_rng: rand_pcg::Pcg64Mcg,
    /// The stream that decides which packets are lost before the queue.
    pub loss_rng: rand_pcg::Pcg64Mcg,
}

impl<P: Packet + Send + 'static> LoneLink<P> {
    /// The link as a run of the scenario has it, with the same rates and the same random numbers.
    pub fn new(scenario: &Scenario, seed: u64, replication: u32, of: &LinkOf<'_>) -> Self {
        let this = Replication { scenario, seed, number: replication };
        let key = of.key();
        let [queue_rng, loss_rng] = [key.clone(), format!("{key}.loss")].map(|name| this.stream(&name));
        Self { link: this.link(&key, of.spec), queue_rng, loss_rng }
    }
}

/// Most bins of a time series.
const MOST_BINS: u64 = 512;

/// One replication of a scenario: what random streams and records are made from.
#[derive(Clone, Copy)]
pub(super) struct Replication<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) seed: u64,
    pub(super) number: u32,
}

impl Replication<'_> {
    /// The path, without its access links.
    pub(super) fn bottleneck(self, event_queue: &mut EventQueue) -> Bottleneck {
        let path = &self.scenario.path;
        let ports = path.links().map(|link| {
            let (key, spec) = (link.key(), link.spec);
            let rngs = [key.clone(), format!("{key}.loss")].map(|name| self.stream(&name));
            let port = LinkPort::new(self.link(&key, spec), self.record(), spec.overhead.0 as u32, spec.loss, rngs);
            match path.jitter {
                Span::ZERO => port,
                most => port.with_jitter(Jitter::new(most, self.stream(&format!("{key}.jitter")))),
            }
        });
        let follow = self.scenario.record.packets && !self.scenario.has_one_queue();
        let delays = path.hops.iter().map(|hop| hop.delay).collect();
        let access = self.scenario.flows.iter().filter_map(|flows| {
            let access = flows.access.as_ref()?;
            let way = way(path, flows.over.as_deref(), None, None);
            Some((way.links(flows.direction).next()?, access.delay))
        });
        let access: Vec<_> = access.collect();
        Bottleneck::new(ports.collect(), delays, &access, follow, event_queue)
    }

    pub(super) fn stream(self, name: &str) -> rand_pcg::Pcg64Mcg {
        stream(self.seed, self.number, name)
    }

    fn record(self) -> LinkRecord {
        let measured = (self.scenario.duration - self.scenario.warmup).0;
        let bin = Span(measured.div_ceil(MOST_BINS).div_ceil(1_000_000_000) * 1_000_000_000);
        LinkRecord::new(bin, self.scenario.record.packets)
    }

    fn link<P: Packet + Send + 'static>(self, key: &str, spec: &LinkSpec) -> Link<P> {
        let rate = spec.rate.mean().unwrap_or(Rate(u64::MAX));
        let profile = spec.rate.profile(self.scenario.duration, &mut self.stream(&format!("{key}.rate")));
        let queue = spec.queue.build(spec.capacity(self.scenario.path.rtt()), rate);
        let link = Link::new(queue, profile, spec.overhead.0 as u32);
        match spec.rule {
            LinkRule::Strict => link,
            LinkRule::Htb => link.with_bucket(spec.burst.map_or(1600, |burst| burst.0)),
        }
    }

    /// Adds the access link of one sender of the group in place `origin`, if its senders have any; the first makes the
    /// record of all.
    pub(super) fn add_access(self, network: &mut Network, origin: u16, sender: u32) -> Option<AccessAt> {
        let flows = &self.scenario.flows[usize::from(origin)];
        let access = flows.access.as_ref()?;
        let spec = access.link();
        let key = format!("{}.{sender}", flows.access_name(usize::from(origin)));
        let link = self.link(&key, &spec);
        let links = &mut network.bottleneck.access;
        let record =
            if sender == 0 { links.add_record(self.record(), flows.direction) } else { links.records.len() - 1 };
        let rngs = [key.clone(), format!("{key}.loss")].map(|name| self.stream(&name));
        let link = AccessLink::new(link, record, spec.overhead.0 as u32, spec.loss, rngs);
        let number = links.add(link, &mut network.event_queue);
        Some(AccessAt { end: flows.direction.source(), number, delay: access.delay })
    }
}
