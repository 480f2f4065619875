//! Of the last eight decisions, how many went down, and from where: a level that was left again and again is not
//! taken.
//!
//! Source: dash.js 5, `SwitchRequestHistory.js` and `SwitchHistoryRule.js`. From the lowest level upwards, drops
//! and others are counted together; where there are eight and more than 7.5 drops on 100 others, that level is the
//! bound, or the next lower one if it was itself left downwards.

use std::collections::VecDeque;

const SAMPLES: usize = 8;
const SHARE: f64 = 0.075;

/// The decisions.
#[derive(Clone, Debug)]
pub(super) struct SwitchHistory {
    /// From which level, and whether downwards.
    decisions: VecDeque<(usize, bool)>,
    /// Levels from which anything was ever decided.
    seen: Vec<bool>,
}

impl SwitchHistory {
    pub(super) fn new(levels: usize) -> Self {
        Self { decisions: VecDeque::with_capacity(SAMPLES + 1), seen: vec![false; levels] }
    }

    /// `level`, or the lower one that the history allows.
    pub(super) fn at_most(&self, level: usize) -> usize {
        let (mut drops, mut others) = (0, 0);
        for from in (0..self.seen.len()).filter(|from| self.seen[*from]) {
            let here = self.decisions.iter().filter(|(decided, _)| *decided == from);
            let (here_drops, all) = here.fold((0, 0), |(drops, all), (_, drop)| (drops + u32::from(*drop), all + 1));
            drops += here_drops;
            others += all - here_drops;
            let left = f64::from(drops) > SHARE * f64::from(others);
            if (drops + others) as usize >= SAMPLES && left {
                return level.min(if here_drops > 0 { from.saturating_sub(1) } else { from });
            }
        }
        level
    }

    /// A decision to go from one level to another.
    pub(super) fn push(&mut self, from: usize, to: usize) {
        self.seen[from] = true;
        self.decisions.push_back((from, to < from));
        if self.decisions.len() > SAMPLES {
            self.decisions.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_was_left_is_not_taken_while_eight_decisions_remember_it() {
        let mut history = SwitchHistory::new(4);
        history.push(3, 1);
        for _ in 0..6 {
            history.push(1, 1);
        }
        assert_eq!(history.at_most(3), 3, "seven are not enough");
        history.push(1, 3);
        assert_eq!(history.at_most(3), 2, "one below the level that was left");
        history.push(3, 3);
        assert_eq!(history.at_most(3), 3, "the drop is forgotten");
    }
}
