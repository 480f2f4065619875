//! What a run is given by its caller: what takes its records while it goes on, and players that are not this crate's.

use crate::engine::{Direction, End};
use crate::player::{Choice, Clip, Player, PythonPlayer, Segment, State};
use crate::stats::{Captured, Log};

/// Takes settled rows of a link's packet log, in order, and the number of the first; they are its own from then on.
pub type LogSink<'a> = &'a mut dyn FnMut(Direction, u32, Log);
/// Takes the packets captured at the hosts of one side, in order.
pub type TapSink<'a> = &'a mut dyn FnMut(&[Captured]);
/// Makes players that are not this crate's: of what the scenario says of one, of the clip, and of the seconds that the
/// buffer holds.
pub type MakePlayer<'a> = &'a dyn Fn(&PythonPlayer, &Clip, f64) -> Box<dyn Player>;

/// What a caller may hook into a run. Records are handed out batch by batch, so that a run of any length fits in
/// memory.
#[derive(Default)]
pub struct RunHooks<'a> {
    /// The packet log.
    pub log: Option<LogSink<'a>>,
    /// The packets at one side.
    pub tap: Option<(End, TapSink<'a>)>,
    /// Makes players in Python; without it they stay at the lowest level.
    pub players: Option<MakePlayer<'a>>,
}

/// Stands in for a player that nobody makes: always the lowest level.
pub(super) struct Lowest;

impl Player for Lowest {
    fn segment_done(&mut self, _: &Segment) {}

    fn choose(&mut self, _: &State<'_>) -> Choice {
        Choice::at_once(0)
    }
}
