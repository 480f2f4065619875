//! BBA-Others: BBA-2 that steps up only where it will stay, over a reservoir that never shrinks.
//!
//! Source: T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014. Before a step up it looks
//! at as many of the segments that follow as are in the buffer (one when it is empty, 60 when it is full at 240 s): if
//! the map, at the present buffer, would step down for one of them, the level stays. Steps down are not smoothed.

use super::bba2::Bba2;
use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};

/// A BBA-Others player.
#[derive(Clone, Debug)]
pub(super) struct BbaOthers {
    bba2: Bba2,
    reservoir_s: f64,
}

impl BbaOthers {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        Self { bba2: Bba2::new(clip, limit_s), reservoir_s: 0.0 }
    }

    fn would_step_down(&self, state: &State<'_>, level: usize) -> bool {
        let ahead = ((state.buffer_s / state.clip.segment_s()) as usize).max(1);
        let until = (state.segment + 1 + ahead).min(state.clip.len());
        (state.segment + 1..until)
            .any(|k| self.bba2.map.level(state.clip.sizes_of(k), state.buffer_s, self.reservoir_s, level) < level)
    }
}

impl Player for BbaOthers {
    fn segment_done(&mut self, segment: &Segment) {
        self.bba2.segment_done(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        self.reservoir_s = self.reservoir_s.max(self.bba2.map.reservoir_s(state));
        let (level, by_map) = self.bba2.level(state, self.reservoir_s);
        let last = state.last.unwrap_or(0);
        let stays = by_map && level > last && self.would_step_down(state, level);
        Choice::at_once(if stays { last } else { level })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{Link, Period, Session, Settings, play, shipped};
    use std::rc::Rc;

    fn switches(player: impl Fn(&Clip) -> Box<dyn Player>) -> (usize, f64) {
        let clip = Rc::new(shipped("bbb-x264-4s").unwrap());
        let settings = Settings { buffer_s: 240.0, initial_s: 12.0, resume_s: 4.0 };
        let mut session = Session::new(clip.clone(), player(&clip), settings).unwrap();
        let period = Period { duration_s: f64::INFINITY, rate_kbps: 2000.0, latency_s: 0.04 };
        play(&mut session, &mut Link::new(vec![period]).unwrap());
        let levels: Vec<_> = session.rows().iter().map(|row| row.segment.level).collect();
        let stalled = session.rows().iter().map(|row| row.stall_s).sum();
        (levels.windows(2).filter(|pair| pair[0] != pair[1]).count(), stalled)
    }

    #[test]
    fn it_switches_less_than_bba_2_and_does_not_stall() {
        let (plain, _) = switches(|clip| Box::new(Bba2::new(clip, 240.0)));
        let (smooth, stalled) = switches(|clip| Box::new(BbaOthers::new(clip, 240.0)));
        assert!(smooth * 2 < plain, "{smooth} against {plain} switches");
        assert_eq!(stalled, 0.0);
    }
}
