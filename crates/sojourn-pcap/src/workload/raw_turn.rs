//! What an end waited before its turn: from the times at which packets passed the capture to what its application took.

use super::first_flight::WRITTEN;
use super::turns::Turn;
use super::waits::Host;
use super::way::Way;

/// An end that sends again after it was idle for so long begins another turn.
pub(super) const QUIET_NS: i64 = 100_000_000;
/// An end nearer than this is where the capture was taken.
pub(super) const NEAR_NS: i64 = 1_000_000;
/// An end that has more to send does not wait for so long with it.
pub(super) const PAUSED_NS: i64 = 2_000_000;
/// Who sends so soon after an acknowledgement had waited for that.
const AT_ONCE_NS: i64 = 1_000_000;
/// Of an end that is far, shorter pauses may be those of queues.
const FAR_PAUSE_NS: i64 = 10_000_000;
/// So much every host sends without an acknowledgement, unless it lost much (RFC 3390).
const LEAST_WINDOW: i64 = 4380;
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
    /// But for that pause it is its end's own turn before.
    pub(super) only_pauses: bool,
    /// The packet that it sent before: when, and its payload.
    pub(super) sent: (i64, u32),
    /// When what it had sent was last acknowledged.
    pub(super) acked_at: i64,
    /// If some of its turn before, or of the last piece of it, was acknowledged when more of that came: when, and when
    /// the last of it came.
    pub(super) acked_amid: Option<(i64, i64)>,
    /// Bytes under way, and whether it sent nothing when its window had opened before the last time.
    pub(super) flight: i64,
    pub(super) room: bool,
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

    /// When it sent what was seen `at`, but for the way.
    fn went(&self, at: i64, payload: u32) -> i64 {
        if self.is_near() { at } else { self.waits.went(at, payload) }
    }

    /// When it had what was seen `at`, but for the way of its answer.
    fn heard(&self, at: i64) -> i64 {
        if self.is_near() { at } else { self.waits.came(at, 0).saturating_add(self.round) }
    }
}

/// The turns of a connection with the time that each of its ends waited before its own.
pub(super) fn waited(turns: &[RawTurn], concurrent: bool, ends: &[End<'_>; 2]) -> Vec<Turn> {
    let mut found: Vec<Turn> = Vec::with_capacity(turns.len());
    // By end, when its last turn began, and [`RawTurn::acked_amid`] of that.
    let mut began: [Option<i64>; 2] = [None; 2];
    let mut acked_amid: [Option<(i64, i64)>; 2] = [None; 2];
    for (place, raw) in turns.iter().enumerate() {
        let side = usize::from(raw.by);
        let end = &ends[side];
        // An end that had heard more of the other when it sent again waited from then on.
        let heard = if concurrent { raw.heard } else { 0 };
        let since = raw.heard_at[usize::from(!end.is_near())];
        let wait = if heard > 0 { Some(raw.at.saturating_sub(since).max(0)) } else { raw.waited(concurrent, end) };
        let goes_on = if concurrent { heard == 0 } else { raw.follows };
        let amid = acked_amid[side].or(raw.acked_amid);
        let pause = if goes_on { raw.pause(wait.unwrap_or(0), amid, &turns[..place], end) } else { Pause::None };
        let went = end.went(raw.at, raw.payload);
        let streamed = began[side].filter(|_| pause == Pause::Clock).map(|began| went.saturating_sub(began).max(0));
        let wait_ns = streamed.or(wait).map_or(LOST, |wait| wait as u64);
        let (accepted, bytes, writes, streamed) = (raw.by, raw.bytes, raw.writes, streamed.is_some());
        let turn = Turn { accepted, bytes, wait_ns, heard: heard as u64, writes, streamed };
        let earlier = match concurrent {
            true => found.iter_mut().rev().find(|earlier| earlier.accepted == raw.by),
            false => found.last_mut().filter(|earlier| earlier.accepted == raw.by),
        };
        let same = || raw.only_pauses || raw.goes_on(concurrent, heard, wait.unwrap_or(0), end);
        match earlier.filter(|_| pause == Pause::None && same()) {
            Some(earlier) => {
                let some_acked = (earlier.bytes as i64) > raw.flight;
                acked_amid[side] = amid.or(some_acked.then_some((raw.acked_at, raw.at)));
                earlier.writes = written([(earlier.bytes, earlier.writes), (turn.bytes, turn.writes)]);
                earlier.bytes += turn.bytes;
            }
            None => {
                found.push(turn);
                (began[side], acked_amid[side]) = (Some(went), None);
            }
        }
    }
    found
}

/// How an end paused in front of what follows its own turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// It did not, or that is not known.
    None,
    /// What it had sent had to be acknowledged, as Nagle's algorithm has it (RFC 896).
    Nagle,
    /// It had sent all that it had, and wrote more when it was time.
    Clock,
}

impl RawTurn {
    /// How its end paused, which sent nothing for `wait` after all that it had sent was acknowledged, and had the turns
    /// `before`. Whose last segment was full had more to send; whose was not had sent all, or was not to send so little
    /// (Nagle).
    fn pause(&self, wait: i64, acked_amid: Option<(i64, i64)>, before: &[Self], end: &End<'_>) -> Pause {
        let full = if end.full > 0 { end.full } else { end.longest };
        if !self.paused || is_full(self.last, full) {
            return Pause::None;
        }
        if end.is_near() {
            let acknowledged = self.at.saturating_sub(self.acked_at) <= AT_ONCE_NS;
            match (acknowledged, self.idle) {
                (true, true) => return Pause::Nagle,
                (true, false) if self.flight > LEAST_WINDOW && !self.room => return Pause::None,
                _ => {}
            }
        } else {
            let went = end.went(self.at, self.payload);
            let paused = went.saturating_sub(end.went(self.sent.0, self.sent.1)) > FAR_PAUSE_NS;
            if !paused || !end.waits.is_known(self.own) || self.much_under_way(went, before, end) {
                return Pause::None;
            }
        }
        // It may have waited for room to write, which is no matter of time.
        let blocked = || acked_amid.is_some_and(|(acked, sent)| end.heard(acked) <= end.went(sent, 0));
        if wait > QUIET_NS && blocked() { Pause::None } else { Pause::Clock }
    }

    /// True if more of its end may have been under way when it sent this turn than is sent without an acknowledgement:
    /// the other end holds that back.
    fn much_under_way(&self, went: i64, before: &[Self], end: &End<'_>) -> bool {
        let own = before.iter().rev().filter(|turn| turn.by == self.by);
        let under_way = |turn: &&Self| end.heard(turn.at).saturating_add(DELAYED_ACK_NS) > went;
        let mut left = LEAST_WINDOW;
        own.take_while(under_way).any(|turn| {
            left = left.saturating_sub_unsigned(turn.bytes);
            left < 0
        })
    }

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

/// True if an end that paused sends new data now, and no full segment was the last `before`; a full one may be `cut`.
pub(super) fn pauses(before: &Way, cut: u32, now: i64) -> bool {
    before.last > 0 && !is_full(before.last, cut) && now.saturating_sub(before.sent_at) > PAUSED_NS
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
