//! One viewing of a clip: asks the player, keeps the playback buffer, writes down every segment. Whoever drives it
//! tells the time and does the downloads: the ideal link ([`super::play`]) or a connection of the simulation.

mod live;

use super::abandon::{Progress, Watch};
use super::clip::Clip;
use super::live::Live;
use super::playback::Playback;
use super::rule::{Player, Segment, State};
use live::Viewing;
use std::rc::Rc;

pub use live::Look;

/// Waits shorter than this, in seconds, are rounding.
const NO_WAIT: f64 = 1e-9;

/// How a player buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Seconds of video that the buffer holds.
    pub buffer_s: f64,
    /// Seconds of video before playing starts.
    pub initial_s: f64,
    /// Seconds of video before playing goes on after a stall.
    pub resume_s: f64,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Wait so many seconds, then ask again.
    Wait(f64),
    /// Request this segment now, and tell [`Session::arrived`] when it is there.
    Request {
        /// Its number, from 0.
        segment: usize,
        /// The level chosen.
        level: usize,
        /// Its size.
        bytes: u64,
    },
    /// The clip has been fetched.
    Done,
}

/// One segment as it was fetched. Times are in seconds since the session began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The segment; its times are infinite as long as it has not arrived.
    pub segment: Segment,
    /// When the previous one arrived; 0 for the first.
    pub decide_s: f64,
    /// Seconds of video in the buffer when the request left.
    pub before_s: f64,
    /// Seconds of stalling during the download.
    pub stall_s: f64,
    /// The throughput that the choice went by.
    pub estimate_kbps: Option<f64>,
    /// How often it was given up and asked for again.
    pub given_up: u32,
}

#[derive(Clone, Copy)]
enum Phase {
    /// The buffer may have no room.
    Full,
    /// The player has chosen; the request leaves after its wait.
    Chosen(usize),
    Fetching,
}

/// One viewing of a clip.
pub struct Session {
    clip: Rc<Clip>,
    player: Box<dyn Player>,
    playback: Playback,
    limit_s: f64,
    phase: Phase,
    arrived_s: f64,
    waited_s: f64,
    stalled_before: f64,
    /// Watches over the download, if slow ones are given up.
    watch: Option<Watch>,
    /// The stream is live.
    live: Option<Viewing>,
    rows: Vec<Row>,
}

impl Session {
    /// A viewing that begins at time zero. The error is a sentence.
    pub fn new(clip: Rc<Clip>, player: Box<dyn Player>, settings: Settings) -> Result<Self, String> {
        let Settings { buffer_s, initial_s, resume_s } = settings;
        let segment_s = clip.segment_s();
        if !(buffer_s >= segment_s && buffer_s < 1e6) {
            return Err(format!("a buffer of {buffer_s} s: expected at least one segment of {segment_s} s"));
        }
        // A buffer that is full plays, whatever was asked for.
        let most = buffer_s - segment_s;
        let playback = Playback::new(initial_s.min(most), resume_s.min(most));
        let rows = Vec::with_capacity(clip.len());
        Ok(Self {
            clip,
            player,
            playback,
            limit_s: buffer_s,
            phase: Phase::Full,
            arrived_s: 0.0,
            waited_s: 0.0,
            stalled_before: 0.0,
            watch: None,
            live: None,
            rows,
        })
    }

    /// The same viewing, of a live stream: playing starts and goes on with the first chunk.
    pub fn of_live(mut self, live: Live) -> Self {
        self.player.live(live.latency_s);
        let viewing = Viewing::new(live, self.clip.segment_s());
        Self { live: Some(viewing), playback: Playback::new(0.0, 0.0), ..self }
    }

    /// The same viewing, in which downloads that are too slow are given up.
    pub fn giving_up(self) -> Self {
        Self { watch: Some(Watch::default()), ..self }
    }

    /// What to do now.
    pub fn next(&mut self, now_s: f64) -> Next {
        let segment = self.rows.len();
        if segment == self.clip.len() {
            return Next::Done;
        }
        self.playback.advance(now_s);
        let level = match self.phase {
            Phase::Fetching => return Next::Done,
            Phase::Chosen(level) => level,
            Phase::Full => {
                let level_s = self.playback.level_s();
                let mut too_much =
                    (level_s + self.clip.segment_s() - self.limit_s).max(level_s - self.player.enough_s());
                if let Some(viewing) = &self.live {
                    too_much = viewing.wait_s(segment, now_s, too_much);
                }
                if too_much > NO_WAIT {
                    self.waited_s += too_much;
                    return Next::Wait(too_much);
                }
                let choice = self.player.choose(&State {
                    clip: &self.clip,
                    segment,
                    now_s,
                    arrived_s: self.arrived_s,
                    waited_s: self.waited_s,
                    buffer_s: self.playback.level_s(),
                    limit_s: self.limit_s,
                    last: self.rows.last().map(|row| row.segment.level),
                });
                let level = choice.level.min(self.clip.levels() - 1);
                if choice.wait_s > NO_WAIT && choice.wait_s < 1e6 {
                    self.phase = Phase::Chosen(level);
                    return Next::Wait(choice.wait_s);
                }
                level
            }
        };
        self.phase = Phase::Fetching;
        let bytes = self.clip.sizes_of(segment)[level];
        self.stalled_before = self.playback.stalled_s();
        let fetched = Segment {
            index: segment,
            level,
            bytes,
            request_s: now_s,
            first_byte_s: f64::INFINITY,
            arrive_s: f64::INFINITY,
            buffer_s: 0.0,
        };
        self.rows.push(Row {
            segment: fetched,
            decide_s: self.arrived_s,
            before_s: self.playback.level_s(),
            stall_s: 0.0,
            estimate_kbps: self.player.estimate_kbps(),
            given_up: 0,
        });
        self.watch = self.watch.map(|_| Watch::default());
        Next::Request { segment, level, bytes }
    }

    /// So many bytes of the segment under way have come: the request to make in its place, if it is to be given up.
    pub fn progress(&mut self, first_byte_s: f64, now_s: f64, done: u64) -> Option<Next> {
        if let (Some(viewing), Some(row)) = (&mut self.live, self.rows.last()) {
            viewing.come(row.segment.index, row.segment.bytes, done, now_s, &mut self.playback);
        }
        let watch = self.watch.as_mut()?;
        let row = self.rows.last_mut()?;
        self.playback.advance(now_s);
        let Segment { index, level, bytes, request_s, .. } = row.segment;
        let level = watch.look(
            self.clip.rates_kbps(),
            &Progress {
                level,
                bytes,
                done,
                elapsed_s: now_s - request_s,
                transfer_s: now_s - first_byte_s,
                segment_s: self.clip.segment_s(),
                buffer_s: self.playback.level_s(),
            },
        )?;
        *watch = Watch::default();
        let bytes = self.clip.sizes_of(index)[level];
        row.segment = Segment { level, bytes, request_s: now_s, ..row.segment };
        row.given_up += 1;
        Some(Next::Request { segment: index, level, bytes })
    }

    /// The segment under way has arrived.
    pub fn arrived(&mut self, first_byte_s: f64, now_s: f64) {
        let last = self.rows.len() == self.clip.len();
        // Of a live stream the chunks are in already.
        if self.live.is_none() || last {
            self.playback.arrived(now_s, if self.live.is_none() { self.clip.segment_s() } else { 0.0 }, last);
        }
        let Some(row) = self.rows.last_mut() else { return };
        row.segment.first_byte_s = first_byte_s;
        row.segment.arrive_s = now_s;
        row.segment.buffer_s = self.playback.level_s();
        row.stall_s = self.playback.stalled_s() - self.stalled_before;
        match &mut self.live {
            Some(viewing) => self.player.live_segment_done(&row.segment, viewing.kbps()),
            None => self.player.segment_done(&row.segment),
        }
        (self.arrived_s, self.waited_s) = (now_s, 0.0);
        self.phase = Phase::Full;
    }

    /// Segments so far, the one under way included.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The clip.
    pub fn clip(&self) -> &Clip {
        &self.clip
    }

    /// The playback buffer.
    pub fn playback(&mut self) -> &mut Playback {
        &mut self.playback
    }

    /// Joins a live stream whose time is `stream_s` as the session begins.
    pub fn join(&mut self, stream_s: f64) {
        if let Some(viewing) = &mut self.live {
            viewing.join(stream_s);
        }
    }

    /// Whether it is of a live stream.
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Whether the last segment has come and has been played.
    pub fn is_over(&self) -> bool {
        let all = self.rows.last().is_some_and(|row| row.segment.arrive_s.is_finite());
        all && self.rows.len() == self.clip.len() && self.playback.level_s() <= 0.0
    }

    /// Bytes of the live segment under way that the server has, and when it will have more.
    pub fn made(&self, now_s: f64) -> (u64, Option<f64>) {
        let (Some(viewing), Some(row)) = (&self.live, self.rows.last()) else { return (0, None) };
        viewing.made(row.segment.index, row.segment.bytes, now_s)
    }

    /// Looks at the latency of a live stream; called every [`TICK_S`](crate::player::TICK_S).
    pub fn look(&mut self, now_s: f64) {
        if let Some(viewing) = &mut self.live {
            viewing.look(now_s, &mut self.playback);
        }
    }

    /// What was seen at each look since playing began.
    pub fn looks(&self) -> &[Look] {
        self.live.as_ref().map_or(&[], Viewing::looks)
    }
}

#[cfg(test)]
mod tests;
