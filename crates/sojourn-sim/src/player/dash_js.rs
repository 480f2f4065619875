//! Dash.js 5 with its defaults: BOLA or the throughput rule, bounded by the rules of the insufficient buffer and of
//! the history of switches; the lowest answer is taken.
//!
//! Source: `src/streaming/rules/abr`, `ThroughputController.js`, `ThroughputModel.js` and `core/Settings.js` of
//! dash.js 5.1. The throughput is the lower of two averages with half-lives of 3 and 8 s, where a segment counts
//! 1.5 times its transfer time, in whole kbit/s; 90 % of it counts. BOLA takes over at 18 s of buffer and gives
//! back below 9 s. It asks for more while one more segment leaves the buffer below 18 s; at the highest level below
//! 30 s, or 60 s for what lasts 10 minutes or longer. After a step down from there it waits for the lower target. What
//! is live with low latency it buffers as far as its latency, segments beyond that included, without the rule of the
//! insufficient buffer; its throughput is then that of chunks.
//!
//! Differences: nothing is given up (its AbandonRequestsRule), and nothing that is in the buffer is fetched again at
//! a higher level (its fast switching); no estimate is kept from earlier sessions, so that the first segment goes by
//! 1 Mbit/s; no frames are dropped.

mod bola;
mod switch_history;

use super::clip::Clip;
use super::estimate::HalfLife;
use super::rule::{Choice, Player, Segment, State};
use bola::Bola;
use switch_history::SwitchHistory;

const HALF_LIVES_S: (f64, f64) = (3.0, 8.0);
const WEIGHT: f64 = 1.5;
const SAFETY: f64 = 0.9;
const FIRST_KBPS: f64 = 1000.0;
/// Share of the throughput that the rule of the insufficient buffer counts on, after so many segments.
const BUFFER_SAFETY: f64 = 0.7;
const BUFFER_IGNORES: usize = 2;
/// Seconds of buffer that are aimed at; at the highest level; at that of a long clip.
const BUFFER_S: f64 = 18.0;
const BUFFER_AT_TOP_S: f64 = 30.0;
const BUFFER_LONG_S: f64 = 60.0;
/// A long clip lasts so long, s.
const LONG_S: f64 = 600.0;
/// With no more in the buffer it is empty, s.
const STALL_S: f64 = 0.3;

/// The highest level whose rate is at most this.
fn carried(clip: &Clip, kbps: f64) -> usize {
    clip.rates_kbps().iter().rposition(|rate| *rate <= kbps).unwrap_or(0)
}

/// A player.
#[derive(Clone, Debug)]
pub(super) struct DashJs {
    fast: HalfLife,
    slow: HalfLife,
    bola: Option<Bola>,
    by_bola: bool,
    history: SwitchHistory,
    segments: usize,
    segment_s: f64,
    top: usize,
    at_top_s: f64,
    level: usize,
    /// The latency aimed at, if what it plays is live.
    latency_s: Option<f64>,
}

impl DashJs {
    pub(super) fn new(clip: &Clip) -> Self {
        let long = clip.len() as f64 * clip.segment_s() >= LONG_S;
        Self {
            fast: HalfLife::new(HALF_LIVES_S.0),
            slow: HalfLife::new(HALF_LIVES_S.1),
            bola: None,
            by_bola: false,
            history: SwitchHistory::new(clip.levels()),
            segments: 0,
            segment_s: clip.segment_s(),
            top: clip.levels() - 1,
            at_top_s: if long { BUFFER_LONG_S } else { BUFFER_AT_TOP_S },
            level: carried(clip, FIRST_KBPS),
            latency_s: None,
        }
    }

    /// Throughput in whole kbit/s.
    fn kbps(&self) -> Option<f64> {
        self.fast.value().zip(self.slow.value()).map(|(fast, slow)| fast.min(slow).round())
    }

    /// Seconds of buffer that are aimed at: no more than the latency, of what is live.
    fn target_s(&self) -> f64 {
        self.latency_s.map_or(BUFFER_S, |latency_s| latency_s.min(BUFFER_S))
    }

    fn buffered(&mut self, seconds: f64) {
        let target_s = self.target_s();
        self.by_bola = seconds >= if self.by_bola { target_s / 2.0 } else { target_s };
    }

    /// Takes a segment that came within so many seconds.
    fn done(&mut self, segment: &Segment, seconds: f64, kbps: f64) {
        for average in [&mut self.fast, &mut self.slow] {
            average.sample(WEIGHT * seconds, kbps.round());
        }
        self.segments += 1;
        // Of what is live all but the last chunk was in before.
        let before_s = segment.buffer_s - if self.latency_s.is_none() { self.segment_s } else { 0.0 };
        self.buffered(before_s);
        if let Some(bola) = &mut self.bola {
            bola.segment_done(segment, before_s);
        }
        self.buffered(segment.buffer_s);
        self.level = segment.level;
    }
}

impl Player for DashJs {
    fn segment_done(&mut self, segment: &Segment) {
        self.done(segment, segment.transfer_s(), segment.transfer_kbps());
    }

    fn live(&mut self, latency_s: f64) {
        self.latency_s = Some(latency_s);
    }

    fn live_segment_done(&mut self, segment: &Segment, chunks_kbps: Option<f64>) {
        let kbps = chunks_kbps.unwrap_or_else(|| segment.throughput_kbps());
        self.done(segment, segment.bytes as f64 * 8e-3 / kbps, kbps);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let choice = self.decide(state);
        Choice { wait_s: choice.wait_s.max(state.buffer_s - self.enough_s()).max(0.0), ..choice }
    }

    fn enough_s(&self) -> f64 {
        let target = if self.level == self.top { self.at_top_s } else { self.target_s() };
        if self.latency_s.is_none() && target > self.segment_s { target - self.segment_s } else { target }
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.kbps()
    }
}

impl DashJs {
    /// One answer of all rules.
    fn decide(&mut self, state: &State<'_>) -> Choice {
        let (clip, buffer_s) = (state.clip, state.buffer_s);
        self.buffered(buffer_s);
        let Some(kbps) = self.kbps() else { return Choice::at_once(self.level) };
        let throughput = carried(clip, SAFETY * kbps);
        let (mut choice, target_s) = (Choice::at_once(throughput), self.target_s());
        if self.by_bola && clip.levels() > 1 {
            choice = self.bola.get_or_insert_with(|| Bola::new(clip, target_s)).choose(state, throughput);
        }
        if self.segments >= BUFFER_IGNORES && self.latency_s.is_none() {
            let insufficient =
                if buffer_s > STALL_S { BUFFER_SAFETY * kbps * buffer_s / clip.segment_s() } else { 0.0 };
            choice.level = choice.level.min(carried(clip, insufficient));
        }
        choice.level = self.history.at_most(choice.level);
        self.history.push(self.level, choice.level);
        self.level = choice.level;
        if let Some(bola) = &mut self.bola {
            bola.takes(choice.level);
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three levels in segments of 4 s, as many as last so long.
    fn clip(length_s: f64) -> Clip {
        let rates = vec![500.0, 1000.0, 4000.0];
        let sizes = vec![[250_000, 500_000, 2_000_000]; (length_s / 4.0) as usize];
        Clip::new(4.0, rates, &sizes).unwrap()
    }

    fn segment(index: usize, level: usize, kbps: f64, buffer_s: f64) -> Segment {
        let bytes = 500_000;
        let took_s = bytes as f64 * 8e-3 / kbps;
        Segment { index, level, bytes, request_s: 0.0, first_byte_s: 1.0, arrive_s: 1.0 + took_s, buffer_s }
    }

    #[test]
    fn bola_takes_over_at_18_s_and_gives_back_below_9_before_a_segment_and_after_it() {
        let mut player = DashJs::new(&clip(100.0));
        let by_bola = [10.0, 17.9, 18.0, 13.0, 12.9, 17.9, 22.0].map(|buffer_s| {
            player.segment_done(&segment(0, 1, 2000.0, buffer_s));
            player.by_bola
        });
        // Before a segment there are 4 s less: 12.9 were 8.9.
        assert_eq!(by_bola, [false, false, true, true, false, false, true]);
        // Of what is live the target is its latency, and the segment was in before.
        let mut live = DashJs::new(&clip(100.0));
        live.live(4.0);
        let by_bola = [3.9, 4.0, 2.0, 1.9, 4.0].map(|buffer_s| {
            live.live_segment_done(&segment(0, 1, 2000.0, buffer_s), Some(1500.4));
            live.by_bola
        });
        assert_eq!((by_bola, live.kbps()), ([false, true, true, false, true], Some(1500.0)), "whole kbit/s");
    }

    #[test]
    fn enough_is_a_segment_less_than_the_target_which_is_higher_at_the_highest_level() {
        for (length_s, at_top_s) in [(100.0, 30.0), (596.0, 30.0), (600.0, 60.0)] {
            let mut player = DashJs::new(&clip(length_s));
            assert_eq!((player.level, player.enough_s()), (1, 14.0), "1 Mbit/s is assumed");
            player.segment_done(&segment(0, 2, 9000.0, 10.0));
            assert_eq!(player.enough_s(), at_top_s - 4.0);
        }
        let mut live = DashJs::new(&clip(100.0));
        live.live(3.0);
        assert_eq!(live.enough_s(), 3.0);
    }

    #[test]
    fn nine_tenths_of_the_lower_average_count_and_the_buffers_share_after_two_segments() {
        let clip = clip(100.0);
        let mut player = DashJs::new(&clip);
        let state = |buffer_s, segment| State {
            clip: &clip,
            segment,
            now_s: 0.0,
            arrived_s: 0.0,
            waited_s: 0.0,
            buffer_s,
            limit_s: 60.0,
            last: Some(1),
        };
        assert_eq!(player.choose(&state(0.0, 0)).level, 1, "nothing is known");
        player.segment_done(&segment(0, 1, 4400.0, 4.0));
        assert_eq!(player.choose(&state(4.0, 1)).level, 1, "3960 are not 4000");
        player.segment_done(&segment(1, 1, 90_000.0, 8.0));
        assert!(player.kbps().unwrap() > 4445.0 && player.kbps().unwrap() < 90_000.0);
        // 0.7 of the throughput for what is in the buffer, of a segment: of 0.3 s nothing.
        let kbps = player.kbps().unwrap();
        let enough_s = 4000.0 * 4.0 / (0.7 * kbps);
        for (buffer_s, level) in [(enough_s + 0.01, 2), (enough_s - 0.01, 1), (0.3, 0)] {
            assert_eq!(player.clone().choose(&state(buffer_s, 2)).level, level, "{buffer_s}");
        }
    }
}
