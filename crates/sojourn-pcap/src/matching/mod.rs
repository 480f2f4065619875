//! Two captures of one bottleneck, in front of the queue and behind it, compared packet by packet: which packets were
//! lost, when, of which flow, at which backlog.
//!
//! The captures are read three times, as streams: for how much of each packet both have, for a sample of packets that
//! both have ([`clock_offset`]; once more if a clock was set), and side by side for what became of every packet
//! ([`matcher`]). The result is a packet log in the engine's columns. A time behind the queue is put on the clock in
//! front of it by an offset that makes the shortest wait zero; a clock that was set while the capture ran is put right
//! ([`clock_step`]).

mod clock_offset;
mod clock_step;
mod evidence;
mod flow;
mod matcher;
mod parse_frame;
mod rows;

use crate::read::{Capture, Copies, ReadError, copies_left_out, file_size, name_of};
use clock_offset::{Sketch, Survey, survey};
use clock_step::{Clock, Step};
use evidence::{Misfit, Pairs, cut_otherwise, misfit};
use matcher::{Counts, Matcher};
use parse_frame::{Seen, parse_frame};
pub use rows::{MatchError, Rows};
use rows::{Take, look};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows that are handed out together.
const BATCH: usize = 1 << 16;

/// What came of the comparison.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Packets that came to the queue.
    pub ingress_pkts: u64,
    /// Packets of them that were captured behind it.
    pub egress_pkts: u64,
    /// Packets that were lost between the two.
    pub lost_pkts: u64,
    /// Lost over arrived.
    pub loss: f64,
    /// By `tcp`, `udp` and others.
    pub by_protocol: BTreeMap<String, Share>,
    /// In order of their first packet; a flow's place is its number in the log.
    pub flows: Vec<FlowShare>,
    /// What the captures themselves missed.
    pub capture: CaptureNotes,
}

/// Packets and losses.
#[derive(Debug, Default, Serialize)]
pub struct Share {
    packets: u64,
    lost: u64,
    loss: f64,
}

/// A flow's share of them.
#[derive(Debug, Serialize)]
pub struct FlowShare {
    source: String,
    source_port: u16,
    destination: String,
    destination_port: u16,
    protocol: String,
    packets: u64,
    lost: u64,
    bytes: u64,
    lost_bytes: u64,
}

/// Clocks, snap length, and what the captures missed.
#[derive(Debug, Serialize)]
pub struct CaptureNotes {
    /// Clock behind the queue minus clock in front of it, with the shortest wait taken for zero.
    pub clock_offset_ns: i64,
    /// Where the clock in front of the queue was set while the capture ran. The times in the log are without its steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_steps_in_front: Vec<Step>,
    /// The same of the clock behind the queue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_steps_behind: Vec<Step>,
    /// Capture time of the first packet in front, from which the log counts.
    pub start_ns: i64,
    /// Bytes of each IP packet that were compared; null if all.
    pub compared_bytes: Option<usize>,
    /// Longest wait of a packet.
    pub longest_wait_ns: i64,
    /// Packets that were captured behind the queue only: the capture in front of it has missed them.
    pub missed_in_front_pkts: u64,
    /// Packets that were captured behind the queue while the capture in front of it did not run. Not counted at all.
    #[serde(skip_serializing_if = "is_none")]
    pub outside_front_pkts: u64,
    /// Packets that were acknowledged although they were not captured behind the queue: that capture has missed them.
    /// Not counted as lost.
    pub missed_behind_pkts: u64,
    /// Packets that came while the capture behind the queue did not run. Not counted at all.
    pub outside_pkts: u64,
    /// Frames in front of the queue that do not go through it.
    pub other_frames: u64,
    /// Files that could not be read to their end.
    pub damage: Vec<String>,
}

/// A capture with one packet held back.
struct Reader {
    capture: Capture,
    clock: Clock,
    next: Option<Seen>,
    prefix: usize,
    others: u64,
    copies: Copies,
    copied: u64,
}

impl Reader {
    fn open(path: &Path, prefix: usize, steps: &[Step], take: Take<'_>) -> Result<Self, MatchError> {
        let (capture, clock) = (Capture::open(&[path.to_owned()])?, Clock::new(steps));
        let (copies, others, copied) = Default::default();
        let mut reader = Self { capture, clock, next: None, prefix, others, copies, copied };
        reader.advance(take)?;
        Ok(reader)
    }

    fn advance(&mut self, take: Take<'_>) -> Result<(), MatchError> {
        loop {
            let Some(frame) = self.capture.next_frame()? else {
                self.next = None;
                return Ok(());
            };
            look(&frame, take)?;
            let (_, time_ns) = self.clock.right(frame.time_ns);
            if self.copies.is_copy(&frame) {
                self.copied += 1;
                continue;
            }
            if let Some(seen) = parse_frame(&frame, self.prefix) {
                self.next = Some(Seen { time_ns, ..seen });
                return Ok(());
            }
            self.others += 1;
        }
    }
}

/// Compares two captures. `take` is given the packet log in pieces and may stop the work by returning false; where
/// there is none yet, it is asked by an empty piece. Where they only seem to be swapped, as nothing is lost in this
/// direction, they are refused unless their order is `as_given` for certain.
///
/// # Errors
/// A file cannot be read, is no capture, the two have nothing in common, or `take` does not want more.
pub fn match_captures(ingress: &Path, egress: &Path, as_given: bool, take: Take<'_>) -> Result<Summary, MatchError> {
    for path in [ingress, egress] {
        if file_size(path)?.is_none() {
            let why = "is no regular file: both captures are read three times, so none of them can be a pipe";
            return Err(ReadError::Refused(name_of(path), why).into());
        }
    }
    let judge = |found: &Survey, sketches: [&Sketch; 2], pairs: &Pairs| {
        misfit(found, sketches, pairs).filter(|misfit| !(as_given && misfit.is_doubt()))
    };
    let found = survey(ingress, egress, judge, Misfit::NothingShared, take)?
        .map_err(|misfit| MatchError::Misfit(told(misfit, &name_of(ingress), &name_of(egress))))?;
    let mut front = Reader::open(ingress, found.prefix, &found.steps[0], take)?;
    let mut behind = Reader::open(egress, found.prefix, &found.steps[1], take)?;
    let mut matcher = Matcher::new(&found);
    loop {
        match (front.next, behind.next) {
            (Some(seen), later) if later.is_none_or(|later| matcher.in_front_first(&seen, &later)) => {
                match found.direction(&seen) {
                    Some(true) => matcher.arrives(&seen),
                    Some(false) => {}
                    None => front.others += 1,
                }
                front.advance(take)?;
            }
            (_, Some(seen)) => {
                match found.direction(&seen) {
                    Some(true) => matcher.leaves(&seen),
                    Some(false) => matcher.comes_back(&seen),
                    None => {}
                }
                behind.advance(take)?;
            }
            (_, None) => break,
        }
        if matcher.log.flow.len() >= BATCH && !take(std::mem::take(&mut matcher.log)) {
            return Err(MatchError::Stopped);
        }
    }
    matcher.end();
    let Counts { left, unseen_in_front, cut_otherwise: parts, .. } = matcher.counts;
    if let Some(misfit) = cut_otherwise(parts, left + unseen_in_front) {
        return Err(MatchError::Misfit(told(misfit, &name_of(ingress), &name_of(egress))));
    }
    if !take(std::mem::take(&mut matcher.log)) {
        return Err(MatchError::Stopped);
    }
    let damage = [&front, &behind].into_iter().flat_map(|reader| reader.capture.damage());
    let mut damage: Vec<String> = damage.map(|damage| damage.sentence.clone()).collect();
    for (reader, path) in [(&front, ingress), (&behind, egress)] {
        damage.extend(copies_left_out(reader.copied, &name_of(path)));
    }
    Ok(summary(&matcher, &found, front.others, damage))
}

/// How two captures do not fit, and what to do.
fn told(misfit: Misfit, first: &str, second: &str) -> String {
    let both = format!("{first} and {second}");
    let turn = "give the capture in front of the queue first, the other second";
    let sure = "give the capture in front of the queue first, or add --as-given if you did";
    match misfit {
        Misfit::NothingShared => format!(
            "no packet goes from {first} to {second}: expected captures of the same packets in front of a queue and \
             behind it, without address translation between them"
        ),
        Misfit::Empty { in_second, frames } => format!(
            "{} holds no {}, so there is nothing to compare; expected captures of the same packets in front of a queue \
             and behind it",
            if in_second { second } else { first },
            if frames { "packet of IP" } else { "frame that can be read" }
        ),
        Misfit::Strangers { unseen, of } => format!(
            "{both} do not belong together: {} of the packets in the second were never seen in the first (hosts with \
             TSO or GRO see others than the line); expected captures of the same packets and the same time, in front of \
             a queue and behind it",
            percent(unseen, of)
        ),
        Misfit::CutOtherwise { parts, of } => format!(
            "{both} do not hold the same packets: {parts} of {of} in the second are parts of longer ones in the first, \
             or hold shorter ones, as where network cards cut and join (TSO, GRO); expected captures of the line"
        ),
        Misfit::AgainstTheFlow => format!("{both} are swapped: every packet goes from the second to the first; {turn}"),
        Misfit::OtherDirection { lost, of } => format!(
            "{both} seem swapped: hardly any packet from the first to the second is lost, but {} of those of the other \
             direction are; {sure}",
            percent(lost, of)
        ),
        Misfit::Subset { unseen, of } => format!(
            "{both} seem swapped: all packets of the first are in the second, and {} of those of the second are not in \
             the first; {sure}",
            percent(unseen, of)
        ),
        Misfit::SamePlace => format!(
            "{both} hold the same packets at the same times, so no queue is between them; expected one capture in front of \
             a queue and one behind it"
        ),
    }
}

/// A share in words. Of long captures only some packets are looked at, so that their numbers say nothing.
fn percent(part: u64, of: u64) -> String {
    let share = 100.0 * ratio(part, of);
    if share < 0.01 { "less than 0.01 %".to_owned() } else { format!("{share:.0$} %", if share < 1.0 { 2 } else { 1 }) }
}

fn summary(matcher: &Matcher, found: &Survey, other_frames: u64, damage: Vec<String>) -> Summary {
    let counts = matcher.counts;
    let mut by_protocol: BTreeMap<String, Share> = BTreeMap::new();
    for flow in &matcher.flows {
        let share = by_protocol.entry(protocol(flow.tuple.protocol)).or_default();
        share.packets += flow.packets;
        share.lost += flow.lost;
    }
    for share in by_protocol.values_mut() {
        share.loss = ratio(share.lost, share.packets);
    }
    let flows = matcher.flows.iter().map(|flow| FlowShare {
        source: flow.tuple.source.to_string(),
        source_port: flow.tuple.ports.0,
        destination: flow.tuple.destination.to_string(),
        destination_port: flow.tuple.ports.1,
        protocol: protocol(flow.tuple.protocol),
        packets: flow.packets,
        lost: flow.lost,
        bytes: flow.bytes,
        lost_bytes: flow.lost_bytes,
    });
    Summary {
        ingress_pkts: counts.arrived,
        egress_pkts: counts.left,
        lost_pkts: counts.lost,
        loss: ratio(counts.lost, counts.arrived),
        by_protocol,
        flows: flows.collect(),
        capture: CaptureNotes {
            clock_offset_ns: found.offset_ns,
            clock_steps_in_front: found.steps[0].clone(),
            clock_steps_behind: found.steps[1].clone(),
            start_ns: matcher.start.unwrap_or(0),
            compared_bytes: (found.prefix < usize::MAX).then_some(found.prefix),
            longest_wait_ns: counts.longest_wait,
            missed_in_front_pkts: counts.unseen_in_front,
            outside_front_pkts: counts.outside_front,
            missed_behind_pkts: counts.unseen_behind,
            outside_pkts: counts.outside,
            other_frames,
            damage,
        },
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn protocol(number: u8) -> String {
    match number {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "icmpv6".to_owned(),
        other => format!("ip-{other}"),
    }
}
