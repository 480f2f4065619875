//! Sabre's dynamic: BOLA-U while the buffer is long and it asks for no less than the throughput rule, the throughput
//! rule else.
//!
//! Source: the simulator sabre of K. Spiteri, R. Sitaraman, D. Sparacio (MMSys 2018), its rule `dynamic`. Both rules
//! decide about every segment and keep their own state.

use super::bola::{Bola, BolaOptions};
use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};
use super::throughput::Throughput;

/// Buffer in seconds at which the two change places.
const LONG_S: f64 = 10.0;

/// A dynamic player.
#[derive(Clone, Debug)]
pub(super) struct Dynamic {
    bola: Bola,
    throughput: Throughput,
    by_bola: bool,
}

impl Dynamic {
    pub(super) fn new(options: BolaOptions, clip: &Clip) -> Self {
        Self { bola: Bola::new(options, false, clip), throughput: Throughput::new(clip), by_bola: false }
    }
}

impl Player for Dynamic {
    fn segment_done(&mut self, segment: &Segment) {
        self.bola.segment_done(segment);
        self.throughput.segment_done(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let (bola, throughput) = (self.bola.choose(state), self.throughput.choose(state));
        if state.last.is_none() {
            return throughput;
        }
        if self.by_bola {
            self.by_bola = state.buffer_s >= LONG_S || bola.level >= throughput.level;
        } else {
            self.by_bola = state.buffer_s > LONG_S && bola.level >= throughput.level;
        }
        if self.by_bola { bola } else { throughput }
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.throughput.estimate_kbps()
    }
}
