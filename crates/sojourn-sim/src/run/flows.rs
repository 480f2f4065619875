//! Sets up background traffic.

use super::Engine;
use super::hosts::{Placed, control, way};
use crate::app::{
    Bulk, Chirp, Datagrams, OnOff, Packmime, PackmimeModel, QuicSettings, Recorded, Recording, Sessions, Source, Udp,
    VbrVideo,
};
use crate::distribution::Distribution;
use crate::engine::AccessAt;
use crate::scenario::{self, Flows, Scenario, SourceSpec, Tcp, Transport, Whose};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Bytes, Rate, Span, Time};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Adds the sources of the group of flows in place `origin`; `stream_of` makes the random stream of each,
    /// `access_link` its access link if it has one.
    pub(super) fn add_flows(
        &mut self,
        scenario: &Scenario,
        origin: u16,
        stream_of: &dyn Fn(u32) -> Pcg64Mcg,
        access_link: &dyn Fn(&mut Self, u32) -> Option<AccessAt>,
    ) {
        let flows = &scenario.flows[usize::from(origin)];
        let settings = flows.tcp();
        let seed: u64 = stream_of(flows.count).random();
        let (first_group, first_source) = (self.network.groups(), self.sources.len());
        let (direction, sender) = (flows.direction, flows.direction.source());
        let hosts_with = |engine: &mut Self, settings: &Tcp, rtt, access, seed| {
            let way = way(&scenario.path, flows.over.as_deref(), rtt, access);
            engine.network.add_group(settings.endpoint.clone(), control(settings, seed), way, origin, true)
        };
        let hosts = |engine: &mut Self, rtt, access, seed| hosts_with(engine, &settings, rtt, access, seed);
        let shared = flows.access.is_none().then(|| hosts(self, flows.rtt, None, seed));
        let mut of_recorded: BTreeMap<Own, u16> = BTreeMap::new();
        for k in 0..flows.count {
            let group = shared.unwrap_or_else(|| {
                let access = access_link(self, k);
                hosts(self, flows.rtt, access, seed.wrapping_add(u64::from(k) << 32))
            });
            let mut rng = stream_of(k);
            let number = self.next_number();
            let wait = Span((rng.random::<f64>() * flows.start_within.0 as f64) as u64);
            let start = Time::ZERO + flows.start.unwrap_or_default() + wait;
            let stop = flows.stop.map(|stop| Time(stop.0));
            let datagrams = || Datagrams::new(number, group, direction);
            let paced = |gap, size, rng| {
                let stop = stop.unwrap_or(Time::NEVER);
                Box::new(Udp { datagrams: datagrams(), gap, size, start, stop, rng, due: 0.0 })
            };
            let source: Box<dyn Source> = match &flows.source {
                SourceSpec::Bulk { size } => {
                    let size = size.map(|Bytes(bytes)| bytes);
                    Box::new(Bulk { number, group, sender, size, start, stop, connection: None })
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
                SourceSpec::Packmime(packmime) => {
                    let mean = packmime.response_mean.map(|bytes| bytes.0 as f64);
                    let model = PackmimeModel::new(packmime.rate, packmime.http, mean, rng);
                    Box::new(Packmime { number, group, client: sender.other(), start, model, open: Default::default() })
                }
                SourceSpec::Video(video) => {
                    let (clip, packet) = (video.clip(&mut rng), video.packet.0 as u16);
                    Box::new(VbrVideo { datagrams: datagrams(), clip, packet, start })
                }
                SourceSpec::Recorded(recorded) => {
                    let recording = recorded.recording();
                    let path = (scenario.base_rtt(flows), scenario.delay_of_queues(flows));
                    let kinds = kinds_of_hosts(&recording, recorded, flows, path, &settings);
                    let groups = kinds
                        .map(|kind| match kind {
                            (None, None, false, false) => group,
                            (rtt, window, bbr, ecn) => *of_recorded.entry(kind).or_insert_with(|| {
                                let mut settings = match bbr {
                                    true => Flows { transport: Transport::Bbr, ..flows.clone() }.tcp(),
                                    false => settings.clone(),
                                };
                                settings.endpoint.initial_segments =
                                    window.unwrap_or(settings.endpoint.initial_segments);
                                if ecn {
                                    settings.endpoint.ecn = settings.transport.ecn_mode();
                                }
                                let seed = seed ^ rtt.map_or(0, |rtt| rtt.0) ^ u64::from(window.unwrap_or(0)) << 56;
                                hosts_with(self, &settings, rtt.or(flows.rtt), None, seed)
                            }),
                        })
                        .collect();
                    let clients = sender.other();
                    let quic = quic_settings(flows, recorded, seed);
                    Box::new(Recorded::new(number, recording, groups, clients, quic, recorded.scale, &mut rng))
                }
                SourceSpec::Chirp { bursts, gap, every } => {
                    let (first, bursts, gap, every) = (settings.mss.0, *bursts, *gap, *every);
                    Box::new(Chirp { number, group, sender, first, bursts, gap, every, start, connection: None })
                }
                SourceSpec::Heartbeat { size, every } => {
                    let (first, gap, every) = (size.0, Span::ZERO, *every);
                    Box::new(Chirp { number, group, sender, first, bursts: 1, gap, every, start, connection: None })
                }
                SourceSpec::OnOff { rate, size, on, off } => {
                    let (gap, size) = (interval(*rate, size.0 as f64), size.0 as u16);
                    let (on, off) = (on.clone(), off.clone());
                    Box::new(OnOff { datagrams: datagrams(), gap, size, on, off, start, rng, until: Time::ZERO })
                }
            };
            self.sources.push(source);
        }
        self.groups
            .push(Placed { groups: first_group..self.network.groups(), sources: first_source..self.sources.len() });
    }
}

/// What the group has for a recording's connections of QUIC: its controller, in datagrams of their payload, without
/// habits of Linux, whose kernel has no QUIC.
fn quic_settings(flows: &Flows, recorded: &scenario::Recorded, seed: u64) -> QuicSettings {
    let (group, seeds) = (flows.clone(), Cell::new(seed));
    let of_recording = recorded.initial_window == Whose::Recorded;
    let make = move |datagram, window: Option<u32>| {
        let mut settings = Flows { mss: Bytes(datagram), stack: None, ..group.clone() }.tcp();
        let own = settings.endpoint.initial_segments;
        settings.endpoint.initial_segments = window.filter(|_| of_recording).unwrap_or(own);
        control(&settings, seeds.replace(seeds.get().wrapping_add(1)))()
    };
    QuicSettings { control: Box::new(make), ecn: flows.ecn }
}

/// What the hosts of a recorded connection have of their own: a round-trip time, an initial window, BBR, and ECN.
type Own = (Option<Span>, Option<u32>, bool, bool);

/// What each connection's hosts have that the group's have not. With access links they have what the group's have;
/// `ecn` of the group decides for all.
fn kinds_of_hosts<'a>(
    recording: &'a Recording,
    recorded: &'a scenario::Recorded,
    flows: &'a Flows,
    path: (Span, Span),
    settings: &'a Tcp,
) -> impl Iterator<Item = Own> {
    let rtts = groups_by_rtt(recording, path);
    recording.connections.iter().zip(rtts).map(|(connection, rtt)| {
        let own = flows.access.is_none();
        let seen = connection.initial_window.filter(|window| *window != settings.endpoint.initial_segments);
        let window = seen.filter(|_| own && recorded.initial_window == Whose::Recorded);
        let bbr = own && connection.bbr && recorded.transport == Whose::Recorded && flows.transport.cuts_at_losses();
        let ecn = own && flows.ecn.is_none() && connection.ecn != [false; 2];
        (rtt.filter(|_| own && flows.rtt.is_none()), window, bbr, ecn)
    })
}

/// The round-trip time of each connection, rounded so that at most 24 differ: each kind of distance costs every event
/// a little. It has not what the queues of the path add by themselves. `None` if it is unknown, or the path's.
fn groups_by_rtt(recording: &Recording, (path, queues): (Span, Span)) -> impl Iterator<Item = Option<Span>> {
    let known = || recording.connections.iter().filter_map(|connection| connection.rtt);
    let mut step = 0.02;
    let rounded = |rtt: Span, step: f64| {
        let place = libm::round(libm::log(rtt.0.max(1000) as f64) / step);
        Span(libm::exp(place * step) as u64)
    };
    while known().map(|rtt| rounded(rtt, step)).collect::<BTreeSet<_>>().len() > 24 {
        step *= 1.5;
    }
    let near = move |rtt: Span| (rtt.0 as f64 / path.0.max(1) as f64 - 1.0).abs() < 0.02;
    recording
        .connections
        .iter()
        .map(move |connection| connection.rtt.filter(|rtt| !near(*rtt)).map(|rtt| rounded(rtt, step) - queues))
}

/// Time between packets of `bytes` at a rate.
fn interval(rate: Rate, bytes: f64) -> Span {
    Span::from_secs_f64(bytes * 8.0 / rate.0 as f64)
}
