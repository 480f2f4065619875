//! Dash.js's DYNAMIC: BOLA-E from 10 s of buffer on, the throughput rule again below 5 s.
//!
//! Source: K. Spiteri, R. Sitaraman, D. Sparacio, "From Theory to Practice: Improving Bitrate Adaptation in the DASH
//! Reference Player", MMSys 2018, in the form of their simulator sabre (`dynamicdash`). Only the active rule decides;
//! BOLA-E hears of every wait and download.

use super::bola_e::BolaE;
use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};
use super::throughput::Throughput;

/// Buffer in seconds below which the throughput rule takes over, and above which BOLA-E does.
const SWITCH_S: (f64, f64) = (5.0, 10.0);

/// A DYNAMIC player.
#[derive(Clone, Debug)]
pub(super) struct DynamicDash {
    bola: BolaE,
    throughput: Throughput,
    by_bola: bool,
}

impl DynamicDash {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        Self { bola: BolaE::new(clip, limit_s), throughput: Throughput::new(clip), by_bola: false }
    }
}

impl Player for DynamicDash {
    fn segment_done(&mut self, segment: &Segment) {
        self.bola.segment_done(segment);
        self.throughput.segment_done(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        self.bola.waited(state.waited_s);
        self.by_bola = if self.by_bola { state.buffer_s >= SWITCH_S.0 } else { state.buffer_s > SWITCH_S.1 };
        if self.by_bola { self.bola.decide(state) } else { self.throughput.choose(state) }
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.throughput.estimate_kbps()
    }
}
