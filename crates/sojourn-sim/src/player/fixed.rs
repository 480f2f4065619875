//! Always the same level: no adaptation, for comparison.

use super::{Choice, Player, Segment, State};

/// A player that does not adapt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    /// The level; the highest if the clip has fewer.
    pub(super) level: usize,
}

impl Player for Fixed {
    fn segment_done(&mut self, _: &Segment) {}

    fn choose(&mut self, state: &State<'_>) -> Choice {
        Choice::at_once(self.level.min(state.clip.levels() - 1))
    }
}
