//! What the page draws that is not in a result: each queue over time, and the packets of one moment.

use serde::Serialize;
use sojourn_net::log::{DropCause, Kind, NOT_DROPPED};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::Log;
use std::collections::BTreeMap;

/// Bins of a queue over time.
const BINS: usize = 200;
/// Packets that are watched at most; where one second has more, less than a second is watched.
const MOST_PACKETS: usize = 6000;

#[derive(Serialize)]
pub(crate) struct View {
    /// By link, from the beginning of the run.
    queues: BTreeMap<String, Queue>,
    watch: Watch,
    kinds: Vec<&'static str>,
    causes: Vec<&'static str>,
}

/// A queue over time, by the arrival of its packets.
#[derive(Serialize)]
struct Queue {
    bin_s: f64,
    /// Mean wait of the packets that left; null where none did.
    delay_ms: Vec<Option<f64>>,
    most_ms: Vec<Option<f64>>,
    drops: Vec<u32>,
}

/// The packets of one link that arrived in up to a second, in order.
#[derive(Default, Serialize)]
struct Watch {
    link: String,
    from_s: f64,
    until_s: f64,
    arrive_us: Vec<f64>,
    /// Start of transmission; null if it was dropped, or left after the end of the run.
    leave_us: Vec<Option<f64>>,
    /// Place in `causes`; null if it was not dropped.
    cause: Vec<Option<u8>>,
    /// Place in `kinds`.
    kind: Vec<u8>,
    flow: Vec<u32>,
    bytes: Vec<u32>,
    backlog: Vec<u32>,
}

pub(crate) fn of(scenario: &Scenario, logs: &[Log], (link, from_s): &(String, f64)) -> View {
    let names = scenario.link_names();
    let named = || names.iter().zip(logs);
    View {
        queues: named().map(|(name, log)| (name.clone(), queue(log, scenario.duration.0))).collect(),
        watch: named().find(|(name, _)| *name == link).map(|(_, log)| watch(link, log, *from_s)).unwrap_or_default(),
        kinds: Kind::ALL.map(Kind::name).to_vec(),
        causes: DropCause::ALL.map(DropCause::name).to_vec(),
    }
}

fn queue(log: &Log, duration_ns: u64) -> Queue {
    let width = duration_ns.div_ceil(BINS as u64).max(1);
    let mut bins = vec![(0u64, 0u64, 0u64, 0u32); BINS];
    for (i, arrived) in log.arrive_ns.iter().enumerate() {
        let Some((sum, count, most, drops)) = bins.get_mut((arrived / width) as usize) else { continue };
        if log.drop_cause[i] != NOT_DROPPED {
            *drops += 1;
        } else if log.depart_ns[i] >= 0 {
            let waited = (log.depart_ns[i] as u64).saturating_sub(*arrived);
            (*sum, *count, *most) = (*sum + waited, *count + 1, (*most).max(waited));
        }
    }
    let ms = |ns: f64| (ns / 10.0).round() / 1e5;
    Queue {
        bin_s: width as f64 / 1e9,
        delay_ms: bins.iter().map(|(sum, count, ..)| (*count > 0).then(|| ms(*sum as f64 / *count as f64))).collect(),
        most_ms: bins.iter().map(|(_, count, most, _)| (*count > 0).then_some(ms(*most as f64))).collect(),
        drops: bins.iter().map(|(.., drops)| *drops).collect(),
    }
}

fn watch(link: &str, log: &Log, from_s: f64) -> Watch {
    let from = (from_s.max(0.0) * 1e9) as u64;
    let first = log.arrive_ns.partition_point(|at| *at < from);
    let second = log.arrive_ns.partition_point(|at| *at < from + 1_000_000_000);
    let last = second.min(first + MOST_PACKETS);
    let until = if last < second { log.arrive_ns[last] } else { from + 1_000_000_000 };
    let since = |ns: u64| (ns as f64 - from as f64) / 1e3;
    let rows = first..last;
    let cause = |i: usize| Some(log.drop_cause[i]).filter(|cause| *cause != NOT_DROPPED);
    Watch {
        link: link.to_owned(),
        from_s: from as f64 / 1e9,
        until_s: until as f64 / 1e9,
        arrive_us: rows.clone().map(|i| since(log.arrive_ns[i])).collect(),
        leave_us: rows.clone().map(|i| (log.depart_ns[i] >= 0).then(|| since(log.depart_ns[i] as u64))).collect(),
        cause: rows.clone().map(cause).collect(),
        kind: rows.clone().map(|i| log.kind[i]).collect(),
        flow: rows.clone().map(|i| log.flow[i]).collect(),
        bytes: rows.clone().map(|i| log.size_bytes[i]).collect(),
        backlog: rows.map(|i| log.backlog_pkts[i]).collect(),
    }
}
