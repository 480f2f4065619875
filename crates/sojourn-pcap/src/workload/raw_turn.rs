//! What an end waited before its turn: from the times at which packets passed the capture to what its application took.

use super::first_flight::WRITTEN;
use super::turns::Turn;
use super::waits::Host;

/// An end that sends again after it was idle for so long begins another turn.
pub(super) const QUIET_NS: i64 = 100_000_000;
/// An end nearer than this is where the capture was taken.
pub(super) const NEAR_NS: i64 = 1_000_000;
/// An end that has more to send does not wait for so long with it.
pub(super) const PAUSED_NS: i64 = 2_000_000;
/// No timer expires sooner: the least of Linux's; others wait longer.
const LEAST_TIMEOUT_NS: i64 = 200_000_000;
/// What an end waited is unknown: what it sent was lost.
pub(super) const LOST: u64 = u64::MAX;
/// Longest that an answer is held back for data to go with it.
const DELAYED_ACK_NS: i64 = 40_000_000;

/// A turn with the times that its wait is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawTurn {
    pub(super) by: bool,
    pub(super) bytes: u64,
    /// First packet of the turn, and its payload.
    pub(super) at: i64,
    pub(super) payload: u32,
    /// When all that the end waits for had passed, with a last packet of so much payload, and when it was seen to have
    /// it, if it said so by itself.
    pub(super) ready: i64,
    pub(super) ready_payload: u32,
    pub(super) told: Option<i64>,
    /// It said so at once, by itself or with these data.
    pub(super) at_once: bool,
    /// Something of it that is before its first packet did not pass.
    pub(super) lacks: bool,
    /// If it did not, when that would have passed by the pace at which it got what came before.
    pub(super) paced: Option<i64>,
    /// It was the end's own turn before, too.
    pub(super) follows: bool,
    /// When all its own earlier data had been acknowledged, and how long the last segment of it was.
    pub(super) own: i64,
    pub(super) last: u32,
    /// What the end has heard of the other, if that is more than when it last sent; when that passed here, and when the
    /// end acknowledged it.
    pub(super) heard: i64,
    pub(super) heard_at: [i64; 2],
    /// Nothing that it had sent was under way.
    pub(super) idle: bool,
    /// It had sent nothing for longer than an end takes that has more to send.
    pub(super) paused: bool,
    /// Pieces that are shorter than any segment need be, one if others are among them.
    pub(super) writes: u32,
    /// What the end took to answer the handshake, if that was just before: the queues that it met then.
    pub(super) answered: Option<i64>,
}

/// What is known of an end when the capture is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<'a> {
    /// Its base round trip to the capture and back.
    round: i64,
    /// What its packets and those to it waited.
    waits: Host<'a>,
    /// The size of segments that it fills, and of its longest, if they may be full.
    full: u32,
    longest: u32,
}

impl<'a> End<'a> {
    pub(super) fn new(round: i64, waits: Host<'a>, full: u32, longest: u32) -> Self {
        Self { round, waits, full, longest }
    }

    /// The capture was taken there.
    fn is_near(&self) -> bool {
        self.round < NEAR_NS
    }
}

/// The turns of a connection with the time that each of its ends waited before its own.
pub(super) fn waited(turns: &[RawTurn], concurrent: bool, ends: &[End<'_>; 2]) -> Vec<Turn> {
    let mut found: Vec<Turn> = Vec::with_capacity(turns.len());
    for raw in turns {
        let end = &ends[usize::from(raw.by)];
        // An end that had heard more of the other when it sent again waited from then on.
        let heard = if concurrent { raw.heard } else { 0 };
        let since = raw.heard_at[usize::from(!end.is_near())];
        let wait = if heard > 0 { Some(raw.at.saturating_sub(since).max(0)) } else { raw.waited(concurrent, end) };
        let wait_ns = wait.map_or(LOST, |wait| wait as u64);
        let turn = Turn { accepted: raw.by, bytes: raw.bytes, wait_ns, heard: heard as u64, writes: raw.writes };
        let earlier = match concurrent {
            true => found.iter_mut().rev().find(|earlier| earlier.accepted == raw.by),
            false => found.last_mut().filter(|earlier| earlier.accepted == raw.by),
        };
        match earlier.filter(|_| raw.goes_on(concurrent, heard, wait.unwrap_or(0), end)) {
            Some(earlier) => {
                earlier.writes = written([(earlier.bytes, earlier.writes), (turn.bytes, turn.writes)]);
                earlier.bytes += turn.bytes;
            }
            None => found.push(turn),
        }
    }
    found
}

impl RawTurn {
    /// What its end waited since it had all that it waits for; `None` if what it sent was lost at first.
    fn waited(&self, concurrent: bool, end: &End<'_>) -> Option<i64> {
        let (host, near) = (end.waits, end.is_near());
        let since = if concurrent { self.own } else { self.ready };
        let known = host.is_known(since);
        // Its answer waits as that of the handshake did: what a queue took is no thinking.
        let answered = self.answered.filter(|_| !near && !known);
        let round = answered.map_or(end.round, |answered| answered.max(end.round));
        let (at, came) = match near || !known {
            true => (self.at, since),
            false => (host.went(self.at, self.payload), host.came(since, self.ready_payload)),
        };
        let whole = at.saturating_sub(came).saturating_sub(round).max(0);
        // An end that said that it had all began to think then, or at most so much earlier: with an answer that
        // is held back for data. One that said nothing sent its data sooner than that, and if they come later
        // than a timer expires, they were lost before.
        if concurrent || near || self.follows {
            return Some(whole);
        }
        let since = |said: i64| host.went(self.at, self.payload).saturating_sub(host.went(said, 0)).max(0);
        let [told, paced] = [self.told, self.paced].map(|said| said.map(since));
        // Where each flow has its queue, the last of a flow waited longest, of which nothing else tells.
        let whole = paced.map_or(whole, |paced| whole.min(paced));
        // The last of what was lost is sent again after two round trips (TLP, RFC 8985 §7.2).
        if self.lacks && told.unwrap_or(whole) >= end.round.saturating_mul(2) {
            return None;
        }
        // Data go with an answer that is held back, so one that went just before them was not.
        match told {
            Some(told) if self.at_once || told < NEAR_NS => Some(told),
            Some(told) if known => Some(whole.clamp(told, told.saturating_add(DELAYED_ACK_NS))),
            Some(told) => Some(whole.min(told)),
            None if whole >= LEAST_TIMEOUT_NS => None,
            None if self.at_once => Some(0),
            None if known => Some(whole),
            None => Some(whole.min(DELAYED_ACK_NS)),
        }
    }

    /// True if it is the same turn as the one before it of this end, which only the other end's turns had parted. Who
    /// is far may not have been quiet: queues took longer, or a timer had to expire.
    fn goes_on(&self, concurrent: bool, heard: i64, wait: i64, end: &End<'_>) -> bool {
        let near = end.is_near();
        let cut = is_full(self.last, end.full) && !(near && (self.idle || !concurrent));
        // It may have gone on with the same while the other's passed.
        let more = is_full(self.last, end.longest);
        let meanwhile = if near { !self.idle && (more || !self.paused) } else { more };
        cut || wait <= QUIET_NS && if concurrent { heard == 0 || meanwhile } else { !near }
    }
}

/// A segment of so much payload is full: its end had more to send.
pub(super) fn is_full(payload: u32, full: u32) -> bool {
    payload > 0 && full > 0 && payload.is_multiple_of(full)
}

/// In how many writes two that follow each other were written, of so many bytes and writes each: as many, if all are
/// shorter than what TCP cuts; else that cannot be known.
pub(super) fn written(both: [(u64, u32); 2]) -> u32 {
    let short = both.iter().all(|(bytes, writes)| *bytes < u64::from(*writes) * u64::from(WRITTEN));
    if short { both[0].1.saturating_add(both[1].1) } else { 1 }
}
