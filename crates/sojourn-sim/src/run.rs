//! One simulation: a scenario set up, run to its end, and summed up.

use crate::agenda::Agenda;
use crate::distribution::Distribution;
use crate::network::{Control, FlowTotals, Network};
use crate::record::{LinkRecord, Log};
use crate::scenario::{self, CallDirection, Direction, Flows, Scenario, SourceSpec, Tcp, Transport, Users};
use crate::source::{self, Bulk, End, Event, Paced, Sessions, Source, Tables, Voice, Web};
use crate::stream::stream;
use crate::summary::Summary;
use crate::wire::{Port, Way, Wire};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::congestion::{
    Arithmetic, Bic, Compound, CongestionControl, Counting, Cubic, HyStart, Ledbat, LedbatPlusPlus, Reno,
};
use sojourn_net::link::Link;
use sojourn_net::{Bytes, Rate, Span, Time, tcp};

/// Most bins of a time series.
const MOST_BINS: u64 = 512;
/// Events between two looks at the watcher.
const SLICE: u32 = 1 << 16;

/// What a run leaves behind.
pub struct Outcome {
    /// Links, flows and the engine in numbers.
    pub summary: Summary,
    /// What applications saw.
    pub tables: Tables,
    /// Packet logs of the down and the up link, if the scenario keeps them.
    pub logs: Option<[Log; 2]>,
}

/// Runs a scenario. `seed` and `replication` choose the random streams. `watch` is told now and then of the simulated time and may
/// stop the run by returning false: then there is no outcome.
pub fn run(scenario: &Scenario, seed: u64, replication: u32, watch: &mut dyn FnMut(Time) -> bool) -> Option<Outcome> {
    let mut engine = Engine::new(scenario, seed, replication);
    engine.start();
    let warmup = Time(scenario.warmup.0);
    let end = Time(scenario.duration.0);
    if warmup > Time::ZERO && !engine.run_until(warmup, watch) {
        return None;
    }
    engine.begin_measuring();
    engine.run_until(end, watch).then(|| engine.finish(scenario))
}

struct Engine {
    network: Network,
    sources: Vec<Box<dyn Source>>,
    at_warmup: FlowTotals,
    packets_before: u64,
}

impl Engine {
    fn new(scenario: &Scenario, seed: u64, replication: u32) -> Self {
        let mut agenda = Agenda::new();
        let wire = Wire::new(Way::BOTH.map(|way| port(scenario, way, seed, replication)), &mut agenda);
        let network = Network::new(agenda, wire);
        let mut engine = Self { network, sources: Vec::new(), at_warmup: FlowTotals::default(), packets_before: 0 };
        for (i, flows) in scenario.flows.iter().enumerate() {
            let name = flows.name.clone().unwrap_or_else(|| format!("flows-{i}"));
            engine.add_flows(scenario, flows, &|k| stream(seed, replication, &format!("{name}.{k}")));
        }
        let mut user = 0;
        for (i, users) in scenario.users.iter().enumerate() {
            let (name, count) = match users {
                Users::Voice(voice) => (&voice.name, voice.count),
                Users::Web(web) => (&web.name, web.count),
            };
            let name = name.clone().unwrap_or_else(|| format!("users-{i}"));
            for k in 0..count {
                engine.add_user(scenario, users, user, stream(seed, replication, &format!("{name}.{k}")));
                user += 1;
            }
        }
        engine
    }

    fn next_number(&self) -> u32 {
        self.sources.len() as u32
    }

    fn add_flows(&mut self, scenario: &Scenario, flows: &Flows, stream_of: &dyn Fn(u32) -> Pcg64Mcg) {
        let (client, server) = delays(&scenario.path, flows.rtt);
        let settings = flows.tcp();
        let group = self.network.add_group(config(&settings), control(&settings), client, server, true);
        let (sender, way) = match flows.direction {
            Direction::Down => (End::Server, Way::Down),
            Direction::Up => (End::Client, Way::Up),
        };
        for k in 0..flows.count {
            let mut rng = stream_of(k);
            let number = self.next_number();
            let start = Time((rng.random::<f64>() * flows.start_within.0 as f64) as u64);
            let paced = |gap, size, rng| {
                Box::new(Paced { number, group, way, gap, size, start, rng, flow: 0, sent: 0, due: 0.0 })
            };
            let source: Box<dyn Source> = match &flows.source {
                SourceSpec::Bulk { size } => {
                    Box::new(Bulk { number, group, sender, size: size.map(|Bytes(bytes)| bytes), start })
                }
                SourceSpec::Sessions(sessions) => Box::new(Sessions {
                    number,
                    group,
                    client: sender.other(),
                    sizes: sessions.sizes.clone(),
                    interconnection: sessions.interconnection.clone(),
                    closed_loop: sessions.closed_loop,
                    parallel: sessions.parallel,
                    start_within: flows.start_within,
                    rng,
                    transfers: Default::default(),
                }),
                SourceSpec::Cbr { rate, size } => {
                    let gap = Distribution::Fixed { value: interval(*rate, size.0 as f64) };
                    paced(gap, Distribution::Fixed { value: *size }, rng)
                }
                SourceSpec::Poisson { rate, size } => {
                    let gap = Distribution::Exponential { mean: interval(*rate, size.mean()) };
                    paced(gap, size.clone(), rng)
                }
            };
            self.sources.push(source);
        }
    }

    fn add_user(&mut self, scenario: &Scenario, users: &Users, user: u32, rng: Pcg64Mcg) {
        let number = self.next_number();
        let (client, server) = delays(&scenario.path, None);
        let warmup = Time(scenario.warmup.0);
        let source: Box<dyn Source> = match users {
            Users::Voice(voice) => {
                let config = tcp::Config::default();
                let (mss, initial) = (u64::from(config.mss), config.initial_window());
                let unused = move || Box::new(Reno::new(mss, initial, Counting::Bytes)) as Box<dyn CongestionControl>;
                let group = self.network.add_group(config, Box::new(unused), client, server, false);
                let ways = match voice.direction {
                    CallDirection::Both => vec![Way::Up, Way::Down],
                    CallDirection::Up => vec![Way::Up],
                    CallDirection::Down => vec![Way::Down],
                };
                let packets = (voice.call.0 / source::VOICE_INTERVAL.0).max(1) as u16;
                Box::new(Voice {
                    number,
                    user,
                    group,
                    ways,
                    packets,
                    gap: voice.gap,
                    start_within: voice.start_within,
                    warmup,
                    rng,
                    calls: Default::default(),
                })
            }
            Users::Web(web) => {
                let settings = web.tcp();
                let group = self.network.add_group(config(&settings), control(&settings), client, server, false);
                let objects = web.objects.iter().map(|object| object.0 + web.response_header.0).collect();
                let page = source::Page { objects, request: web.request.0, restart: web.object_restart };
                Box::new(Web {
                    number,
                    user,
                    group,
                    page,
                    pause: web.pause,
                    start_within: web.start_within,
                    warmup,
                    rng,
                    loads: Default::default(),
                })
            }
        };
        self.sources.push(source);
    }

    fn start(&mut self) {
        for source in &mut self.sources {
            source.on(Event::Start, &mut self.network);
        }
    }

    /// Runs up to `end`. False if the watcher stopped it.
    fn run_until(&mut self, end: Time, watch: &mut dyn FnMut(Time) -> bool) -> bool {
        let mut left = SLICE;
        while self.network.step(end) {
            while let Some((source, event)) = self.network.notice() {
                self.sources[source as usize].on(event, &mut self.network);
            }
            left -= 1;
            if left == 0 {
                left = SLICE;
                if !watch(self.network.now()) {
                    return false;
                }
            }
        }
        true
    }

    fn begin_measuring(&mut self) {
        let now = self.network.now();
        for port in &mut self.network.wire.ports {
            self.packets_before += port.record.departed;
            port.record.reset(now);
        }
        self.at_warmup = self.network.totals();
    }

    fn finish(mut self, scenario: &Scenario) -> Outcome {
        let now = self.network.now();
        let mut tables = Tables::default();
        for source in &mut self.sources {
            source.finish(&self.network, &mut tables);
        }
        for port in &mut self.network.wire.ports {
            port.record.bins.finish(now, port.last);
        }
        let totals = self.network.totals();
        let [down, up] = &self.network.wire.ports;
        let rates = [&scenario.path.down, &scenario.path.up].map(|link| link.rate.profile().mean());
        let summary = Summary::new(
            [&down.record, &up.record],
            rates,
            (&self.at_warmup, &totals),
            (Time(scenario.warmup.0), now),
            self.packets_before,
            self.network.events,
        );
        let logs = scenario.record.packets.then(|| {
            let [down, up] = &mut self.network.wire.ports;
            [&mut down.record, &mut up.record].map(|record| record.log.take().unwrap_or_default())
        });
        Outcome { summary, tables, logs }
    }
}

/// Time between packets of `bytes` at a rate.
fn interval(rate: Rate, bytes: f64) -> Span {
    Span::from_secs_f64(bytes * 8.0 / rate.0 as f64)
}

fn port(scenario: &Scenario, way: Way, seed: u64, replication: u32) -> Port {
    let (name, spec) = match way {
        Way::Down => ("path.down", &scenario.path.down),
        Way::Up => ("path.up", &scenario.path.up),
    };
    let rate = spec.rate.profile().mean().unwrap_or(Rate(u64::MAX));
    let queue = spec.queue.build(spec.capacity(scenario.path.rtt()), rate);
    let overhead = spec.overhead.0 as u32;
    let measured = (scenario.duration - scenario.warmup).0;
    let bin = Span(measured.div_ceil(MOST_BINS).div_ceil(1_000_000_000) * 1_000_000_000);
    let record = LinkRecord::new(bin, scenario.record.packets);
    let link = Link::new(queue, spec.rate.profile().clone(), overhead);
    Port::new(link, record, overhead, spec.loss, stream(seed, replication, name))
}

/// One-way delays of hosts at a round-trip time of their own: the path's, stretched in proportion.
fn delays(path: &scenario::Path, rtt: Option<Span>) -> (Span, Span) {
    match rtt {
        None => (path.client_delay, path.server_delay),
        Some(rtt) => {
            let both = (path.client_delay + path.server_delay).0.max(1);
            let half = rtt.0 / 2;
            let client = (u128::from(half) * u128::from(path.client_delay.0) / u128::from(both)) as u64;
            (Span(client), Span(half - client))
        }
    }
}

fn config(tcp: &Tcp) -> tcp::Config {
    tcp::Config {
        mss: tcp.mss.0 as u32,
        initial_segments: tcp.initial_window,
        ack_delay: if tcp.delayed_ack { tcp.ack_delay } else { Span::ZERO },
        sack: tcp.sack,
        timestamps: tcp.timestamps,
        receive_window: tcp.receive_window.0,
        min_rto: tcp.min_rto,
        idle_restart: tcp.idle_restart,
        limited_transmit: tcp.limited_transmit,
        grow_half_used: tcp.transport != Transport::NewReno,
        partial_acks: tcp.transport != Transport::Reno,
    }
}

fn control(tcp: &Tcp) -> Control {
    let config = config(tcp);
    let (mss, initial) = (u64::from(config.mss), config.initial_window());
    let target = tcp.ledbat_target;
    let hystart = match tcp.hystart {
        scenario::HyStart::None => None,
        scenario::HyStart::Linux => Some(HyStart::Linux),
        scenario::HyStart::Rfc9406 => Some(HyStart::Rfc9406),
    };
    let cubic = move |arithmetic| {
        let cubic = Cubic::new(mss, initial, arithmetic);
        hystart.into_iter().fold(cubic, Cubic::with_hystart)
    };
    match tcp.transport {
        Transport::Cubic => Box::new(move || Box::new(cubic(Arithmetic::Linux))),
        Transport::CubicRfc9438 => Box::new(move || Box::new(cubic(Arithmetic::Exact))),
        Transport::Bic => Box::new(move || Box::new(Bic::new(mss, initial))),
        Transport::Compound => Box::new(move || Box::new(Compound::new(mss, initial))),
        Transport::Ledbat => Box::new(move || Box::new(Ledbat::new(mss, initial, target))),
        Transport::LedbatPlusPlus => Box::new(move || Box::new(LedbatPlusPlus::new(mss, initial, target))),
        Transport::NewReno => Box::new(move || Box::new(Reno::new(mss, initial, Counting::Acks))),
        Transport::Reno | Transport::Udp => Box::new(move || Box::new(Reno::new(mss, initial, Counting::Bytes))),
    }
}
