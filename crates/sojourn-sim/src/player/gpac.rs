//! The default algorithm of the GPAC player: the representation just below the throughput of the last segment, else the
//! lowest.
//!
//! Source: the [has] study's description of the player that it measured. No smoothing and no safety factor. GPAC's own
//! source has a rule that the study does not mention, off here by default: a step to the next level is taken only when
//! `probes` segments have asked for it, while a jump over a level is made at once (`dash_do_rate_adaptation` in
//! src/media_tools/dash_client.c of release 0.5.2, 2015; two segments unless its option `SwitchProbeCount` says
//! otherwise). Its releases from 0.6.0 on go up one level at a time (`gradual`), so that every up-switch is such a
//! step; they look at the buffer, too, which is not modelled.
//!
//! Segments that ask need not follow one another: one that asks for the present level leaves the count, any other
//! switch ends it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::with_defaults;

use super::range::{Wrong, count};
use super::rule::{Choice, Player, Segment, State};
use super::sample::Sample;

with_defaults! {
    /// Options of GPAC's default.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
    pub struct GpacOptions {
        /// What a sample of throughput is.
        pub sample: Sample = Sample::Request,
        /// Go up one level at a time.
        pub gradual: bool,
        /// Segments that must ask for the next level before a step to it; a jump over a level is made at once.
        pub probes: u32 = 1,
    }
}

impl GpacOptions {
    /// Checks ranges: the key and a sentence.
    pub(super) fn check(&self) -> Wrong {
        count("probes", self.probes, 1000)
    }
}

/// The default player of GPAC.
#[derive(Clone, Debug)]
pub(super) struct Gpac {
    options: GpacOptions,
    kbps: Option<f64>,
    /// Segments since the last switch that asked for the next level.
    asked: u32,
}

impl Gpac {
    pub(super) fn new(options: GpacOptions) -> Self {
        Self { options, kbps: None, asked: 0 }
    }
}

impl Player for Gpac {
    fn segment_done(&mut self, segment: &Segment) {
        self.kbps = Some(self.options.sample.kbps(segment));
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let Some((kbps, last)) = self.kbps.zip(state.last) else { return Choice::at_once(0) };
        let mut level = state.clip.level_below(kbps);
        if self.options.gradual {
            level = level.min(last + 1);
        }
        if level == last + 1 {
            self.asked += 1;
            if self.asked < self.options.probes {
                return Choice::at_once(last);
            }
        }
        if level != last {
            self.asked = 0;
        }
        Choice::at_once(level)
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.kbps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{Clip, tests::Viewing};

    fn clip() -> Clip {
        let rates = vec![235.0, 380.0, 568.0, 760.0, 1065.0, 1777.0, 2387.0, 3046.0, 3906.0, 4361.0];
        let sizes = rates.iter().map(|rate| (rate * 500.0) as u64).collect::<Vec<_>>();
        Clip::new(4.0, rates, &vec![sizes; 20]).unwrap()
    }

    #[test]
    fn it_takes_the_level_just_below_the_last_throughput() {
        let mut viewing = Viewing::new(Box::new(Gpac::new(GpacOptions::default())), clip(), 60.0);
        // Kb/s of each download → the level of the next segment.
        for (kbps, level) in [(4500.0, 9), (234.0, 0), (1776.9, 4), (1777.1, 5), (100_000.0, 9), (10.0, 0)] {
            viewing.fetch(kbps);
            assert_eq!(viewing.choose().level, level, "after {kbps} kb/s");
        }
    }

    #[test]
    fn steps_are_probed_and_jumps_are_not() {
        let options = GpacOptions { probes: 2, ..GpacOptions::default() };
        let mut viewing = Viewing::new(Box::new(Gpac::new(options)), clip(), 60.0);
        // Kb/s of each download → the level of the next segment. A step down ends the count; asking for the present
        // level does not.
        let asked = [
            (900.0, 3),
            (1100.0, 3),
            (900.0, 3),
            (1100.0, 4),
            (1800.0, 4),
            (800.0, 3),
            (1100.0, 3),
            (1100.0, 4),
            (3000.0, 6),
        ];
        for (kbps, level) in asked {
            viewing.fetch(kbps);
            assert_eq!(viewing.choose().level, level, "after {kbps} kb/s");
        }
    }

    #[test]
    fn gradual_players_take_one_step_after_their_probes() {
        let options = GpacOptions { gradual: true, probes: 2, ..GpacOptions::default() };
        let mut viewing = Viewing::new(Box::new(Gpac::new(options)), clip(), 60.0);
        let levels: Vec<usize> = (0..7)
            .map(|_| {
                viewing.fetch(5000.0);
                viewing.choose().level
            })
            .collect();
        assert_eq!(levels, [0, 1, 1, 2, 2, 3, 3]);
    }
}
