//! What a burst of probes says about the path.
//!
//! Source: libwebrtc `probe_bitrate_estimator.cc`. A cluster counts once 80 % of its sendings and bytes have arrived,
//! in at most a second at either end. The result is the lower of the rates of sending and receiving; received at less
//! than 0.9 of the rate sent, it is 0.95 of the rate received; received at more than twice that, it is nothing.

use super::feedback::PacketResult;
use sojourn_net::{Span, Time};
use std::collections::BTreeMap;

const SHARE: f64 = 0.80;
const MOST_RATIO: f64 = 2.0;
const UNSATURATED: f64 = 0.9;
const TARGET: f64 = 0.95;
const LONGEST: Span = Span::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Cluster {
    packets: u32,
    bytes: f64,
    first_sent: Time,
    last_sent: Time,
    last_sent_bytes: f64,
    first_arrived: Time,
    first_arrived_bytes: f64,
    last_arrived: Time,
}

/// The clusters of the last second.
#[derive(Debug, Default)]
pub(super) struct ProbeEstimator {
    clusters: BTreeMap<u32, Cluster>,
}

impl ProbeEstimator {
    /// The rate in bit/s that the probes among these packets found, if they did.
    pub(super) fn estimate(&mut self, results: &[PacketResult]) -> Option<f64> {
        results.iter().fold(None, |last, result| self.add(result).or(last))
    }

    fn add(&mut self, result: &PacketResult) -> Option<f64> {
        let (probe, arrived, sent) = (result.probe?, result.arrived?, result.sent);
        self.clusters.retain(|_, cluster| cluster.last_arrived + LONGEST >= arrived);
        let bytes = f64::from(result.bytes);
        let cluster = self.clusters.entry(probe.id).or_insert(Cluster {
            packets: 0,
            bytes: 0.0,
            first_sent: sent,
            last_sent: sent,
            last_sent_bytes: bytes,
            first_arrived: arrived,
            first_arrived_bytes: bytes,
            last_arrived: arrived,
        });
        cluster.first_sent = cluster.first_sent.min(sent);
        if sent > cluster.last_sent {
            (cluster.last_sent, cluster.last_sent_bytes) = (sent, bytes);
        }
        if arrived < cluster.first_arrived {
            (cluster.first_arrived, cluster.first_arrived_bytes) = (arrived, bytes);
        }
        cluster.last_arrived = cluster.last_arrived.max(arrived);
        cluster.packets += 1;
        cluster.bytes += bytes;
        let least_packets = (f64::from(probe.sendings) * SHARE) as u32;
        if cluster.packets < least_packets || cluster.bytes < probe.bytes * SHARE {
            return None;
        }
        let sending = cluster.last_sent.since(cluster.first_sent);
        let receiving = cluster.last_arrived.since(cluster.first_arrived);
        if [sending, receiving].iter().any(|span| *span == Span::ZERO || *span > LONGEST) {
            return None;
        }
        let sent_rate = (cluster.bytes - cluster.last_sent_bytes) * 8.0 / sending.as_secs();
        let received_rate = (cluster.bytes - cluster.first_arrived_bytes) * 8.0 / receiving.as_secs();
        if received_rate > MOST_RATIO * sent_rate {
            return None;
        }
        let saturated = received_rate < UNSATURATED * sent_rate;
        Some(if saturated { TARGET * received_rate } else { sent_rate.min(received_rate) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::feedback::Probe;
    use super::*;

    /// The result of five packets of 1250 bytes, sent and received at these intervals.
    fn found(sent_ms: u64, arrived_ms: u64, packets: u64) -> Option<f64> {
        let rate = 10e3 / (sent_ms as f64 * 1e-3);
        let spacing = Span::from_millis(sent_ms);
        let probe = Probe { id: 1, rate, bytes: 6250.0, sendings: 5, spacing, asked: Time::ZERO };
        let at = |ms: u64| Time(ms * 1_000_000);
        let packet = |i: u64| PacketResult {
            seq: i,
            bytes: 1250,
            sent: at(i * sent_ms),
            arrived: Some(at(500 + i * arrived_ms)),
            probe: Some(probe),
        };
        ProbeEstimator::default().estimate(&(0..packets).map(packet).collect::<Vec<_>>())
    }

    #[test]
    fn a_probe_finds_its_own_rate_or_95_percent_of_a_slower_link() {
        assert!((found(10, 10, 5).unwrap() - 1e6).abs() < 1.0);
        assert!((found(10, 20, 5).unwrap() - 0.95 * 500e3).abs() < 1.0);
        assert!((found(10, 11, 5).unwrap() - 1e7 / 11.0).abs() < 1.0);
    }

    #[test]
    fn a_probe_of_which_too_much_is_missing_or_that_came_too_fast_finds_nothing() {
        assert_eq!(found(10, 10, 4).map(|rate| rate.round()), Some(1e6));
        assert_eq!(found(10, 10, 3), None);
        assert_eq!(found(10, 4, 5), None);
    }
}
