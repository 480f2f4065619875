//! What a run came to, in the shape that `sojourn emulate --json` prints.

use crate::ends::init::Ended;
use crate::forward::drive::Driven;
use crate::forward::forwarder::{Counts, SideReport};
use crate::lateness::{Lateness, LatenessSummary};
use crate::linux::processor::Shares;
use crate::record::ledger::{PairCounts, Recorded, RecordedLink};
use crate::record::pace::Paced;
use crate::record::replay::Agreement;
use crate::result::verdict::Verdict;
use crate::setup::Setup;
use serde::Serialize;
use sojourn_net::Span;
use sojourn_sim::Direction;
use sojourn_sim::scenario::Path;
use sojourn_sim::stats::LinkSummary;
use std::collections::BTreeMap;

/// A run of the emulator.
#[derive(Serialize)]
pub struct Report {
    /// As in `sojourn run --json`.
    pub links: BTreeMap<String, LinkSummary>,
    /// How late packets were given to the host at the end of each direction, after they were due.
    pub lateness_us: BTreeMap<&'static str, Option<LatenessSummary>>,
    /// How the command ended.
    pub command: Ended,
    /// Whether the emulator did what it was told.
    pub verdict: Verdict,
    /// How it was done.
    pub engine: Engine,
    /// Why log and capture ended before the run did; absent where they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_refused: Option<String>,
}

/// How a run was done, and what it was disturbed by.
#[derive(Serialize)]
pub struct Engine {
    /// `wall`: between real programs.
    pub clock: &'static str,
    /// Time that was emulated, in seconds.
    pub emulated_s: f64,
    /// Where the times of arrival come from: `kernel`, or `read` (when the emulator read the packet).
    pub stamps: &'static str,
    /// How the emulator's thread is scheduled: `fifo` or `other`.
    pub scheduling: &'static str,
    /// `root`, or `user namespace`.
    pub rights: &'static str,
    /// What could not be had, a sentence each, without its full stop.
    pub without: Vec<String>,
    /// `nic`: super-packets are cut at the access rate; `off`: hosts make single packets.
    pub offload: &'static str,
    /// The rate of the hosts' network cards.
    pub access_rate_bps: u64,
    /// Largest packet at IP.
    pub mtu: u32,
    /// TCP's congestion control at both ends.
    pub congestion: String,
    /// Idle round trips in milliseconds, without the time on the links, in order; and what was set.
    pub base_rtt_ms: BaseRtt,
    /// Of each direction: the rate got over the rate set while the queue was backlogged.
    pub rate_got: BTreeMap<&'static str, Option<Paced>>,
    /// How late packets were read after they had been sent; null without the kernel's stamps.
    pub read_lateness_us: BTreeMap<&'static str, Option<LatenessSummary>>,
    /// Packets outside the queues.
    pub outside: BTreeMap<&'static str, Counts>,
    /// Packets that an interface's ring dropped.
    pub ring_dropped_pkts: u64,
    /// Packets that had no stamp of the kernel although there are stamps.
    pub unstamped_pkts: u64,
    /// Packets whose stamp came too late to count, so that they arrived later than they were sent.
    pub clamped_pkts: u64,
    /// By how much at most, in microseconds.
    pub clamped_us: f64,
    /// Lines of the record that did not fit, so that the log has holes.
    pub unrecorded: u64,
    /// What the simulator decides about the logged arrivals, link by link.
    pub replay: BTreeMap<String, Agreement>,
    /// What the processors were busy with.
    pub processors: Shares,
    /// Processor time of the emulator's thread over the time of the run, in percent.
    pub thread_pct: f64,
    /// Times at which the emulator's thread woke more than 5 ms late, and the longest in microseconds.
    pub late_wakes: u64,
    /// The longest, in microseconds.
    pub latest_wake_us: f64,
    /// Flows that were seen.
    pub flows: usize,
    /// What pairs of hosts sent and lost, by the number of their addresses; absent if there are none beside the first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pairs: BTreeMap<u16, PairCounts>,
    /// The number of the addresses of each flow, by its number in the packet log; absent as `pairs` is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pair_of_flow: Vec<u16>,
}

/// The idle round trip.
#[derive(Clone, Debug, Serialize)]
pub struct BaseRtt {
    /// What was set.
    pub set: f64,
    /// What each probe got, less its time on the links.
    pub got: Vec<f64>,
}

/// What is known when a run is over.
pub struct Facts {
    /// Its records.
    pub recorded: Recorded,
    /// What the thread says.
    pub driven: Driven,
    /// How the command ended.
    pub ended: Ended,
    /// Idle round trips; `None` if there was no way to measure them.
    pub base_rtt: BaseRtt,
    /// Packets that the interfaces dropped: given, to be handed over.
    pub ring: [u64; 2],
    /// What the processors did.
    pub processors: Shares,
    /// The congestion control.
    pub congestion: String,
    /// What could not be had.
    pub without: Vec<String>,
    /// It ran in a user namespace.
    pub rootless: bool,
}

impl Report {
    /// Puts a report together, and judges.
    pub fn new(setup: &Setup, facts: Facts) -> Self {
        let sides = facts.driven.forwarder.sides();
        Self::of(setup, facts, &sides)
    }

    fn of(setup: &Setup, facts: Facts, sides: &[SideReport; 2]) -> Self {
        let path = &setup.document.path;
        let lateness_us = by_way(sides, |side| side.written.summary());
        let verdict = judge(path, &facts, sides, &lateness_us);
        let engine = Engine::of(setup, &facts, sides);
        let mut links = BTreeMap::new();
        for (RecordedLink { name, mut summary, .. }, link) in facts.recorded.links.into_iter().zip(path.links()) {
            summary.limit = link.spec.holds(path.rtt());
            links.insert(name, summary);
        }
        Self { links, lateness_us, command: facts.ended, verdict, engine, records_refused: None }
    }
}

impl Engine {
    fn of(setup: &Setup, facts: &Facts, sides: &[SideReport; 2]) -> Self {
        let Facts { recorded, driven, .. } = facts;
        let is_stamped = sides.iter().all(|side| side.read.is_some());
        let has_pairs = !setup.pairs.is_empty();
        Self {
            clock: "wall",
            emulated_s: driven.end.as_secs(),
            stamps: if is_stamped { "kernel" } else { "read" },
            scheduling: if driven.fifo { "fifo" } else { "other" },
            rights: if facts.rootless { "user namespace" } else { "root" },
            without: facts.without.clone(),
            offload: if setup.offload { "nic" } else { "off" },
            access_rate_bps: setup.access().0,
            mtu: setup.mtu,
            congestion: facts.congestion.clone(),
            base_rtt_ms: facts.base_rtt.clone(),
            rate_got: Direction::BOTH.iter().map(|way| (way.name(), recorded.paced[*way as usize])).collect(),
            read_lateness_us: by_way(sides, |side| side.read.as_ref().and_then(Lateness::summary)),
            outside: by_way(sides, |side| side.counts),
            ring_dropped_pkts: facts.ring.iter().sum(),
            unstamped_pkts: sides.iter().map(|side| side.unstamped).sum(),
            clamped_pkts: sides.iter().map(|side| side.clamped.0).sum(),
            clamped_us: sides.iter().map(|side| side.clamped.1).fold(Span::ZERO, Span::max).0 as f64 * 1e-3,
            unrecorded: driven.forwarder.sink.lost,
            replay: recorded.links.iter().map(|link| (link.name.clone(), link.agreement)).collect(),
            processors: facts.processors,
            thread_pct: driven.thread_pct,
            late_wakes: driven.late_wakes.0,
            latest_wake_us: driven.late_wakes.1.0 as f64 * 1e-3,
            flows: recorded.pair_of_flow.len(),
            pairs: if has_pairs { recorded.pairs.clone() } else { BTreeMap::new() },
            pair_of_flow: if has_pairs { recorded.pair_of_flow.clone() } else { Vec::new() },
        }
    }
}

/// One thing of each direction, by the direction's name.
fn by_way<T>(sides: &[SideReport; 2], of: impl Fn(&SideReport) -> T) -> BTreeMap<&'static str, T> {
    Direction::BOTH.iter().map(|way| (way.name(), of(&sides[*way as usize]))).collect()
}

/// Whether the emulator did what it was told. A direction's rate is judged by the link that its packets cross last.
fn judge(
    path: &Path,
    facts: &Facts,
    sides: &[SideReport; 2],
    lateness_us: &BTreeMap<&'static str, Option<LatenessSummary>>,
) -> Verdict {
    let Facts { recorded, driven, base_rtt, ring, .. } = facts;
    let mut verdict = Verdict::new();
    for way in Direction::BOTH {
        let mut of_way = recorded.links.iter().zip(path.links()).filter(|(_, link)| link.direction == way);
        let last = if way == Direction::Down { of_way.next() } else { of_way.last() };
        if let (Some((last, _)), Some(paced)) = (last, recorded.paced[way as usize])
            && let Some(rate) = last.summary.rate_bps
        {
            verdict.rate(&last.name, rate as f64, paced.ratio);
        }
    }
    if let Some(median) = median(&base_rtt.got) {
        verdict.base_rtt(base_rtt.set, median);
    }
    for (way, late) in lateness_us {
        if let Some(late) = late {
            verdict.lateness(way, late.p99);
        }
    }
    let sum = |of: fn(&Counts) -> u64| sides.iter().map(|side| of(&side.counts)).sum::<u64>();
    let lost = ring.iter().sum::<u64>() + sum(|counts| counts.refused_pkts);
    verdict.none("lost outside the queues", lost, "packets were lost outside the queues");
    let unfit = sum(|counts| counts.unfit_pkts);
    verdict.none("larger than the MTU", unfit, "packets were larger than the MTU or could not be read");
    verdict.none("unrecorded", driven.forwarder.sink.lost, "lines of the record are missing");
    for link in &recorded.links {
        verdict.replay(&link.name, link.agreement.decisions, link.agreement.equal);
    }
    verdict
}

/// The middle of some numbers; `None` if there are none.
fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::record::ledger::{Ledger, Outputs};
    use crate::tests::{TWO_HOPS, forwarder, setup};
    use serde_json::{Value, json};
    use sojourn_net::Time;
    use std::os::unix::net::UnixDatagram;

    /// The one thing that was late by so many µs.
    fn late(us: u64) -> Lateness {
        let mut late = Lateness::default();
        late.add(Span(us * 1000));
        late
    }

    /// A direction whose counts are `of`, and those above.
    fn side(of: u64, written_us: u64) -> SideReport {
        let counts = Counts {
            sent_pkts: of,
            super_pkts: of + 1,
            delivered_pkts: of + 2,
            refused_pkts: of + 3,
            unfit_pkts: of + 4,
            link_local_pkts: of + 5,
        };
        let (written, read, under_way) = (late(written_us), Some(late(written_us + 1)), of + 7);
        SideReport { written, read, counts, clamped: (of + 8, Span(of * 1000)), unstamped: of + 9, under_way }
    }

    fn facts(setup: &Setup) -> Facts {
        let mut recorded = Ledger::new(&setup.document, (1, 0), Outputs::default(), None)
            .unwrap()
            .finish(Time(9_000_000_000))
            .unwrap();
        for (k, link) in (0u64..).zip(&mut recorded.links) {
            link.agreement = Agreement { decisions: 10 + k, equal: 10 + k, ..Agreement::default() };
        }
        recorded.paced = [0.5, 0.25].map(|ratio| Some(Paced { windows: 4, ratio }));
        recorded.pair_of_flow = vec![0, 300, 0];
        recorded.pairs = BTreeMap::from([(300, PairCounts { sent: [1, 2], dropped: [3, 4] })]);
        let device = || Device::new(UnixDatagram::unbound().unwrap().into(), false, None);
        let mut forwarder = forwarder([device(), device()]);
        forwarder.sink.lost = 6;
        let late_wakes = (2, Span(7_500_000));
        let end = Time(1_500_000_000);
        Facts {
            recorded,
            driven: Driven { forwarder, end, fifo: true, thread_pct: 12.5, late_wakes, error: None },
            ended: Ended { exit: 3, ..Ended::default() },
            base_rtt: BaseRtt { set: 16.0, got: vec![19.0, 16.5, 16.0] },
            ring: [100, 1000],
            processors: Shares { busy_pct: 50.0, steal_pct: 1.0 },
            congestion: "reno".to_owned(),
            without: vec!["priority".to_owned()],
            rootless: false,
        }
    }

    /// The report of these directions (down, up), as it is printed.
    fn told(setup: &Setup, facts: Facts, sides: [SideReport; 2]) -> Value {
        serde_json::to_value(Report::of(setup, facts, &sides)).unwrap()
    }

    fn with_pairs() -> Setup {
        setup(TWO_HOPS, r#", "pairs": [{"number": 300, "metrics": {}}]"#)
    }

    #[test]
    fn each_direction_is_judged_by_the_link_that_its_packets_cross_last() {
        let setup = with_pairs();
        let report = told(&setup, facts(&setup), [side(10, 50), side(20, 2000)]);
        let rows = report["verdict"]["rows"].as_array().unwrap();
        let of = |row: &Value| (row["what"].clone(), row["link"].clone(), row["set"].clone(), row["got"].clone());
        let found: Vec<_> = rows.iter().map(of).collect();
        let row = |what, link: Value, set: f64, got: f64| (json!(what), link, json!(set), json!(got));
        let none = || Value::Null;
        assert_eq!(
            found,
            [
                row("rate while backlogged", json!("near.down"), 2.0, 1.0),
                row("rate while backlogged", json!("far.up"), 3.0, 0.75),
                row("base round trip, p50", none(), 16.0, 16.5),
                row("lateness, p99", json!("down"), 0.0, 50.0),
                row("lateness, p99", json!("up"), 0.0, 2000.9),
                // What the rings dropped and what hosts refused, both ways.
                row("lost outside the queues", none(), 0.0, 1100.0 + 13.0 + 23.0),
                row("larger than the MTU", none(), 0.0, 14.0 + 24.0),
                row("unrecorded", none(), 0.0, 6.0),
                row("decisions as in the simulator's replay", json!("near.down"), 10.0, 10.0),
                row("decisions as in the simulator's replay", json!("near.up"), 11.0, 11.0),
                row("decisions as in the simulator's replay", json!("far.down"), 12.0, 12.0),
                row("decisions as in the simulator's replay", json!("far.up"), 13.0, 13.0),
            ]
        );
        assert_eq!(report["verdict"]["held"], false);
        assert_eq!(report["command"]["exit"], 3);
    }

    #[test]
    fn what_disturbed_a_run_is_told_by_direction_or_of_both_together() {
        let setup = with_pairs();
        let report = told(&setup, facts(&setup), [side(10, 50), side(20, 2000)]);
        let engine = &report["engine"];
        for (key, value) in [
            ("clock", json!("wall")),
            ("emulated_s", json!(1.5)),
            ("stamps", json!("kernel")),
            ("scheduling", json!("fifo")),
            ("rights", json!("root")),
            ("without", json!(["priority"])),
            ("offload", json!("nic")),
            ("access_rate_bps", json!(1_000_000_000)),
            ("mtu", json!(1500)),
            ("congestion", json!("reno")),
            ("base_rtt_ms", json!({"set": 16.0, "got": [19.0, 16.5, 16.0]})),
            ("ring_dropped_pkts", json!(1100)),
            ("unstamped_pkts", json!(19 + 29)),
            ("clamped_pkts", json!(18 + 28)),
            ("clamped_us", json!(20.0)),
            ("unrecorded", json!(6)),
            ("processors", json!({"busy_pct": 50.0, "steal_pct": 1.0})),
            ("thread_pct", json!(12.5)),
            ("late_wakes", json!(2)),
            ("latest_wake_us", json!(7500.0)),
            ("flows", json!(3)),
            ("pairs", json!({"300": {"sent": [1, 2], "dropped": [3, 4]}})),
            ("pair_of_flow", json!([0, 300, 0])),
        ] {
            assert_eq!(engine[key], value, "{key}");
        }
        assert_eq!(
            (&engine["rate_got"]["down"]["ratio"], &engine["rate_got"]["up"]["ratio"]),
            (&json!(0.5), &json!(0.25))
        );
        assert_eq!(
            (&engine["outside"]["down"]["sent_pkts"], &engine["outside"]["up"]["sent_pkts"]),
            (&json!(10), &json!(20))
        );
        assert_eq!(
            (&report["lateness_us"]["down"]["max"], &engine["read_lateness_us"]["down"]["max"]),
            (&json!(50.0), &json!(51.0))
        );
        assert_eq!(engine["replay"]["far.down"]["decisions"], 12);
        let limits = ["far.down", "far.up", "near.down", "near.up"].map(|link| report["links"][link]["limit"].clone());
        let limits = limits.map(|limit| limit["packets"].as_u64().or(limit["pkts"].as_u64()));
        assert_eq!(limits, [14, 13, 12, 11].map(Some), "each link has its own");
    }

    #[test]
    fn stamps_are_the_kernels_only_if_both_ends_have_them_and_nothing_is_judged_that_was_not_seen() {
        let setup = setup(TWO_HOPS, "");
        for unstamped in 0..2 {
            let mut sides = [side(0, 1), side(0, 1)];
            sides[unstamped].read = None;
            let report = told(&setup, facts(&setup), sides);
            assert_eq!(report["engine"]["stamps"], "read");
            let read = |way| report["engine"]["read_lateness_us"][way].is_null();
            assert_eq!([read("down"), read("up")], [unstamped == 0, unstamped == 1]);
        }
        let mut idle = facts(&setup);
        (idle.rootless, idle.driven.fifo, idle.driven.forwarder.sink.lost) = (true, false, 0);
        (idle.ring, idle.recorded.paced, idle.base_rtt.got) = ([0; 2], [None; 2], Vec::new());
        let nothing = SideReport {
            written: Lateness::default(),
            read: None,
            counts: Counts::default(),
            clamped: (0, Span::ZERO),
            unstamped: 0,
            under_way: 0,
        };
        let report = told(&setup, idle, [nothing.clone(), nothing]);
        assert_eq!(
            (&report["engine"]["rights"], &report["engine"]["scheduling"]),
            (&json!("user namespace"), &json!("other"))
        );
        let whats: Vec<_> =
            report["verdict"]["rows"].as_array().unwrap().iter().map(|row| row["what"].clone()).collect();
        assert_eq!(
            whats[..3],
            ["lost outside the queues", "larger than the MTU", "unrecorded"].map(|what| json!(what))
        );
        assert_eq!((whats.len(), &report["verdict"]["held"]), (7, &json!(true)));
        // Without further pairs, nothing is told of them.
        assert_eq!([&report["engine"]["pairs"], &report["engine"]["pair_of_flow"]], [&Value::Null; 2]);
        assert_eq!(report["engine"]["flows"], 3);
    }
}
