//! The delay-based estimate: groups, trend, and rate control together.
//!
//! Source: libwebrtc `delay_based_bwe.cc`. Overuse lowers the rate; else the result of a probe sets it; else it follows
//! the rate control. After two seconds without a packet the trend is forgotten.

use super::aimd::Aimd;
use super::feedback::PacketResult;
use super::inter_arrival::InterArrival;
use super::trendline::{Trendline, Usage};
use sojourn_net::{Span, Time};

const STREAM_TIMEOUT: Span = Span::from_secs(2);

/// What a report changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Update {
    /// The new estimate in bit/s.
    pub(super) rate: Option<f64>,
    /// The queue has drained after an overuse.
    pub(super) recovered: bool,
}

/// The estimator.
#[derive(Debug)]
pub(super) struct DelayBased {
    arrivals: InterArrival,
    trendline: Trendline,
    aimd: Aimd,
    last_packet: Option<Time>,
}

impl DelayBased {
    /// Starts at a rate in bit/s, and never goes below another.
    pub(super) fn new(start: f64, least: f64) -> Self {
        Self {
            arrivals: InterArrival::default(),
            trendline: Trendline::default(),
            aimd: Aimd::new(start, least),
            last_packet: None,
        }
    }

    /// The present rate in bit/s.
    pub(super) fn rate(&self) -> f64 {
        self.aimd.rate()
    }

    /// How the path is used.
    pub(super) fn usage(&self) -> Usage {
        self.trendline.usage()
    }

    /// The round-trip time.
    pub(super) fn set_rtt(&mut self, rtt: Span) {
        self.aimd.set_rtt(rtt);
    }

    /// Takes a report at `now`, in order of arrival, with the rate that arrives and the result of a probe.
    pub(super) fn report(
        &mut self,
        results: &[PacketResult],
        arriving: Option<f64>,
        probed: Option<f64>,
        now: Time,
    ) -> Update {
        let mut recovered = false;
        for result in results {
            let Some(arrived) = result.arrived else { continue };
            if self.last_packet.is_none_or(|last| now.since(last) > STREAM_TIMEOUT) {
                self.arrivals = InterArrival::default();
                self.trendline = Trendline::default();
            }
            self.last_packet = Some(now);
            let before = self.trendline.usage();
            if let Some(deltas) = self.arrivals.add(result.sent, arrived) {
                self.trendline.update(deltas, arrived);
            }
            recovered |= before == Usage::Under && self.trendline.usage() == Usage::Normal;
        }
        let usage = self.trendline.usage();
        if usage == Usage::Over {
            let rate = match arriving {
                Some(rate) if self.aimd.may_reduce(now, rate) => Some(self.aimd.update(usage, arriving, now)),
                Some(_) => None,
                // Nothing measured yet: halve it every 200 ms.
                None if self.aimd.may_reduce(now, 0.5 * self.aimd.rate()) => {
                    self.aimd.set(0.5 * self.aimd.rate(), now);
                    Some(self.aimd.rate())
                }
                None => None,
            };
            return Update { rate, recovered: false };
        }
        if let Some(probed) = probed {
            self.aimd.set(probed, now);
            return Update { rate: Some(self.aimd.rate()), recovered: false };
        }
        Update { rate: Some(self.aimd.update(usage, arriving, now)), recovered }
    }
}
