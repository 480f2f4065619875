//! Takes the samples of the series.

use super::Network;
use crate::stats::series::{FlowSample, QueueSample, Subject};

impl Network {
    /// Adds a row for each flow that is followed and for each link, and forgets connections that have ended.
    pub(crate) fn sample(&mut self) {
        let Some(series) = &mut self.series else { return };
        let time_ns = series.next.0;
        series.next += series.step;
        let seconds = series.step.as_secs();
        let mut followed = std::mem::take(&mut series.followed);
        followed.retain_mut(|one| {
            let row = |arrived: u64, before: u64| FlowSample {
                time_ns,
                group: one.group,
                number: one.number,
                flow: 0,
                cwnd_pkts: f64::NAN,
                srtt_ns: 0,
                rate_bps: arrived.saturating_sub(before) as f64 * 8.0 / seconds,
                pacing_bps: f64::NAN,
            };
            let arrived = match one.subject {
                Subject::Source(source) => {
                    let arrived = self.delivered[source as usize];
                    series.flows.push(row(arrived, one.before));
                    arrived
                }
                Subject::Connection(id) => {
                    let connection = &self.connections[id.slot as usize];
                    if connection.flow != id.flow {
                        return false;
                    }
                    let end = series.directions[one.group as usize].source();
                    let sender = connection.ends[end as usize].sender();
                    let arrived = sender.delivered();
                    let mss = f64::from(self.groups[connection.group as usize].config.mss);
                    series.flows.push(FlowSample {
                        flow: id.flow,
                        cwnd_pkts: sender.window().cwnd as f64 / mss,
                        srtt_ns: sender.srtt().0,
                        pacing_bps: sender.pacing_rate().map_or(f64::NAN, |rate| rate.0 as f64),
                        ..row(arrived, one.before)
                    });
                    arrived
                }
            };
            one.before = arrived;
            true
        });
        series.followed = followed;
        for (link, record) in self.bottleneck.records().enumerate() {
            series.queues.push(QueueSample {
                time_ns,
                link: link as u8,
                backlog_pkts: record.waiting(),
                backlog_bytes: record.waiting_bytes(),
            });
        }
    }
}
