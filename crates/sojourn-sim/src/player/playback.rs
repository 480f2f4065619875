//! The playback buffer: seconds of video that have arrived and not been played.
//!
//! Playing starts when `initial` seconds are in, stops when nothing is left (a stall) and goes on when `resume`
//! seconds are in. Time is told, in seconds since the session began. A live viewer may play at another rate than 1, and
//! jump ahead.

/// A time without playing after playing had begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// When the buffer ran empty.
    pub from_s: f64,
    /// When playing went on.
    pub to_s: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Starting,
    Playing,
    Stalled {
        since: f64,
    },
}

/// A playback buffer.
#[derive(Clone, Debug, Default)]
pub struct Playback {
    level_s: f64,
    at_s: f64,
    /// Seconds of video played in a second.
    rate: f64,
    phase: Phase,
    initial_s: f64,
    resume_s: f64,
    /// The whole clip has arrived.
    complete: bool,
    started_s: Option<f64>,
    stalls: Vec<Stall>,
    stalled_s: f64,
}

impl Playback {
    /// An empty buffer that starts with `initial_s` and goes on with `resume_s` seconds.
    pub fn new(initial_s: f64, resume_s: f64) -> Self {
        Self { rate: 1.0, initial_s, resume_s, ..Self::default() }
    }

    /// Plays up to `now_s`.
    pub fn advance(&mut self, now_s: f64) {
        let elapsed = now_s - self.at_s;
        match self.phase {
            Phase::Playing if elapsed * self.rate > self.level_s => {
                if !self.complete {
                    let since = self.at_s + self.level_s / self.rate;
                    self.stalled_s += now_s - since;
                    self.phase = Phase::Stalled { since };
                }
                self.level_s = 0.0;
            }
            Phase::Playing => self.level_s -= elapsed * self.rate,
            Phase::Stalled { .. } => self.stalled_s += elapsed,
            Phase::Starting => {}
        }
        self.at_s = now_s;
    }

    /// A segment of `segment_s` seconds arrives; `last` if no other follows.
    pub fn arrived(&mut self, now_s: f64, segment_s: f64, last: bool) {
        self.advance(now_s);
        self.level_s += segment_s;
        self.complete = last;
        match self.phase {
            Phase::Starting if last || self.level_s >= self.initial_s => {
                self.started_s = Some(now_s);
                self.phase = Phase::Playing;
            }
            Phase::Stalled { since } if last || self.level_s >= self.resume_s => {
                self.stalls.push(Stall { from_s: since, to_s: now_s });
                self.phase = Phase::Playing;
            }
            _ => {}
        }
    }

    /// Plays on at another rate.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Leaves out so many seconds of what is in the buffer.
    pub fn jump(&mut self, seconds: f64) {
        self.level_s -= seconds.min(self.level_s);
    }

    /// Seconds of video in the buffer.
    pub fn level_s(&self) -> f64 {
        self.level_s
    }

    /// When playing began.
    pub fn started_s(&self) -> Option<f64> {
        self.started_s
    }

    /// Stalls that have ended.
    pub fn stalls(&self) -> &[Stall] {
        &self.stalls
    }

    /// When the present stall began, if there is one.
    pub fn stalled_since(&self) -> Option<f64> {
        if let Phase::Stalled { since } = self.phase { Some(since) } else { None }
    }

    /// Seconds of stalling so far.
    pub fn stalled_s(&self) -> f64 {
        self.stalled_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_stalls_and_goes_on() {
        let mut buffer = Playback::new(12.0, 4.0);
        for now in [1.0, 2.0, 3.0] {
            assert_eq!(buffer.started_s(), None);
            buffer.arrived(now, 4.0, false);
        }
        assert_eq!((buffer.level_s(), buffer.started_s()), (12.0, Some(3.0)));
        buffer.advance(14.0);
        assert_eq!((buffer.level_s(), buffer.stalled_since()), (1.0, None));
        buffer.advance(20.0);
        assert_eq!((buffer.level_s(), buffer.stalled_since(), buffer.stalled_s()), (0.0, Some(15.0), 5.0));
        buffer.arrived(21.5, 4.0, false);
        assert_eq!(buffer.stalls(), [Stall { from_s: 15.0, to_s: 21.5 }]);
        assert_eq!((buffer.level_s(), buffer.stalled_s()), (4.0, 6.5));
    }

    #[test]
    fn it_plays_faster_slower_and_jumps() {
        let mut buffer = Playback::new(0.0, 0.0);
        buffer.arrived(1.0, 4.0, false);
        buffer.set_rate(1.25);
        buffer.advance(2.0);
        assert_eq!(buffer.level_s(), 2.75);
        buffer.jump(0.5);
        buffer.set_rate(0.5);
        buffer.advance(4.0);
        assert_eq!(buffer.level_s(), 1.25);
        // At half the rate what is left lasts 2.5 s.
        buffer.advance(7.0);
        assert_eq!((buffer.stalled_since(), buffer.stalled_s()), (Some(6.5), 0.5));
        buffer.jump(1.0);
        assert_eq!(buffer.level_s(), 0.0);
    }

    #[test]
    fn the_end_of_the_clip_is_no_stall() {
        let mut buffer = Playback::new(12.0, 4.0);
        buffer.arrived(1.0, 4.0, true);
        assert_eq!(buffer.started_s(), Some(1.0));
        buffer.advance(100.0);
        assert_eq!((buffer.level_s(), buffer.stalled_since(), buffer.stalled_s()), (0.0, None, 0.0));
    }

    #[test]
    fn a_stall_may_last_over_several_segments() {
        let mut buffer = Playback::new(2.0, 6.0);
        buffer.arrived(0.0, 2.0, false);
        for now in [3.0, 4.0, 5.0] {
            buffer.arrived(now, 2.0, false);
        }
        assert_eq!(buffer.stalls(), [Stall { from_s: 2.0, to_s: 5.0 }]);
    }
}
