//! Scores of web page loads: page load time, its MOS, and what the time went into.
//!
//! MOS follows ITU-T G.1030's one-page model: logarithmic between excellent (5, at the best time that the path allows)
//! and bad (1). Loads that had not ended when the run did are right-censored: the distribution is the Kaplan–Meier
//! estimate (E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", 1958).
//!
//! Differences: those of `sojourn.qoe.web`, whose twin this is for pages.

use crate::statistics::rounded;
use serde::Serialize;

const EDGE: f64 = 1e-9;

/// How the loads of a user are scored: the times that score 5 and 1, and the round trips of one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Seconds that score 5.
    pub best_s: f64,
    /// Seconds that score 1.
    pub worst_s: f64,
    /// Round trips of one load on an empty path.
    pub round_trips: f64,
}

/// One page load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Page load time; time so far if it is not complete.
    pub plt_s: f64,
    /// All objects arrived.
    pub complete: bool,
    /// Mean round-trip time.
    pub rtt_s: f64,
    /// Time that retransmissions were waited for.
    pub repair_s: f64,
}

/// Quantiles in the order of results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    median: f64,
    mean: f64,
    p5: f64,
    p25: f64,
    p75: f64,
    p95: f64,
}

/// Scores of page loads, in the shape of results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    plt_s: Quantiles,
    mos: Quantiles,
    rtt_dominated: f64,
    loss_dominated: f64,
    loads: usize,
    unfinished: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bounded: Vec<&'static str>,
}

/// MOS of a page load time, in [1, 5].
pub fn mos_of_plt(plt_s: f64, best_s: f64, worst_s: f64) -> f64 {
    let t = plt_s.max(best_s).min(worst_s);
    (5.0 - 4.0 * libm::log(t / best_s) / libm::log(worst_s / best_s)).clamp(1.0, 5.0)
}

/// A Kaplan–Meier estimate: times at which loads ended, rising, and the probability of each.
struct Survival {
    times: Vec<f64>,
    mass: Vec<f64>,
    rest: f64,
    longest: f64,
}

impl Survival {
    fn of(loads: &[Load]) -> Self {
        let mut all: Vec<_> = loads.iter().map(|load| load.plt_s).collect();
        all.sort_by(f64::total_cmp);
        let mut ended: Vec<_> = loads.iter().filter(|load| load.complete).map(|load| load.plt_s).collect();
        ended.sort_by(f64::total_cmp);
        let (mut times, mut mass, mut rest) = (Vec::new(), Vec::new(), 1.0);
        for same in ended.chunk_by(|a, b| a == b) {
            let risk = all.len() - all.partition_point(|time| *time < same[0]);
            let after = rest * (1.0 - same.len() as f64 / risk as f64);
            times.push(same[0]);
            mass.push(rest - after);
            rest = after;
        }
        Self { times, mass, rest, longest: all[all.len() - 1] }
    }

    /// The least time by which the share has ended.
    fn quantile(&self, share: f64) -> Option<f64> {
        let mut reached = 0.0;
        let at = self.mass.iter().position(|mass| {
            reached += mass;
            reached >= share - EDGE
        })?;
        if share == 0.5 && (reached - share).abs() <= EDGE {
            return Some((self.times[at] + self.times.get(at + 1).unwrap_or(&self.longest)) / 2.0);
        }
        Some(self.times[at])
    }

    fn mean_of(&self, value: impl Fn(f64) -> f64) -> f64 {
        self.times.iter().zip(&self.mass).map(|(time, mass)| value(*time) * mass).sum()
    }
}

/// Statistics over the loads of one or more entries of users; the first one's scale scores. None without loads.
pub fn summary(entries: &[(Scale, Vec<Load>)]) -> Option<Summary> {
    let mut entries = entries.iter().filter(|(_, loads)| !loads.is_empty()).peekable();
    let Scale { best_s, worst_s, .. } = entries.peek()?.0;
    let rows: Vec<(Load, f64)> =
        entries.flat_map(|(scale, loads)| loads.iter().map(|load| (*load, scale.round_trips))).collect();
    let loads: Vec<_> = rows.iter().map(|(load, _)| *load).collect();
    let curve = Survival::of(&loads);
    let score = |time: f64| mos_of_plt(time, best_s, worst_s);
    let time = |share: f64| rounded(curve.quantile(share).unwrap_or(curve.longest), 6);
    let mos = |share: f64| rounded(curve.quantile(share).map_or(1.0, score), 4);
    let any = loads.iter().any(|load| load.complete);
    let counted: Vec<_> = rows.iter().filter(|(load, _)| load.complete || !any).collect();
    let share = |dominates: &dyn Fn(&Load, f64) -> bool| {
        let count = counted.iter().filter(|(load, trips)| dominates(load, *trips)).count();
        rounded(count as f64 / counted.len() as f64, 6)
    };
    let named = [("median", 0.5), ("p5", 0.05), ("p25", 0.25), ("p75", 0.75), ("p95", 0.95)];
    let unreached = named.iter().filter(|(_, share)| curve.quantile(*share).is_none()).map(|(name, _)| *name);
    Some(Summary {
        plt_s: Quantiles {
            median: time(0.5),
            mean: rounded(curve.mean_of(|time| time) + curve.rest * curve.longest, 6),
            p5: time(0.05),
            p25: time(0.25),
            p75: time(0.75),
            p95: time(0.95),
        },
        // A low percentile of the score belongs to slow loads.
        mos: Quantiles {
            median: mos(0.5),
            mean: rounded(curve.mean_of(score) + curve.rest, 4),
            p5: mos(0.95),
            p25: mos(0.75),
            p75: mos(0.25),
            p95: mos(0.05),
        },
        rtt_dominated: share(&|load, trips| trips * load.rtt_s >= load.plt_s / 2.0),
        loss_dominated: share(&|load, _| load.repair_s >= load.plt_s / 2.0),
        loads: loads.len(),
        unfinished: loads.iter().filter(|load| !load.complete).count(),
        bounded: unreached.chain((curve.rest > EDGE).then_some("mean")).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale { best_s: 0.56, worst_s: 6.0, round_trips: 14.0 };

    fn load(plt_s: f64, complete: bool) -> Load {
        Load { plt_s, complete, rtt_s: 0.05, repair_s: 0.0 }
    }

    #[test]
    fn the_score_is_logarithmic_between_best_and_worst() {
        assert_eq!(
            (mos_of_plt(0.1, 0.56, 6.0), mos_of_plt(6.0, 0.56, 6.0), mos_of_plt(60.0, 0.56, 6.0)),
            (5.0, 1.0, 1.0)
        );
        assert!((mos_of_plt((0.56f64 * 6.0).sqrt(), 0.56, 6.0) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn loads_that_never_ended_bound_the_quantiles_that_they_reach() {
        let found =
            summary(&[(SCALE, vec![load(1.0, true), load(2.0, true), load(9.0, false), load(9.0, false)])]).unwrap();
        assert_eq!((found.plt_s.median, found.plt_s.p95, found.mos.p5), (5.5, 9.0, 1.0));
        assert_eq!((found.unfinished, found.bounded), (2, vec!["p75", "p95", "mean"]));
        assert_eq!(summary(&[(SCALE, vec![])]), None);
    }
}
