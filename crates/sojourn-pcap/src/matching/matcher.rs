//! What became of every packet in front of the queue: both captures read side by side, each packet looked for behind
//! the queue.
//!
//! A packet that leaves is the one in front with the same identity. Where several look the same (datagrams with the
//! same bytes, say), a flow keeps its order, and of those that are left the one is taken whose time in the queue is
//! nearest to that of the packet that left before. Of packets that came so late that they could still wait when the
//! capture behind the queue ended, or be on a longer way than what left, those are lost that found the queue so long
//! that most others which did were: a queue that drops early (RED, CoDel) loses few of those that find it as long as
//! one that it dropped. A packet that has not left after a time several times as long as the queue ever took is lost.
//! Memory is that of the packets which are still undecided, and of one entry for each flow.

use super::clock_offset::Survey;
use super::flow::Flow;
use super::parse_frame::{Seen, Tuple};
use super::rows::Rows;
use sojourn_net::log::{DropCause, NOT_DROPPED};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// How far the reading of the front capture is ahead of the other, for clocks that drift.
const AHEAD_NS: i64 = 1_000_000_000;
const LONGEST_WAIT_NS: i64 = 60_000_000_000;
/// Undecided packets at most: beyond, the oldest are called lost.
const MOST_UNDECIDED: usize = 1 << 22;
/// Longer queues count as this long.
const LONGEST_QUEUE: usize = 1 << 16;
/// Flows are in one queue if no more than one in so many packets leaves after one that came later.
const IN_ORDER: u64 = 20;
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Undecided,
    Left(i64),
    /// Its receiver has it though nobody saw it leave.
    Unseen,
    Lost,
}

#[derive(Debug)]
struct Row {
    identity: u64,
    /// The next row that looks the same.
    same: u64,
    flow: u32,
    kind: u8,
    size: u32,
    arrive: i64,
    seq: u32,
    fate: Fate,
}

/// The matcher: tell it of packets in front of the queue and behind it.
#[derive(Default)]
pub(super) struct Matcher {
    offset: i64,
    wait: i64,
    longest: i64,
    egress_span: (i64, i64),
    ingress_span: (i64, i64),
    /// Time of the first packet in front, from which the log counts.
    pub(super) start: Option<i64>,
    rows: VecDeque<Row>,
    /// Number of the first of them.
    first: u64,
    by_identity: BTreeMap<u64, (u64, u64)>,
    numbers: BTreeMap<Tuple, u32>,
    pub(super) flows: Vec<Flow>,
    last_wait: i64,
    /// Row after the last one that left.
    next_to_leave: u64,
    /// Packets that left after one that came later.
    overtaken: u64,
    /// By the length of the queue that they found: packets, and those of them that were lost.
    found: Vec<[u64; 2]>,
    /// The shortest queue that is full; known once packets came too late to tell whether they wait.
    full: Option<usize>,
    waiting: BinaryHeap<Reverse<(i64, u32)>>,
    waiting_bytes: u64,
    pub(super) counts: Counts,
    pub(super) log: Rows,
}

/// Packets by what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) arrived: u64,
    pub(super) left: u64,
    pub(super) lost: u64,
    /// Acknowledged, but not captured behind the queue.
    pub(super) unseen_behind: u64,
    /// Captured behind the queue only.
    pub(super) unseen_in_front: u64,
    /// Of them those that are parts of longer ones in front, or hold shorter ones.
    pub(super) cut_otherwise: u64,
    /// Of them those that left while the capture in front did not run.
    pub(super) outside_front: u64,
    /// Came before the capture behind the queue began, or too late to leave before it ended.
    pub(super) outside: u64,
    pub(super) longest_wait: i64,
}

impl Matcher {
    pub(super) fn new(survey: &Survey) -> Self {
        let span = survey.egress_span;
        Self {
            offset: survey.offset_ns,
            wait: survey.longest_ns.saturating_mul(4).saturating_add(2_000_000_000).min(LONGEST_WAIT_NS),
            longest: survey.longest_ns,
            egress_span: (span.0.saturating_sub(survey.offset_ns), span.1.saturating_sub(survey.offset_ns)),
            ingress_span: survey.ingress_span,
            ..Self::default()
        }
    }

    /// True if a packet in front is to be told of before one behind the queue.
    pub(super) fn in_front_first(&self, in_front: &Seen, behind: &Seen) -> bool {
        in_front.time_ns <= behind.time_ns.saturating_sub(self.offset).saturating_add(AHEAD_NS)
    }

    /// A packet came to the queue.
    pub(super) fn arrives(&mut self, seen: &Seen) {
        self.start.get_or_insert(seen.time_ns);
        let flow = *self.numbers.entry(seen.tuple).or_insert_with(|| {
            self.flows.push(Flow::new(seen.tuple));
            self.flows.len() as u32 - 1
        });
        let number = self.first + self.rows.len() as u64;
        let same = self.by_identity.entry(seen.identity).or_insert((number, number));
        let before = std::mem::replace(&mut same.1, number);
        if before != number {
            self.rows[(before - self.first) as usize].same = number;
        }
        self.rows.push_back(Row {
            identity: seen.identity,
            same: NONE,
            flow,
            kind: seen.kind as u8,
            size: seen.size,
            arrive: seen.time_ns,
            seq: seen.seq,
            fate: Fate::Undecided,
        });
        self.flows[flow as usize].arrived(number, seen);
        if self.rows.len() > MOST_UNDECIDED {
            self.settle(self.rows[0].arrive.saturating_add(1));
        }
    }

    /// A packet left the queue.
    pub(super) fn leaves(&mut self, seen: &Seen) {
        let at = seen.time_ns.saturating_sub(self.offset);
        match self.candidate(seen, at) {
            Some(number) => {
                let row = &mut self.rows[(number - self.first) as usize];
                row.fate = Fate::Left(at.max(row.arrive));
                self.last_wait = at.saturating_sub(row.arrive);
                self.overtaken += u64::from(number < self.next_to_leave);
                self.next_to_leave = self.next_to_leave.max(number + 1);
                self.counts.longest_wait = self.counts.longest_wait.max(self.last_wait);
                let flow = &mut self.flows[row.flow as usize];
                flow.next_row = flow.next_row.max(number + 1);
                flow.shortest = Some(flow.shortest.map_or(self.last_wait, |least| least.min(self.last_wait)));
                flow.left(seen);
            }
            None => {
                // What waited when the capture in front began leaves before all that it has.
                let (begin, end) = self.ingress_span;
                let waited = self.next_to_leave == 0 && at < begin.saturating_add(self.longest);
                let outside = at < begin || at > end || waited;
                let counts = &mut self.counts;
                let count = if outside { &mut counts.outside_front } else { &mut counts.unseen_in_front };
                *count += 1;
                if let Some(flow) = self.numbers.get(&seen.tuple) {
                    let flow = &mut self.flows[*flow as usize];
                    self.counts.cut_otherwise += u64::from(flow.is_cut_otherwise(seen));
                    flow.left(seen);
                }
            }
        }
        self.settle(at.saturating_sub(self.wait));
    }

    /// An acknowledgement came back, as the capture behind the queue saw it.
    pub(super) fn comes_back(&mut self, seen: &Seen) {
        let (Some(ack), Some(flow)) = (seen.ack, self.numbers.get(&seen.tuple.reversed())) else { return };
        let (rows, first) = (&mut self.rows, self.first);
        let open = |row: u64| row >= first && rows[(row - first) as usize].fate == Fate::Undecided;
        let unseen = self.flows[*flow as usize].acknowledged(ack, open);
        for row in unseen {
            rows[(row - first) as usize].fate = Fate::Unseen;
        }
    }

    /// The row that left: of those that look the same, in the flow's order, the one whose wait is most like the last.
    fn candidate(&self, seen: &Seen, at: i64) -> Option<u64> {
        let mut number = self.by_identity.get(&seen.identity)?.0;
        let least = self.flows.get(*self.numbers.get(&seen.tuple)? as usize)?.next_row;
        let (mut best, mut fallback) = (None, None);
        while number != NONE {
            let row = &self.rows[(number - self.first) as usize];
            let wait = at.saturating_sub(row.arrive);
            if matches!(row.fate, Fate::Undecided | Fate::Unseen) && wait > -AHEAD_NS {
                let unlike = wait.saturating_sub(self.last_wait).saturating_abs().saturating_add(if wait < 0 {
                    AHEAD_NS
                } else {
                    0
                });
                let better = |best: &Option<(i64, u64)>| best.is_none_or(|(least, _)| unlike < least);
                if number >= least && better(&best) {
                    best = Some((unlike, number));
                } else if number < least && better(&fallback) {
                    fallback = Some((unlike, number));
                }
            }
            number = row.same;
        }
        // Out of order only if nothing else fits: queues of several lines, or paths, reorder.
        best.or(fallback).map(|(_, number)| number)
    }

    /// Decides on what came before `before`, and hands decided rows at the front to the log.
    fn settle(&mut self, before: i64) {
        while let Some(row) = self.rows.front() {
            let fate = match row.fate {
                Fate::Undecided if row.arrive < before => Fate::Lost,
                Fate::Undecided => break,
                fate => fate,
            };
            self.take_front(fate);
        }
    }

    fn take_front(&mut self, fate: Fate) {
        let Some(row) = self.rows.pop_front() else { return };
        let number = self.first;
        self.first += 1;
        if row.same == NONE {
            self.by_identity.remove(&row.identity);
        } else if let Some(same) = self.by_identity.get_mut(&row.identity) {
            same.0 = row.same;
        }
        self.drain(row.arrive);
        let (begin, end) = self.egress_span;
        if fate == Fate::Unseen && row.arrive < begin {
            self.counts.outside += 1;
            return;
        }
        if fate == Fate::Lost {
            let late = row.arrive > end - self.longest.max(self.counts.longest_wait);
            let may_wait = late && (number >= self.next_in_its_queue(&row) || self.goes_farther(&row, end));
            if row.arrive < begin || (may_wait && self.waiting.len() < self.full()) {
                self.counts.outside += 1;
                return;
            }
        }
        self.write(&row, fate);
    }

    /// The row after the last one that left the queue of this one: where flows overtake each other, each has its own.
    fn next_in_its_queue(&self, row: &Row) -> u64 {
        let fair = self.overtaken * IN_ORDER > self.counts.left;
        if fair { self.flows[row.flow as usize].next_row } else { self.next_to_leave }
    }

    /// Whether a packet that left the queue before the next one in front did would still have come after `end`: the
    /// capture behind may stand where flows come in from different distances.
    fn goes_farther(&self, row: &Row, end: i64) -> bool {
        let next = self.rows.iter().find_map(|next| match next.fate {
            Fate::Left(at) => Some((next.flow, at)),
            _ => None,
        });
        let shortest = |flow: u32| self.flows[flow as usize].shortest;
        next.zip(shortest(row.flow)).is_some_and(|((flow, at), own)| at + own - shortest(flow).unwrap_or(own) > end)
    }

    /// The shortest queue of which most packets were lost that found it so long, or longer.
    fn full(&mut self) -> usize {
        let longest_first = self.found.iter().enumerate().rev();
        *self.full.get_or_insert_with(|| {
            let mut sum = [0; 2];
            let lost = longest_first.filter(|(_, [packets, lost])| {
                sum = [sum[0] + packets, sum[1] + lost];
                lost * 2 > *packets && sum[1] * 2 > sum[0]
            });
            lost.last().map_or(usize::MAX, |(length, _)| length)
        })
    }

    /// Lets go of the packets that have left by `now`.
    fn drain(&mut self, now: i64) {
        while let Some(&Reverse((_, size))) = self.waiting.peek().filter(|gone| gone.0.0 <= now) {
            self.waiting_bytes -= u64::from(size);
            self.waiting.pop();
        }
    }

    fn write(&mut self, row: &Row, fate: Fate) {
        let flow = &mut self.flows[row.flow as usize];
        flow.packets += 1;
        flow.bytes += u64::from(row.size);
        let start = self.start.unwrap_or(row.arrive);
        let log = &mut self.log;
        log.packet.push(self.counts.arrived as u32);
        log.flow.push(row.flow);
        log.kind.push(row.kind);
        log.size_bytes.push(row.size);
        log.arrive_ns.push(row.arrive.saturating_sub(start).max(0) as u64);
        log.backlog_pkts.push(self.waiting.len() as u32);
        log.backlog_bytes.push(self.waiting_bytes as u32);
        log.seq.push(u64::from(row.seq));
        log.drop_cause.push(if fate == Fate::Lost { DropCause::Unknown as u8 } else { NOT_DROPPED });
        log.depart_ns.push(if let Fate::Left(at) = fate { (at - start).max(0) } else { -1 });
        self.counts.arrived += 1;
        let found = self.waiting.len().min(LONGEST_QUEUE);
        if self.found.len() <= found {
            self.found.resize(found + 1, [0; 2]);
        }
        let [packets, lost] = &mut self.found[found];
        (*packets, *lost) = (*packets + 1, *lost + u64::from(fate == Fate::Lost));
        match fate {
            Fate::Left(at) => {
                self.counts.left += 1;
                self.waiting.push(Reverse((at, row.size)));
                self.waiting_bytes += u64::from(row.size);
            }
            Fate::Lost => {
                self.counts.lost += 1;
                flow.lost += 1;
                flow.lost_bytes += u64::from(row.size);
            }
            _ => self.counts.unseen_behind += 1,
        }
    }

    /// Both captures are at their end.
    pub(super) fn end(&mut self) {
        self.settle(i64::MAX);
    }
}
