//! One simulation: a scenario set up, run to its end, and summed up.

mod flows;
mod hooks;
mod hosts;
mod users;

use crate::app::{Source, Tables};
use crate::engine::{Bottleneck, Direction, Event, EventQueue, FlowTotals, LinkPort, Network};
use crate::scenario::{LinkRule, Scenario};
use crate::stats::{FlowRecord, FlowTable, HostTap, LinkRecord, Log, QueueLimit, Summary};
use crate::stream::stream;
use hooks::Lowest;
use sojourn_net::link::Link;
use sojourn_net::{Rate, Span, Time};

pub use hooks::{LogSink, MakePlayer, RunHooks, TapSink};

/// Most bins of a time series.
const MOST_BINS: u64 = 512;
/// Events between two looks at the watcher.
const SLICE: u32 = 1 << 16;
/// Rows of the packet log that are handed out together.
const BATCH: usize = 1 << 18;

/// What a run leaves behind.
pub struct Outcome {
    /// Links, flows and the engine in numbers.
    pub summary: Summary,
    /// What applications saw.
    pub tables: Tables,
    /// Packet logs of the down and the up link, if the scenario keeps them and nobody took them during the run.
    pub logs: Option<[Log; 2]>,
    /// The table of connections, if the scenario keeps it.
    pub flows: Option<FlowTable>,
}

/// Runs a scenario. `seed` and `replication` choose the random streams. `watch` is told now and then of the simulated
/// time and may stop the run by returning false: then there is no outcome.
pub fn run(scenario: &Scenario, seed: u64, replication: u32, watch: &mut dyn FnMut(Time) -> bool) -> Option<Outcome> {
    run_into(scenario, seed, replication, watch, RunHooks::default())
}

/// The same, with what takes records while the run goes on, and players of other make.
pub fn run_into(
    scenario: &Scenario,
    seed: u64,
    replication: u32,
    watch: &mut dyn FnMut(Time) -> bool,
    mut hooks: RunHooks<'_>,
) -> Option<Outcome> {
    let make_player = hooks.players.unwrap_or(&|_, _, _| Box::new(Lowest));
    let mut engine = Engine::new(scenario, seed, replication, make_player);
    engine.network.tap = hooks.tap.as_ref().map(|(end, _)| HostTap::new(*end));
    engine.start();
    let warmup = Time(scenario.warmup.0);
    let end = Time(scenario.duration.0);
    if warmup > Time::ZERO && !engine.run_until(warmup, watch, &mut hooks) {
        return None;
    }
    engine.begin_measuring();
    engine.run_until(end, watch, &mut hooks).then(|| engine.finish(scenario, hooks))
}

struct Engine {
    network: Network,
    sources: Vec<Box<dyn Source>>,
    at_warmup: FlowTotals,
    packets_before: u64,
}

impl Engine {
    fn new(scenario: &Scenario, seed: u64, replication: u32, make_player: MakePlayer<'_>) -> Self {
        let mut event_queue = EventQueue::new();
        let bottleneck = Bottleneck::new(
            Direction::BOTH.map(|direction| port(scenario, direction, seed, replication)),
            &mut event_queue,
        );
        let mut network = Network::new(event_queue, bottleneck);
        if scenario.record.flows {
            network.flow_record = Some(FlowRecord::default());
            for port in &mut network.bottleneck.ports {
                port.record.by_flow = Some(Vec::new());
            }
        }
        let mut engine = Self { network, sources: Vec::new(), at_warmup: FlowTotals::default(), packets_before: 0 };
        for (i, flows) in scenario.flows.iter().enumerate() {
            let name = flows.name.clone().unwrap_or_else(|| format!("flows-{i}"));
            engine.add_flows(scenario, flows, &|k| stream(seed, replication, &format!("{name}.{k}")));
        }
        engine.add_users(scenario, seed, replication, make_player);
        engine
    }

    /// The number of the next source.
    fn next_number(&self) -> u32 {
        self.sources.len() as u32
    }

    fn start(&mut self) {
        for source in &mut self.sources {
            source.on(Event::Start, &mut self.network);
        }
    }

    /// Runs up to `end`. False if the watcher stopped it.
    fn run_until(&mut self, end: Time, watch: &mut dyn FnMut(Time) -> bool, hooks: &mut RunHooks<'_>) -> bool {
        let mut left = SLICE;
        while self.network.step(end) {
            while let Some((source, event)) = self.network.notice() {
                self.sources[source as usize].on(event, &mut self.network);
            }
            left -= 1;
            if left == 0 {
                left = SLICE;
                if let Some(sink) = &mut hooks.log {
                    for direction in Direction::BOTH {
                        let log = &mut self.network.bottleneck.ports[direction as usize].record.log;
                        if let Some((first, rows)) = log.as_mut().and_then(|log| log.take_settled(BATCH)) {
                            sink(direction, first, rows);
                        }
                    }
                }
                self.empty_tap(hooks);
                if !watch(self.network.now()) {
                    return false;
                }
            }
        }
        true
    }

    fn empty_tap(&mut self, hooks: &mut RunHooks<'_>) {
        if let (Some(tap), Some((_, sink))) = (&mut self.network.tap, &mut hooks.tap) {
            sink(&tap.seen);
            tap.seen.clear();
        }
    }

    fn begin_measuring(&mut self) {
        let now = self.network.now();
        for port in &mut self.network.bottleneck.ports {
            self.packets_before += port.record.departed;
            port.record.reset(now);
        }
        self.at_warmup = self.network.totals();
    }

    fn finish(mut self, scenario: &Scenario, mut hooks: RunHooks<'_>) -> Outcome {
        self.empty_tap(&mut hooks);
        let now = self.network.now();
        let mut tables = Tables::default();
        for source in &mut self.sources {
            source.finish(&self.network, &mut tables);
        }
        for port in &mut self.network.bottleneck.ports {
            port.record.bins.finish(now, port.last);
        }
        let totals = self.network.totals();
        let [down, up] = &self.network.bottleneck.ports;
        let measured = (Time(scenario.warmup.0), now);
        let rates = [down, up].map(|port| port.link.rate().mean_between(measured.0, measured.1));
        let mut summary = Summary::new(
            [&down.record, &up.record],
            rates,
            (&self.at_warmup, &totals),
            measured,
            self.packets_before,
            self.network.events,
        );
        for (link, spec) in [("down", &scenario.path.down), ("up", &scenario.path.up)] {
            if let Some(found) = summary.links.get_mut(link) {
                found.limit = QueueLimit::new(spec.capacity(scenario.path.rtt()), spec.rate.mean());
            }
        }
        let flows = self.network.take_flows();
        let mut logs = scenario.record.packets.then(|| {
            let [down, up] = &mut self.network.bottleneck.ports;
            [&mut down.record, &mut up.record].map(|record| record.log.take().unwrap_or_default())
        });
        if let Some(sink) = hooks.log {
            for (direction, record) in Direction::BOTH.into_iter().zip(logs.take().into_iter().flatten()) {
                sink(direction, record.first, record.log);
            }
        }
        let logs = logs.map(|records| records.map(|record| record.log));
        Outcome { summary, tables, logs, flows }
    }
}

fn port(scenario: &Scenario, direction: Direction, seed: u64, replication: u32) -> LinkPort {
    let (name, spec) = match direction {
        Direction::Down => ("path.down", &scenario.path.down),
        Direction::Up => ("path.up", &scenario.path.up),
    };
    let rate = spec.rate.mean().unwrap_or(Rate(u64::MAX));
    let profile = spec.rate.profile(scenario.duration, &mut stream(seed, replication, &format!("{name}.rate")));
    let queue = spec.queue.build(spec.capacity(scenario.path.rtt()), rate);
    let overhead = spec.overhead.0 as u32;
    let measured = (scenario.duration - scenario.warmup).0;
    let bin = Span(measured.div_ceil(MOST_BINS).div_ceil(1_000_000_000) * 1_000_000_000);
    let record = LinkRecord::new(bin, scenario.record.packets);
    let link = Link::new(queue, profile, overhead);
    let link = match spec.rule {
        LinkRule::Strict => link,
        LinkRule::Htb => link.with_bucket(spec.burst.map_or(1600, |burst| burst.0)),
    };
    let rngs = [name.to_owned(), format!("{name}.loss")].map(|name| stream(seed, replication, &name));
    LinkPort::new(link, record, overhead, spec.loss, rngs)
}
