//! FESTIVE: fair, efficient and stable adaptation by throughput.
//!
//! Source: J. Jiang, V. Sekar, H. Zhang, "Improving Fairness, Efficiency, and Stability in HTTP-based Adaptive Video
//! Streaming with FESTIVE", CoNEXT 2012, as four independent implementations agree on it. Bandwidth is the harmonic
//! mean of the last 20 segments; the level climbs by one after as many favourable segments as its number, and falls by
//! one at once; a switch is made only if what it gains in efficiency outweighs what it costs in stability; requests are
//! scheduled at a random level of the buffer.
//!
//! Readings where implementations differ or the paper is silent: the target is the highest rate below `p` × bandwidth
//! (`p-mode = "band"`: down when the present rate is above `p` × bandwidth, up when the next is at most the bandwidth);
//! segments of the warm-up are not counted; a switch carries the time of its decision, and the 20 s are open at their
//! old end; the stability of a switch is 2^(n+1); the buffer's limit holds for FESTIVE too.

use std::collections::VecDeque;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Span, with_defaults};

use super::clip::Clip;
use super::estimate::Window;
use super::range::{Wrong, count, within};
use super::rule::{Choice, Player, Segment, State};
use super::sample::Sample;

/// Samples of the harmonic mean.
const WINDOW: usize = 20;
/// Switches are counted over this time.
const RECENT_S: f64 = 20.0;
/// The paper's target of the buffer, and the largest buffer for which it is taken.
const TARGET_S: (f64, f64) = (30.0, 60.0);

/// What FESTIVE aims at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PMode {
    /// The highest rate that is at most `p` × bandwidth.
    #[default]
    Target,
    /// Down when the present rate is above `p` × bandwidth, up when the next is at most the bandwidth.
    Band,
}

with_defaults! {
    /// Options of FESTIVE.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
    pub struct FestiveOptions {
        /// Share of the bandwidth that is aimed at.
        pub p: f64 = 0.85,
        /// How it is aimed at.
        pub p_mode: PMode,
        /// Weight of efficiency against stability.
        pub alpha: f64 = 12.0,
        /// Samples without which the level stays at the lowest, up to 20; 1 is as many as there are.
        pub warmup: u32 = 20,
        /// Buffer around which requests are scheduled; by default 30 s in buffers of up to 60 s, else one segment below
        /// the limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub target_buffer: Option<Span>,
        /// Where `target-buffer` is absent: one segment below the limit, however large the buffer.
        pub full_target: bool,
        /// What a sample of throughput is.
        pub sample: Sample = Sample::Request,
    }
}

impl FestiveOptions {
    /// Checks ranges: the key and a sentence.
    pub(super) fn check(&self) -> Wrong {
        within("p", self.p, 0.0, 10.0)?;
        within("alpha", self.alpha, 0.0, 1e6)?;
        count("warmup", self.warmup, 20)
    }
}

/// Where the random numbers of the scheduling come from: uniform over (0, 1].
#[derive(Clone, Debug)]
pub enum Draws {
    /// A generator.
    Random(Pcg64Mcg),
    /// Given numbers, one for each segment, again from the first after the last.
    Given(Vec<f64>),
}

/// A FESTIVE player.
#[derive(Clone, Debug)]
pub(super) struct Festive {
    options: FestiveOptions,
    target_s: f64,
    draws: Draws,
    window: Window,
    /// Favourable segments in a row.
    count: usize,
    /// Times of the latest switches.
    switches: VecDeque<f64>,
    bandwidth: Option<f64>,
}

impl Festive {
    pub(super) fn new(options: FestiveOptions, clip: &Clip, limit_s: f64, draws: Draws) -> Self {
        let (paper, up_to) = TARGET_S;
        let most = limit_s - clip.segment_s();
        let target_s = match options.target_buffer {
            Some(target) => target.0 as f64 / 1e9,
            None if limit_s <= up_to && !options.full_target => paper.min(most),
            None => most,
        };
        Self {
            target_s,
            draws,
            window: Window::new(WINDOW),
            count: 0,
            switches: VecDeque::new(),
            bandwidth: None,
            options,
        }
    }

    fn draw(&mut self, segment: usize) -> f64 {
        match &mut self.draws {
            Draws::Random(rng) => 1.0 - rng.random::<f64>(),
            Draws::Given(given) => given[segment % given.len()],
        }
    }

    /// The gradual switch: one level up, one down, or none.
    fn reference(&mut self, rates: &[f64], present: usize, bandwidth: f64) -> usize {
        let p = self.options.p;
        let target = match self.options.p_mode {
            PMode::Target => rates.iter().rposition(|rate| *rate <= p * bandwidth).unwrap_or(0),
            PMode::Band if rates[present] > p * bandwidth => present.saturating_sub(1),
            PMode::Band => match rates.get(present + 1) {
                Some(next) if *next <= bandwidth => present + 1,
                _ => present,
            },
        };
        if target > present {
            self.count += 1;
            return if self.count > present { present + 1 } else { present };
        }
        self.count = 0;
        if target < present { present - 1 } else { present }
    }

    /// The delayed update: whether the reference level is worth its switch.
    fn worth(&mut self, rates: &[f64], present: usize, reference: usize, bandwidth: f64, now_s: f64) -> bool {
        while self.switches.front().is_some_and(|at| *at <= now_s - RECENT_S) {
            self.switches.pop_front();
        }
        let stability = |switches: usize| (1u64 << switches.min(60)) as f64;
        let n = self.switches.len();
        let ideal = bandwidth.min(rates[reference]);
        let efficiency = |level: usize| (rates[level] / ideal - 1.0).abs();
        let score = |level: usize, n: usize| stability(n) + self.options.alpha * efficiency(level);
        score(reference, n + 1) < score(present, n)
    }
}

impl Player for Festive {
    fn segment_done(&mut self, segment: &Segment) {
        self.window.push(self.options.sample.kbps(segment));
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let rates = state.clip.rates_kbps();
        let mut level = state.last.unwrap_or(0);
        if self.window.len() >= self.options.warmup.max(1) as usize {
            let bandwidth = self.window.harmonic_mean();
            self.bandwidth = Some(bandwidth);
            let reference = self.reference(rates, level, bandwidth);
            if reference != level && self.worth(rates, level, reference, bandwidth, state.arrived_s) {
                if reference > level {
                    self.count = 0;
                }
                self.switches.push_back(state.arrived_s);
                level = reference;
            }
        }
        let segment_s = state.clip.segment_s();
        let start_below = self.target_s - segment_s + 2.0 * segment_s * self.draw(state.segment);
        Choice { level, wait_s: (state.buffer_s - start_below).max(0.0) }
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.bandwidth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::shipped;
    use crate::stream::stream;

    const LADDER: [f64; 10] = [235.0, 380.0, 568.0, 760.0, 1065.0, 1777.0, 2387.0, 3046.0, 3906.0, 4361.0];

    fn festive() -> Festive {
        let clip = shipped("bbb-x264-4s").unwrap();
        Festive::new(FestiveOptions::default(), &clip, 60.0, Draws::Random(stream(1, 0, "festive")))
    }

    /// The most switches within 20 s under which this one is still made.
    fn passes_up_to(present: usize, reference: usize, bandwidth: f64) -> Option<usize> {
        (0..10)
            .take_while(|n| {
                let mut player = festive();
                player.switches = (0..*n).map(|_| 100.0).collect();
                player.worth(&LADDER, present, reference, bandwidth, 101.0)
            })
            .last()
    }

    #[test]
    fn up_switches_pass_as_the_ladder_says() {
        // 12 (1 − R_i/R_{i+1}) is 4.58 3.97 3.03 3.44 4.81 3.07 2.60 2.64 1.25, to be above 2^n.
        let found: Vec<_> = (0..9).map(|i| passes_up_to(i, i + 1, 1e6)).collect();
        assert_eq!(found, [2, 1, 1, 1, 2, 1, 1, 1, 0].map(Some));
    }

    #[test]
    fn a_down_switch_passes_for_three_switches() {
        // 1777 to 1065 kb/s at 1000: 12 (0.777 − 0.065) = 8.54.
        assert_eq!(passes_up_to(5, 4, 1000.0), Some(3));
    }

    #[test]
    fn the_climb_takes_as_many_segments_as_the_level_s_number() {
        let mut player = festive();
        let (mut level, mut segments) = (0, 0);
        while level < 9 {
            segments += 1;
            let reference = player.reference(&LADDER, level, 1e6);
            if reference > level {
                (level, player.count) = (reference, 0);
            }
        }
        assert_eq!(segments, 45);
    }

    #[test]
    fn the_band_holds_between_its_ends() {
        let mut player = festive();
        player.options.p_mode = PMode::Band;
        // At 1777 kb/s: down below 1777/0.85 = 2090, up from 2387 on.
        for (bandwidth, reference) in [(2000.0, 4), (2100.0, 5), (2386.0, 5)] {
            assert_eq!(player.reference(&LADDER, 5, bandwidth), reference, "{bandwidth}");
        }
        player.count = 5;
        assert_eq!(player.reference(&LADDER, 5, 2387.0), 6);
    }

    #[test]
    fn the_target_of_the_buffer_depends_on_its_limit() {
        let clip = shipped("bbb-x264-4s").unwrap();
        for (limit, target) in [(20.0, 16.0), (60.0, 30.0), (240.0, 236.0), (640.0, 636.0)] {
            let player = Festive::new(FestiveOptions::default(), &clip, limit, Draws::Given(vec![1.0]));
            assert_eq!(player.target_s, target);
        }
        let full = FestiveOptions { full_target: true, ..FestiveOptions::default() };
        assert_eq!(Festive::new(full, &clip, 60.0, Draws::Given(vec![1.0])).target_s, 56.0);
    }
}
