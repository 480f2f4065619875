//! Responsiveness while a test lasts, and whether it is stable: what ends the test.
//!
//! Source: draft-ietf-ippm-responsiveness-06, sections 4.3.1 and 4.4. The score of a test is computed from the probes
//! by the package (`qoe/responsiveness.py`), by the same formula.

use std::collections::VecDeque;

/// Milliseconds of a minute.
const MINUTE_MS: f64 = 60_000.0;

/// A probe that was completed. Times in ns; those that a kind of probe does not have are −1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completed {
    pub at: u64,
    pub tcp: i64,
    pub tls: i64,
    pub http: i64,
    pub foreign: bool,
}

/// Round trips a minute of the probes completed after `since` and not after `until`; none without one of each kind.
pub(super) fn rpm(probes: &[Completed], since: u64, until: u64, tls: bool, trim: f64) -> Option<f64> {
    let here = || probes.iter().filter(|probe| since < probe.at && probe.at <= until);
    let mean = |of: fn(&Completed) -> i64, foreign| {
        trimmed_mean(here().filter(|probe| probe.foreign == foreign).map(of).filter(|took| *took >= 0), trim)
    };
    let (tcp, http, own) =
        (mean(|probe| probe.tcp, true)?, mean(|probe| probe.http, true)?, mean(|probe| probe.http, false)?);
    let foreign = if tls { (tcp + mean(|probe| probe.tls, true)? + http) / 3.0 } else { (tcp + http) / 2.0 };
    Some((MINUTE_MS / foreign + MINUTE_MS / own) / 2.0)
}

/// The mean in ms of the fastest `ceil((1 - trim) n)`; none without any.
fn trimmed_mean(took_ns: impl Iterator<Item = i64>, trim: f64) -> Option<f64> {
    let mut took: Vec<i64> = took_ns.collect();
    took.sort_unstable();
    // 0.95 × 20 is 19.000000000000004 in some orders of evaluation: a probe more is not meant.
    let kept = (libm::ceil((1.0 - trim) * took.len() as f64 - 1e-9) as usize).clamp(1, took.len().max(1));
    (!took.is_empty()).then(|| took[..kept].iter().map(|ns| *ns as f64 / 1e6).sum::<f64>() / kept as f64)
}

/// The last values of one kind, which are stable if their standard deviation is within a share of the newest.
#[derive(Debug, Default)]
pub(super) struct Course(VecDeque<f64>);

impl Course {
    /// Takes a value, keeps the last `most`, and says whether they are stable; what is not known begins anew.
    pub(super) fn is_stable(&mut self, value: Option<f64>, most: usize, tolerance: f64) -> bool {
        let Some(value) = value else {
            self.0.clear();
            return false;
        };
        self.0.push_back(value);
        if self.0.len() > most {
            self.0.pop_front();
        }
        let n = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let variance = self.0.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
        self.0.len() == most && libm::sqrt(variance) <= tolerance * value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn pair(at: u64, [tcp, tls, http, own]: [i64; 4]) -> [Completed; 2] {
        let foreign = Completed { at, tcp: tcp * MS, tls: tls * MS, http: http * MS, foreign: true };
        [foreign, Completed { at, tcp: -1, tls: -1, http: own * MS, foreign: false }]
    }

    #[test]
    fn the_drafts_vectors() {
        let score = |times, tls| rpm(&pair(5, times), 0, 9, tls, 0.05);
        assert_eq!(score([60, 60, 60, 60], true), Some(1000.0));
        assert_eq!(score([20, 20, 20, 200], true), Some(1650.0));
        assert_eq!(score([10, 50, 30, 20], false), Some(3000.0));
        assert_eq!(rpm(&pair(5, [1; 4])[..1], 0, 9, true, 0.05), None, "no self probe");
    }

    #[test]
    fn probes_count_when_they_are_completed() {
        let probes = [pair(1, [10; 4]), pair(4, [20; 4]), pair(5, [999; 4])].concat();
        assert_eq!(rpm(&probes, 1, 4, true, 0.05), Some(3000.0));
        assert_eq!(rpm(&probes, 5, 9, true, 0.05), None);
    }

    #[test]
    fn the_slowest_are_left_out() {
        let mean = |took: &[i64]| trimmed_mean(took.iter().map(|ms| ms * MS), 0.05);
        assert_eq!(mean(&(1..20).chain([1000]).collect::<Vec<_>>()), Some(10.0));
        assert_eq!((mean(&[7]), mean(&[])), (Some(7.0), None));
    }

    #[test]
    fn stable_is_within_a_share_of_the_newest() {
        let last = |values: &[f64]| {
            let mut course = Course::default();
            values.iter().fold(false, |_, value| course.is_stable(Some(*value), 4, 0.05))
        };
        assert!(last(&[100.0; 4]) && !last(&[100.0; 3]));
        assert!(last(&[1.0, 95.0, 100.0, 105.0, 100.0]) && !last(&[1.0, 90.0, 100.0, 110.0, 100.0]));
        let mut course = Course::default();
        for value in [Some(1.0), Some(1.0), Some(1.0), None, Some(1.0)] {
            assert!(!course.is_stable(value, 4, 0.05));
        }
    }
}
