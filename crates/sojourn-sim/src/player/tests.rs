//! A viewing whose downloads a test decides, for rules that do not look at the buffer.

use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};

/// A viewing.
pub(super) struct Viewing {
    player: Box<dyn Player>,
    clip: Clip,
    limit_s: f64,
    segment: usize,
    level: Option<usize>,
    now_s: f64,
}

impl Viewing {
    pub(super) fn new(player: Box<dyn Player>, clip: Clip, limit_s: f64) -> Self {
        let mut made = Self { player, clip, limit_s, segment: 0, level: None, now_s: 0.0 };
        made.choose();
        made
    }

    /// Fetches a segment at so many kb/s.
    pub(super) fn fetch(&mut self, kbps: f64) {
        let level = self.level.unwrap_or(0);
        let bytes = self.clip.sizes_of(self.segment)[level];
        let (request_s, seconds) = (self.now_s, bytes as f64 * 8e-3 / kbps);
        self.now_s += seconds;
        self.player.segment_done(&Segment {
            index: self.segment,
            level,
            bytes,
            request_s,
            first_byte_s: request_s,
            arrive_s: self.now_s,
            buffer_s: 12.0,
        });
        self.segment += 1;
    }

    pub(super) fn choose(&mut self) -> Choice {
        let choice = self.player.choose(&State {
            clip: &self.clip,
            segment: self.segment,
            now_s: self.now_s,
            arrived_s: self.now_s,
            waited_s: 0.0,
            buffer_s: 12.0,
            limit_s: self.limit_s,
            last: self.level,
        });
        self.level = Some(choice.level);
        choice
    }
}
