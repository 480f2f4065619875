//! How the calls of one entry of users are scored, from what the study says of them.

use crate::emodel::{self, Plan};
use crate::emodel_wideband::{self, REMEMBERED};
use sojourn_sim::scenario::{Codec, Concealment, DelayModel, Playout, Voice};

/// The receiver's playout buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// It waits so many nanoseconds after the first arrival.
    Fixed(i64),
    /// It follows the delay.
    Adaptive,
    /// As NetEq's.
    Neteq,
    /// There is none.
    None,
}

/// Which E-model rates the speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// G.107.
    Narrow,
    /// G.107.1.
    Wide,
}

/// How the calls of a user are scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// The codec's impairment.
    pub plan: Plan,
    /// On which scale it is.
    pub scale: Scale,
    /// Milliseconds from speech to packet.
    pub packetisation_ms: f64,
    /// The playout buffer.
    pub buffer: Buffer,
    /// The delay is half the round trip, not the direction's own.
    pub half_rtt: bool,
    /// Frames of a call where pauses are not sent; else those of its packets.
    pub frames: Option<usize>,
}

/// Speech in a packet.
const FRAME_NS: u64 = 20_000_000;

impl Method {
    /// How a user of a study is scored.
    pub fn of(user: &Voice) -> Self {
        // 20 ms of speech in a packet; G.729 looks 5 ms ahead, Opus 6.5 ms.
        let (plan, scale, packetisation_ms) = match (user.codec, user.concealment) {
            (Codec::G729a, _) => (emodel::G729A, Scale::Narrow, 25.0),
            (Codec::G711a, Concealment::Zero) => (emodel::G711, Scale::Narrow, 20.0),
            (Codec::G711a, _) => (emodel::G711_PLC, Scale::Narrow, 20.0),
            (Codec::G722, _) => (emodel_wideband::G722, Scale::Wide, 20.0),
            (Codec::Opus, _) => {
                let kbps = user.opus.clone().unwrap_or_default().bitrate.0 as f64 / 1e3;
                (emodel_wideband::opus(kbps), Scale::Wide, 26.5)
            }
        };
        Self {
            plan,
            scale,
            packetisation_ms,
            buffer: match &user.playout {
                Playout::Fixed { delay } => Buffer::Fixed(delay.0 as i64),
                Playout::Adaptive {} => Buffer::Adaptive,
                Playout::Neteq {} => Buffer::Neteq,
                Playout::None {} => Buffer::None,
            },
            half_rtt: user.delay_model == DelayModel::HalfRtt,
            frames: user.pauses().then(|| (user.call.0 / FRAME_NS).max(1) as usize),
        }
    }

    /// Listening quality on the scale of G.107 of speech of which `percent` is missing with this burst ratio.
    pub fn listening(&self, percent: f64, burst_ratio: f64) -> f64 {
        match self.scale {
            Scale::Narrow => emodel::R_DEFAULT - emodel::ie_eff(self.plan, percent, burst_ratio),
            Scale::Wide => emodel_wideband::listening(self.plan, percent, burst_ratio),
        }
    }

    /// What a score by the E-model has to say of itself; empty for nothing.
    pub fn note(&self) -> String {
        match self.scale {
            Scale::Narrow => String::new(),
            Scale::Wide => format!("the wide-band E-model has from memory: {REMEMBERED}"),
        }
    }
}
