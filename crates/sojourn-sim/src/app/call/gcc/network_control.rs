//! The controller as a whole: from sent packets and reports to a target, a pace and probes.
//!
//! Source: libwebrtc `goog_cc_network_control.cc`, `send_side_bandwidth_estimation.cc`. The target is the lower of the
//! delay-based and the loss-based estimate; before the latter is ready, that of delays. Round trips of more than three
//! seconds lower it by a fifth each second. It never falls below what the streams are given at least, all of the audio
//! and 30 kbit/s of video (`bitrate_allocator.cc`). A probe lowers it no further than to 0.85 of what arrives.
//! Packets are paced at 2.5 times the target before the first report
//! and at 1.1 times after it.
//! Differences: the rule of 2 % and 10 % of loss, which acts until the loss-based estimate has three periods (750 ms),
//! is left out; the round-trip time is that of the reports, not of RTCP receiver reports.

use super::alr::AlrDetector;
use super::congestion_window::CongestionWindow;
use super::delay_based::DelayBased;
use super::feedback::{LOWEST_RATE, PacketResult, Probe};
use super::loss_based::{LossBased, State};
use super::probe_controller::{LimitedBy, ProbeController};
use super::probe_estimator::ProbeEstimator;
use super::throughput::Throughput;
use super::trendline::Usage;
use sojourn_net::{Span, Time};

const PACING: f64 = 1.1;
const PACING_AT_FIRST: f64 = 2.5;
/// Share of what arrives below which no probe's result counts.
const LEAST_PROBED: f64 = 0.85;
const RTT_LIMIT: Span = Span::from_secs(3);
const RTT_BACKOFF: f64 = 0.8;
const RTT_BACKOFF_INTERVAL: Span = Span::from_secs(1);
/// Most that is probed if the call has no limit.
const MOST_PROBED: f64 = 5e6;
/// Ceiling of the estimates.
const CEILING: f64 = 30e6;

/// Rates in bit/s between which the controller works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// At first.
    pub(crate) start: f64,
    /// What the streams are given at least, together.
    pub(crate) least: f64,
    /// The highest rate of the streams together.
    pub(crate) streams: f64,
}

/// The controller of one sender.
#[derive(Debug)]
pub(crate) struct GoogCc {
    delay_based: DelayBased,
    loss_based: LossBased,
    throughput: Throughput,
    probes: ProbeController,
    probe_estimator: ProbeEstimator,
    alr: AlrDetector,
    window: CongestionWindow,
    least: f64,
    target: f64,
    delay_limit: Option<f64>,
    reported: bool,
    in_alr: bool,
    rtt: Span,
    last_report: Option<Time>,
    last_sent: Time,
    backed_off: Time,
}

impl GoogCc {
    /// Starts at `now`.
    pub(crate) fn new(limits: Limits, now: Time) -> Self {
        let most = limits.streams.max(MOST_PROBED);
        let least = limits.least.max(LOWEST_RATE);
        let start = limits.start.max(least);
        let mut alr = AlrDetector::default();
        alr.set_target(start);
        Self {
            delay_based: DelayBased::new(start, least),
            loss_based: LossBased::new(least, CEILING),
            throughput: Throughput::default(),
            probes: ProbeController::new(start, most, limits.streams, now),
            probe_estimator: ProbeEstimator::default(),
            alr,
            window: CongestionWindow::default(),
            least,
            target: start,
            delay_limit: None,
            reported: false,
            in_alr: false,
            rtt: Span::ZERO,
            last_report: None,
            last_sent: now,
            backed_off: now,
        }
    }

    /// The target in bit/s.
    pub(crate) fn target(&self) -> f64 {
        self.target
    }

    /// The rate in bit/s at which packets are paced.
    pub(crate) fn pacing(&self) -> f64 {
        self.target * if self.reported { PACING } else { PACING_AT_FIRST }
    }

    /// The least round-trip time of the last report, if there was one.
    pub(crate) fn rtt(&self) -> Option<Span> {
        self.reported.then_some(self.rtt)
    }

    /// The probes asked for since the last time.
    pub(crate) fn take_probes(&mut self) -> Vec<Probe> {
        self.probes.take()
    }

    /// By which share the encoder is to drop frames, with so many bytes on their way.
    pub(crate) fn pushback(&mut self, in_flight: u64) -> f64 {
        self.window.pushback(in_flight, self.target, self.least)
    }

    /// A packet was sent.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u32) {
        self.last_sent = now;
        self.alr.sent(now, bytes);
    }

    /// Time passes: asked every 25 ms.
    pub(crate) fn process(&mut self, now: Time) {
        self.back_off(now);
        self.probes.process(self.alr.since(), now);
    }

    /// A report came. `results` are in the order of sending, those of packets that were lost among them.
    pub(crate) fn on_report(&mut self, now: Time, results: &[PacketResult]) {
        let mut arrived: Vec<PacketResult> =
            results.iter().filter(|result| result.arrived.is_some()).copied().collect();
        arrived.sort_by_key(|result| result.arrived);
        let Some(last_arrival) = arrived.last().and_then(|result| result.arrived) else { return };
        let waited = |result: &PacketResult| last_arrival.since(result.arrived.unwrap_or(last_arrival));
        let round_trips = arrived.iter().map(|result| now.since(result.sent) - waited(result));
        self.rtt = round_trips.min().unwrap_or(self.rtt);
        let longest = arrived.iter().map(|result| now.since(result.sent)).max().unwrap_or(self.rtt);
        self.reported = true;
        self.last_report = Some(now);
        self.delay_based.set_rtt(self.rtt);
        self.window.reported(longest, self.target);
        let alr = self.alr.since();
        if self.in_alr && alr.is_none() {
            self.probes.alr_ended(now);
        }
        self.in_alr = alr.is_some();
        self.throughput.add(&arrived);
        let arriving = self.throughput.rate();
        if let Some(rate) = arriving {
            self.loss_based.set_arriving(rate);
        }
        let least_probed = arriving.map_or(0.0, |rate| self.delay_based.rate().min(LEAST_PROBED * rate));
        let probed = self.probe_estimator.estimate(&arrived).map(|rate| rate.max(least_probed));
        let update = self.delay_based.report(&arrived, arriving, probed, now);
        if let Some(rate) = update.rate {
            self.delay_limit = Some(rate.min(CEILING));
        }
        let delay_limit = self.delay_limit.unwrap_or(self.target);
        self.loss_based.report(results, delay_limit, self.in_alr);
        if !self.back_off(now) {
            self.set_target(delay_limit, now);
        }
        if update.recovered {
            self.probes.recovered(alr, now);
        }
    }

    fn set_target(&mut self, delay_limit: f64, now: Time) {
        let (rate, state) = self.loss_based.result().unwrap_or((delay_limit, State::DelayBased));
        self.target = rate.min(delay_limit).max(self.least);
        self.alr.set_target(self.target);
        let limited_by = match state {
            _ if self.delay_based.usage() != Usage::Normal => LimitedBy::Held,
            State::Decreasing => LimitedBy::Held,
            State::DelayBased => LimitedBy::Delay,
            State::Increasing => LimitedBy::LossIncreasing,
        };
        self.probes.set_estimate(self.target, limited_by, now);
    }

    /// Lowers the target if reports take, or stay away, too long; whether they do.
    fn back_off(&mut self, now: Time) -> bool {
        let silent = self.last_report.map_or(Span::ZERO, |last| self.last_sent.since(last));
        if self.rtt + silent <= RTT_LIMIT {
            return false;
        }
        if now.since(self.backed_off) >= RTT_BACKOFF_INTERVAL {
            self.backed_off = now;
            self.target = (self.target * RTT_BACKOFF).max(self.least);
            self.alr.set_target(self.target);
            self.probes.set_estimate(self.target, LimitedBy::Held, now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { start: 300e3, least: 5e3, streams: 2.5e6 };

    #[test]
    fn it_starts_at_300_kbps_paces_at_2_5_times_and_probes_at_once() {
        let mut controller = GoogCc::new(LIMITS, Time::ZERO);
        assert_eq!((controller.target(), controller.pacing()), (300e3, 750e3));
        let probes: Vec<f64> = controller.take_probes().iter().map(|probe| probe.rate).collect();
        assert_eq!(probes, [900e3, 1800e3]);
    }

    #[test]
    fn silence_of_more_than_three_seconds_lowers_the_target_by_a_fifth_a_second() {
        let mut controller = GoogCc::new(LIMITS, Time::ZERO);
        let at = |ms: u64| Time(ms * 1_000_000);
        let results: Vec<PacketResult> = (0..20)
            .map(|i| PacketResult { seq: i, bytes: 1200, sent: at(i), arrived: Some(at(50 + i)), probe: None })
            .collect();
        controller.on_report(at(120), &results);
        let target = controller.target();
        assert_eq!(controller.pacing(), 1.1 * target);
        for ms in (120..5500).step_by(20) {
            controller.on_sent(at(ms), 1200);
            controller.process(at(ms));
        }
        // Beyond 3 s from 3.1 s on: at 3.1, 4.1 and 5.1 s.
        assert!((controller.target() / target - 0.512).abs() < 1e-6, "{}", controller.target() / target);
    }
    #[test]
    fn it_never_aims_below_what_the_streams_are_given_at_least() {
        let mut controller = GoogCc::new(Limits { least: 85e3, ..LIMITS }, Time::ZERO);
        let at = |ms: u64| Time(ms * 1_000_000);
        // 50 kbit/s arrive, and each packet 10 ms later than the one before: overuse throughout.
        for report in 0..200_u64 {
            let results: Vec<PacketResult> = (10 * report..10 * report + 10)
                .map(|i| PacketResult {
                    seq: i,
                    bytes: 125,
                    sent: at(10 * i),
                    arrived: Some(at(20 * i + 50)),
                    probe: None,
                })
                .collect();
            controller.on_report(at(20 * (10 * report + 9) + 100), &results);
        }
        assert_eq!((controller.target(), controller.pacing()), (85e3, 1.1 * 85e3));
        assert_eq!(controller.pushback(1_000_000), 0.0, "nothing to drop frames for");
    }
    #[test]
    fn a_probe_never_takes_it_below_what_arrives() {
        let mut controller = GoogCc::new(LIMITS, Time::ZERO);
        let at = |ms: u64| Time(ms * 1_000_000);
        let probe = controller.take_probes()[0];
        // 500 kbit/s arrive, and then a probe, of 1 kB in 2 ms each, at 160 kbit/s.
        let media = (0..12).map(|i| (20 * i, 50 + 20 * i, None));
        let probes = (0..12).map(|i| (240 + 2 * i, 290 + 50 * i, Some(probe)));
        let results: Vec<PacketResult> = (0..)
            .zip(media.chain(probes))
            .map(|(seq, (sent, arrived, probe))| PacketResult {
                seq,
                bytes: 1000,
                sent: at(sent),
                arrived: Some(at(arrived)),
                probe,
            })
            .collect();
        assert!(ProbeEstimator::default().estimate(&results).is_some_and(|rate| rate < 160e3));
        controller.on_report(at(900), &results);
        let arriving = controller.throughput.rate().unwrap();
        assert!((150e3..300e3).contains(&arriving), "{arriving}");
        assert!((controller.target() - 0.85 * arriving).abs() < 1.0, "{} of {arriving}", controller.target());
    }

    #[test]
    fn nothing_is_probed_while_a_queue_grows() {
        // 100 kbit/s of 400 are sent, which is to be probed every five seconds, and each packet comes later by so many
        // ms than the one before it.
        let probes = |later: u64| {
            let mut controller = GoogCc::new(Limits { least: 400e3, ..LIMITS }, Time::ZERO);
            controller.take_probes();
            let at = |ms: u64| Time(ms * 1_000_000);
            for report in 0..60_u64 {
                let results: Vec<PacketResult> = (10 * report..10 * report + 10)
                    .map(|i| {
                        controller.on_sent(at(20 * i), 250);
                        let arrived = Some(at((20 + later) * i + 50));
                        PacketResult { seq: i, bytes: 250, sent: at(20 * i), arrived, probe: None }
                    })
                    .collect();
                controller.on_report(at((20 + later) * (10 * report + 9) + 100), &results);
                controller.process(at((20 + later) * (10 * report + 9) + 100));
            }
            controller.take_probes().len()
        };
        assert!(probes(0) >= 1);
        assert_eq!(probes(10), 0);
    }
}
