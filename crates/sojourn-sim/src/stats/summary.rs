//! The numbers of a run, in the shape that `run --json` prints.

use super::digits::tidy;
use super::group_summary::{Fairness, Groups};
use super::histogram::Histogram;
use super::link_record::LinkRecord;
use crate::engine::connection::FlowTotals;
use crate::scenario::QueueLimit;
use serde::Serialize;
use sojourn_net::log::DropCause;
use sojourn_net::{Rate, Time};
use std::collections::BTreeMap;

/// Bytes of a full-sized packet, in whose transmission times occupancy is read as a delay.
const FULL_PACKET: f64 = 1500.0;

/// A run in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// By link: `down` and `up`, or of several hops `home.up`.
    pub links: BTreeMap<String, LinkSummary>,
    /// The background connections.
    pub flows: FlowSummary,
    /// Groups of flows by name; absent if there are none.
    #[serde(skip_serializing_if = "Groups::is_empty")]
    pub groups: Groups,
    /// How evenly the flows of each direction share; absent if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fairness: BTreeMap<&'static str, Fairness>,
    /// The work done.
    pub engine: EngineSummary,
}

/// One link over the measured period.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSummary {
    /// The link's (mean) rate; null if unlimited.
    pub rate_bps: Option<u64>,
    /// What its queue holds at most; absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// Packets that arrived.
    pub arrived_pkts: u64,
    /// Packets dropped.
    pub dropped_pkts: u64,
    /// Packets whose transmission started.
    pub departed_pkts: u64,
    /// Of those, the ones with payload.
    pub departed_data_pkts: u64,
    /// Packets marked Congestion Experienced; absent if none was.
    #[serde(skip_serializing_if = "is_zero")]
    pub marked_pkts: u64,
    /// Bytes (at IP) of the packets whose transmission started.
    pub departed_bytes: u64,
    /// Packets waiting at the end of the period.
    pub backlog_pkts: u32,
    /// Dropped over arrived.
    pub loss: f64,
    /// Bytes carried, link-layer overhead included, over rate × time; above 1 by up to a packet where the rate changes
    /// during the last transmission.
    pub utilisation: f64,
    /// Standard deviation of the utilisation of whole seconds.
    pub utilisation_sd_1s: f64,
    /// Quantiles of the utilisation of whole seconds.
    pub utilisation_quantiles: Quantiles,
    /// Time from arrival to the start of transmission of the packets that left.
    pub queue_delay_ms: DelaySummary,
    /// The distribution of that time.
    pub queue_delay_cdf: DelayCdf,
    /// Mean number of packets waiting × the time of a 1500-byte packet.
    pub occupancy_delay_ms: f64,
    /// Mean number of packets waiting, over time.
    pub occupancy_pkts: f64,
    /// Drops by cause; causes other than `full` that did not occur are absent.
    pub drops_by_cause: BTreeMap<&'static str, u64>,
    /// The period in bins.
    pub series: Series,
}

/// Quantiles of a distribution.
#[derive(Clone, Debug, Serialize)]
pub struct Quantiles {
    p5: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p95: f64,
}

/// A distribution of delays in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct DelaySummary {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

/// A distribution function of delays: quantiles in milliseconds, and the share of packets (0 to 1) at or below each.
#[derive(Clone, Debug, Serialize)]
pub struct DelayCdf {
    ms: Vec<f64>,
    share: Vec<f64>,
}

impl DelayCdf {
    /// Both lists are empty if nothing left.
    fn of(wait: &Histogram) -> Self {
        let shares = if wait.count() == 0 { &[] } else { &CDF_SHARES[..] };
        let at = |q: f64| if q < 1.0 { wait.quantile(q) } else { wait.max() as f64 };
        Self { ms: shares.iter().map(|q| tidy(at(*q) * 1e-6)).collect(), share: shares.to_vec() }
    }
}

/// Shares whose quantiles draw a distribution of delays: every twentieth, and both tails more closely. The last is the
/// maximum.
const CDF_SHARES: [f64; 29] = [
    0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
    0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1.0,
];

/// A link over time.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Width of a bin in seconds.
    bin_s: f64,
    utilisation: Vec<f64>,
    /// Mean queueing delay of the packets that left in the bin; null if none did.
    queue_delay_ms: Vec<Option<f64>>,
    dropped_pkts: Vec<u64>,
}

/// Background TCP connections over the measured period.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSummary {
    /// Connections that ended.
    pub completed: u64,
    /// Mean number of open connections.
    pub mean_concurrent: f64,
    /// Payload delivered in order, by time.
    pub goodput_bps: f64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Time for which a sender had sent nothing when its timer expired, summed.
    pub timeout_wait_s: f64,
}

/// What the engine did, warm-up included.
#[derive(Clone, Debug, Serialize)]
pub struct EngineSummary {
    /// Packets that crossed a link.
    pub packets: u64,
    /// Events.
    pub events: u64,
    /// Simulated time in seconds.
    pub simulated_s: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Summary {
    pub(crate) fn new(
        links: &[(String, &LinkRecord, Option<Rate>)],
        (before, after): (&FlowTotals, &FlowTotals),
        (groups, fairness): (Groups, BTreeMap<&'static str, Fairness>),
        (from, to): (Time, Time),
        packets_before: u64,
        events: u64,
    ) -> Self {
        let seconds = to.since(from).as_secs();
        let packets = packets_before + links.iter().map(|(_, record, _)| record.departed).sum::<u64>();
        let summary = |record, rate| LinkSummary::new(record, rate, from, to);
        Self {
            links: links.iter().map(|(name, record, rate)| (name.clone(), summary(record, *rate))).collect(),
            flows: FlowSummary {
                completed: after.completed - before.completed,
                mean_concurrent: tidy((after.open - before.open) as f64 * 1e-9 / seconds),
                goodput_bps: tidy((after.delivered - before.delivered) as f64 * 8.0 / seconds),
                retransmits: after.retransmits - before.retransmits,
                timeouts: after.timeouts - before.timeouts,
                timeout_wait_s: tidy((after.waited - before.waited).as_secs()),
            },
            groups,
            fairness,
            engine: EngineSummary { packets, events, simulated_s: tidy(to.as_secs()) },
        }
    }
}

impl LinkSummary {
    /// The numbers of a link from `from` to `to`, since when and until when its record counts.
    pub fn new(record: &LinkRecord, rate: Option<Rate>, from: Time, to: Time) -> Self {
        let period = to.since(from);
        let bytes_per_second = rate.map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0);
        let occupancy = record.occupancy(to) as f64 / period.0 as f64;
        let dropped = record.total_dropped();
        let ms = |ns: f64| tidy(ns * 1e-6);
        let wait = &record.sojourn;
        let seconds = record.bins.seconds();
        let second = |q| tidy(seconds.quantile(q) / bytes_per_second);
        let bin_s = record.bins.width().as_secs();
        let bins = record.bins.series();
        let last = (period.0.div_ceil(record.bins.width().0) as usize).min(bins.len());
        let width_of = |i: usize| (period.as_secs() - i as f64 * bin_s).min(bin_s);
        let causes = DropCause::ALL.into_iter().map(|cause| (cause.name(), record.dropped[cause as usize]));
        Self {
            rate_bps: rate.map(|rate| rate.0),
            limit: None,
            arrived_pkts: record.arrived,
            dropped_pkts: dropped,
            departed_pkts: record.departed,
            departed_data_pkts: record.departed_data,
            marked_pkts: record.marked,
            departed_bytes: record.departed_bytes,
            backlog_pkts: record.waiting(),
            loss: tidy(dropped as f64 / record.arrived.max(1) as f64),
            utilisation: tidy(record.bins.bytes() / (bytes_per_second * period.as_secs())),
            utilisation_sd_1s: tidy(record.bins.seconds_sd() / bytes_per_second),
            utilisation_quantiles: Quantiles {
                p5: second(0.05),
                p25: second(0.25),
                p50: second(0.5),
                p75: second(0.75),
                p95: second(0.95),
            },
            queue_delay_ms: DelaySummary {
                mean: ms(wait.mean()),
                p50: ms(wait.quantile(0.5)),
                p95: ms(wait.quantile(0.95)),
                p99: ms(wait.quantile(0.99)),
                max: ms(wait.max() as f64),
            },
            queue_delay_cdf: DelayCdf::of(wait),
            occupancy_delay_ms: tidy(rate.map_or(0.0, |_| occupancy * FULL_PACKET / bytes_per_second * 1e3)),
            occupancy_pkts: tidy(occupancy),
            drops_by_cause: causes.filter(|(cause, count)| *count > 0 || *cause == DropCause::Full.name()).collect(),
            series: Series {
                bin_s,
                utilisation: (0..last).map(|i| tidy(bins[i].bytes() / bytes_per_second / width_of(i))).collect(),
                queue_delay_ms: bins[..last].iter().map(|bin| bin.mean_wait().map(ms)).collect(),
                dropped_pkts: bins[..last].iter().map(|bin| bin.dropped).collect(),
            },
        }
    }
}
