//! One simulation: a scenario set up, run to its end, and summed up.

mod flows;
mod groups;
mod hooks;
mod hosts;
mod links;
mod users;

use crate::app::{Source, Tables};
use crate::engine::connection::Totals;
use crate::engine::{Event, EventQueue, Network};
use crate::scenario::Scenario;
use crate::stats::group_summary::summarise;
use crate::stats::hop_tap::HopTap;
use crate::stats::{FlowRecord, FlowSeries, FlowTable, HostTap, LinkRecord, Log, QueueSeries, Summary};
use crate::stream::stream;
use hooks::Lowest;
use hosts::Placed;
use links::Replication;
use rand::RngExt;
use sojourn_net::{Rate, Time};

pub use hooks::{LogSink, MakePlayer, RunHooks, TapAt, TapSink};
pub use links::LoneLink;
pub use users::page_objects;

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
    /// Packet logs of the links in the order of [`Scenario::link_names`], if the scenario keeps them and nobody took
    /// them during the run.
    pub logs: Option<Vec<Log>>,
    /// For each flow number, the place of its group: first those of flows, then each user. There is no flow 0.
    pub origins: Vec<u16>,
    /// The table of connections, if the scenario keeps it.
    pub flows: Option<FlowTable>,
    /// The flows and the queues over time, if the scenario keeps them.
    pub series: Option<(FlowSeries, QueueSeries)>,
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
    match hooks.tap.as_ref().map(|(at, _)| *at) {
        Some(TapAt::Hosts(end)) => engine.network.tap = Some(HostTap::new(end)),
        Some(TapAt::Hop(hop)) => {
            engine.network.bottleneck.tap = Some(HopTap::new(hop, scenario.path.hops[hop].delay));
        }
        None => {}
    }
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
    groups: Vec<Placed>,
    at_warmup: Totals,
    packets_before: u64,
    /// Events until the next look at the watcher.
    until_watch: u32,
}

impl Engine {
    fn new(scenario: &Scenario, seed: u64, replication: u32, make_player: MakePlayer<'_>) -> Self {
        let mut event_queue = EventQueue::new();
        let this = Replication { scenario, seed, number: replication };
        let bottleneck = this.bottleneck(&mut event_queue);
        let mut network =
            Network::new(event_queue, bottleneck, (scenario.path.reading, this.stream("reading").random()));
        network.flow_record = scenario.record.flows.then(FlowRecord::default);
        let mut engine = Self {
            network,
            sources: Vec::new(),
            groups: Vec::new(),
            at_warmup: Totals::default(),
            packets_before: 0,
            until_watch: SLICE,
        };
        for (i, flows) in scenario.flows.iter().enumerate() {
            let name = flows.stream_name(i);
            let stream_of = |k| stream(seed, replication, &format!("{name}.{k}"));
            engine.add_flows(scenario, i as u16, &stream_of, &|engine, k| {
                this.add_access(&mut engine.network, i as u16, k)
            });
        }
        if scenario.record.flows {
            engine.network.bottleneck.records_mut().for_each(|record| record.by_flow = Some(Vec::new()));
        }
        engine.add_users(scenario, seed, replication, make_player);
        engine.network.expect_sources(engine.sources.len());
        engine.follow(scenario);
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

    /// Runs up to `end`, and takes the samples of the series on the way. False if the watcher stopped it.
    fn run_until(&mut self, end: Time, watch: &mut dyn FnMut(Time) -> bool, hooks: &mut RunHooks<'_>) -> bool {
        while let Some(at) = self.network.series.as_ref().map(|series| series.next).filter(|at| *at <= end) {
            if !self.advance(at, watch, hooks) {
                return false;
            }
            self.network.sample();
        }
        self.advance(end, watch, hooks)
    }

    /// Runs up to `end`. False if the watcher stopped it.
    fn advance(&mut self, end: Time, watch: &mut dyn FnMut(Time) -> bool, hooks: &mut RunHooks<'_>) -> bool {
        let mut left = self.until_watch;
        while self.network.step(end) {
            while let Some((source, event)) = self.network.notice() {
                self.sources[source as usize].on(event, &mut self.network);
            }
            left -= 1;
            if left == 0 {
                left = SLICE;
                if let Some(sink) = &mut hooks.log {
                    for (link, record) in self.network.bottleneck.records_mut().enumerate() {
                        if let Some((first, rows)) = record.log.as_mut().and_then(|log| log.take_settled(BATCH)) {
                            sink(link, first, rows);
                        }
                    }
                }
                self.empty_tap(hooks);
                if !watch(self.network.now()) {
                    return false;
                }
            }
        }
        self.until_watch = left;
        true
    }

    fn empty_tap(&mut self, hooks: &mut RunHooks<'_>) {
        if let (Some(tap), Some((_, sink))) = (&mut self.network.tap, &mut hooks.tap) {
            sink(&tap.seen);
            tap.seen.clear();
        }
        if let Some((TapAt::Hop(_), sink)) = &mut hooks.tap {
            sink(&self.network.take_seen());
        }
    }

    fn begin_measuring(&mut self) {
        let now = self.network.now();
        for record in self.network.bottleneck.records_mut() {
            self.packets_before += record.departed;
            record.reset(now);
        }
        self.network.reset_groups();
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
        self.network.bottleneck.access.finish(now);
        let totals = self.network.totals();
        let measured = (Time(scenario.warmup.0), now);
        let groups = summarise(self.group_counts(scenario, &totals), (scenario.duration - scenario.warmup).as_secs());
        let named = scenario.link_names().into_iter().zip(self.links(measured));
        let links: Vec<_> = named.map(|(name, (record, rate))| (name, record, rate)).collect();
        let mut summary = Summary::new(
            &links,
            (&self.at_warmup.flows(), &totals.flows()),
            groups,
            measured,
            self.packets_before,
            self.network.events,
        );
        for link in scenario.path.links() {
            if let Some(found) = summary.links.get_mut(&link.name()) {
                found.limit = link.spec.holds(scenario.path.rtt());
            }
        }
        let flows = self.network.take_flows();
        let origins = self.network.origins();
        let series = self.network.series.take().map(|series| (series.flows, series.queues));
        let mut logs = scenario.record.packets.then(|| {
            let records = self.network.bottleneck.records_mut();
            records.map(|record| record.log.take().unwrap_or_default()).collect::<Vec<_>>()
        });
        if let Some(sink) = hooks.log {
            for (link, record) in logs.take().into_iter().flatten().enumerate() {
                sink(link, record.first, record.log);
            }
        }
        let logs = logs.map(|records| records.into_iter().map(|record| record.log).collect());
        Outcome { summary, tables, logs, origins, flows, series }
    }

    /// The records of all links with their mean rates; access links count as one, at the sum of their rates.
    fn links(&self, (from, to): (Time, Time)) -> impl Iterator<Item = (&LinkRecord, Option<Rate>)> {
        let bottleneck = &self.network.bottleneck;
        let ports = bottleneck.ports.iter().map(move |port| (&port.record, port.link.rate().mean_between(from, to)));
        let access = bottleneck.access.records.iter().enumerate().map(move |(i, access)| {
            let rates = bottleneck.access.links_of(i).map(|link| link.rate().mean_between(from, to));
            let sum = rates.map(|rate| rate.map(|rate| rate.0)).sum::<Option<u64>>();
            (&access.record, sum.map(Rate))
        });
        ports.chain(access)
    }
}
