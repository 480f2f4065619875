//! What a run is given by its caller: what takes its records while it goes on, and players that are not this crate's.

use crate::engine::End;
use crate::player::{Choice, Clip, Player, PythonPlayer, Segment, State};
use crate::stats::{Captured, Log};

/// Takes settled rows of a link's packet log, in order, with the link's code and the number of the first row; they are
/// its own from then on.
pub type LogSink<'a> = &'a mut dyn FnMut(usize, u32, Log);
/// Takes the packets captured at one place, in order.
pub type TapSink<'a> = &'a mut dyn FnMut(&[Captured]);
/// Makes players that are not this crate's: of what the scenario says of one, of the clip, and of the seconds that the
/// buffer holds.
pub type MakePlayer<'a> = &'a dyn Fn(&PythonPlayer, &Clip, f64) -> Box<dyn Player>;

/// Where packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapAt {
    /// At the hosts of one side.
    Hosts(End),
    /// At the end of a hop towards the clients; the hop by its place.
    Hop(usize),
}

/// What a caller may hook into a run. Records are handed out batch by batch, so that a run of any length fits in
/// memory.
#[derive(Default)]
pub struct RunHooks<'a> {
    /// The packet log.
    pub log: Option<LogSink<'a>>,
    /// The packets at one place.
    pub tap: Option<(TapAt, TapSink<'a>)>,
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
