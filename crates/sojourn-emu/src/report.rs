//! What a run came to, in the shape that `sojourn emulate --json` prints.

use crate::drive::Driven;
use crate::forward::{Counts, SideReport};
use crate::init::Ended;
use crate::lateness::LatenessSummary;
use crate::ledger::{PairCounts, Recorded};
use crate::linux::processor::Shares;
use crate::pace::Paced;
use crate::replay::Agreement;
use crate::setup::Setup;
use crate::verdict::Verdict;
use serde::Serialize;
use sojourn_net::Span;
use sojourn_sim::Direction;
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
        let Facts { recorded, driven, ended, base_rtt, ring, processors, congestion, without, rootless } = facts;
        let sides = driven.forwarder.sides();
        let of_sides = |of: &dyn Fn(&SideReport) -> Option<LatenessSummary>| -> BTreeMap<_, _> {
            Direction::BOTH.iter().map(|way| (way.name(), of(&sides[*way as usize]))).collect()
        };
        let lateness_us = of_sides(&|side| side.written.summary());
        let path = &setup.document.path;
        let mut verdict = Verdict::new();
        for way in Direction::BOTH {
            let last = if way == Direction::Down { path.hops.first() } else { path.hops.last() };
            let rate = last.and_then(|hop| hop.link(way).rate.mean());
            if let (Some(rate), Some(paced)) = (rate, recorded.paced[way as usize]) {
                let name = path.links().filter(|link| link.direction == way).map(|link| link.name());
                let name = if way == Direction::Down { name.take(1).last() } else { name.last() };
                verdict.rate(&name.unwrap_or_default(), rate.0 as f64, paced.ratio);
            }
        }
        if let Some(median) = median(&base_rtt.got) {
            verdict.base_rtt(base_rtt.set, median);
        }
        for (way, late) in &lateness_us {
            if let Some(late) = late {
                verdict.lateness(way, late.p99);
            }
        }
        let sum = |of: fn(&Counts) -> u64| sides.iter().map(|side| of(&side.counts)).sum::<u64>();
        let lost = ring.iter().sum::<u64>() + sum(|counts| counts.refused_pkts);
        verdict.none("lost outside the queues", lost, "packets were lost outside the queues");
        let unfit = sum(|counts| counts.unfit_pkts);
        verdict.none("larger than the MTU", unfit, "packets were larger than the MTU or could not be read");
        let unrecorded = driven.forwarder.sink.lost;
        verdict.none("unrecorded", unrecorded, "lines of the record are missing");
        for (name, _, agreement) in &recorded.links {
            verdict.replay(name, agreement.decisions, agreement.equal);
        }
        let stamped = sides.iter().all(|side| side.read.is_some());
        let engine = Engine {
            clock: "wall",
            emulated_s: driven.end.as_secs(),
            stamps: if stamped { "kernel" } else { "read" },
            scheduling: if driven.fifo { "fifo" } else { "other" },
            rights: if rootless { "user namespace" } else { "root" },
            without,
            offload: if setup.offload { "nic" } else { "off" },
            access_rate_bps: setup.access().0,
            mtu: setup.mtu,
            congestion,
            base_rtt_ms: base_rtt,
            rate_got: Direction::BOTH.iter().map(|way| (way.name(), recorded.paced[*way as usize])).collect(),
            read_lateness_us: of_sides(&|side| side.read.as_ref().and_then(crate::lateness::Lateness::summary)),
            outside: Direction::BOTH.iter().map(|way| (way.name(), sides[*way as usize].counts)).collect(),
            ring_dropped_pkts: ring.iter().sum(),
            unstamped_pkts: sides.iter().map(|side| side.unstamped).sum(),
            clamped_pkts: sides.iter().map(|side| side.clamped.0).sum(),
            clamped_us: sides.iter().map(|side| side.clamped.1).fold(Span::ZERO, Span::max).0 as f64 * 1e-3,
            unrecorded,
            replay: recorded.links.iter().map(|(name, _, agreement)| (name.clone(), *agreement)).collect(),
            processors,
            thread_pct: driven.thread_pct,
            late_wakes: driven.late_wakes.0,
            latest_wake_us: driven.late_wakes.1.0 as f64 * 1e-3,
            flows: recorded.pair_of_flow.len(),
            pairs: if setup.pairs.is_empty() { BTreeMap::new() } else { recorded.pairs },
            pair_of_flow: if setup.pairs.is_empty() { Vec::new() } else { recorded.pair_of_flow },
        };
        let rtt = path.rtt();
        let mut links = BTreeMap::new();
        for ((name, mut summary, _), link) in recorded.links.into_iter().zip(path.links()) {
            summary.limit = link.spec.holds(rtt);
            links.insert(name, summary);
        }
        Self { links, lateness_us, command: ended, verdict, engine }
    }
}

/// The middle of some numbers; `None` if there are none.
fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
