//! Players of adaptive video: which representation of the next segment to fetch, and when.
//!
//! A [`Player`] is a pure rule, told of each segment that has arrived ([`Player::segment_done`]) and asked before each
//! request ([`Player::choose`]). It has no clock and no network: the same rules decide on an ideal link ([`play`]) and
//! for the `adaptive` users of a simulation, both through a [`Session`]. Levels count from 0, the lowest, here; from 1
//! in Python and in tables.
//!
//! The order of things for each segment, which is that of the players whose rules these are: (1) the previous segment
//! arrives; (2) if the buffer has no room for one more, wait until it has; (3) `choose`; (4) wait as long as the choice
//! says; (5) request.

mod abandon;
mod algorithm;
mod bba0;
mod bba1;
mod bba2;
mod bba_others;
mod bola;
mod bola_e;
mod clip;
mod dash_js;
mod dynamic;
mod dynamic_dash;
mod estimate;
mod festive;
mod fixed;
mod generated;
mod gpac;
mod hls_js;
mod link;
mod live;
mod playback;
mod python;
mod range;
mod robust_mpc;
mod rule;
mod sample;
mod session;
mod shaka;
mod throughput;

pub use algorithm::{Algorithm, NoOptions};
pub use bola::BolaOptions;
pub use clip::{Clip, SHIPPED, shipped};
pub use festive::{Draws, FestiveOptions, PMode};
pub use generated::generated;
pub use gpac::GpacOptions;
pub use link::{Link, Period, play};
pub use live::{CatchUp, Live, TICK_S};
pub use playback::{Playback, Stall};
pub use python::PythonPlayer;
pub use robust_mpc::MpcOptions;
pub use rule::{Choice, Player, Segment, State};
pub use sample::Sample;
pub use session::{Look, Next, Row, Session, Settings};

#[cfg(test)]
mod tests;
