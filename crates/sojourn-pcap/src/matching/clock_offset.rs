//! A first look at both captures: how much of every packet both have, which hosts stand on which side, how far the
//! clocks are apart.
//!
//! Of each capture the packets with the smallest identities are kept (a bottom-k sketch: Cohen, Kaplan, PODC 2007), so
//! that both keep the same packets, however long they are and wherever they begin. A router between the two takers of
//! the captures lowers the hop limit, which tells the direction; at a bridge it is the direction in which packets take
//! longer. The offset of the clocks is the least difference between the two times of a packet that goes forward: the
//! queue is taken to have been empty once.

use super::clock_step::{Backward, Clock, Passage, Step, steps};
use super::parse_frame::{Seen, parse_frame};
use super::rows::{MatchError, Take, look};
use crate::decode::Address;
use crate::read::{Capture, Copies};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

/// Packets kept of each capture.
const KEPT: usize = 1 << 16;
/// A packet that seems this much faster than one in a thousand others is another packet that looks the same.
const SLACK_NS: i64 = 5_000_000;

/// What was found out.
#[derive(Debug)]
pub(super) struct Survey {
    /// Bytes of an IP packet that both captures have of every packet.
    pub(super) prefix: usize,
    /// Egress clock minus ingress clock.
    pub(super) offset_ns: i64,
    /// Longest time between the two captures in the sample.
    pub(super) longest_ns: i64,
    /// Capture time of the first and last frame in front of the queue.
    pub(super) ingress_span: (i64, i64),
    /// Capture time of the first and last frame behind the queue.
    pub(super) egress_span: (i64, i64),
    /// True for hosts in front of the queue, false for those behind it.
    pub(super) in_front: BTreeMap<Address, bool>,
    /// Steps of the clock in front, and of the one behind.
    pub(super) steps: [Vec<Step>; 2],
}

impl Survey {
    /// `Some(true)` if the packet goes through the queue, `Some(false)` if it comes back, `None` if it does neither.
    pub(super) fn direction(&self, seen: &Seen) -> Option<bool> {
        let source = *self.in_front.get(&seen.tuple.source)?;
        let destination = *self.in_front.get(&seen.tuple.destination)?;
        (source != destination && !is_local(seen.tuple.destination)).then_some(source)
    }
}

/// Multicast, broadcast and link-local destinations, which no router forwards.
fn is_local(address: Address) -> bool {
    match IpAddr::from(address) {
        IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_multicast() || v6.is_unicast_link_local(),
    }
}

/// A packet that was kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) seen: Seen,
    /// No other packet of the capture looks the same.
    pub(super) alone: bool,
    /// Its frame's number in the capture.
    pub(super) place: u64,
}

/// The packets that were kept of one capture, by identity.
#[derive(Debug)]
pub(super) struct Sketch {
    pub(super) kept: BTreeMap<u64, Sample>,
    /// All packets up to this identity were kept.
    pub(super) most: u64,
    /// Capture time of the first and the last frame.
    pub(super) span: (i64, i64),
    pub(super) backward: Backward,
}

/// Looks at both captures; `judge` says what speaks against them, `nothing` that they share no packet;
/// `take` is asked whether to go on.
pub(super) fn survey<M>(
    ingress: &Path,
    egress: &Path,
    judge: impl FnOnce(&Survey, [&Sketch; 2], &[(Sample, Sample)]) -> Option<M>,
    nothing: M,
    take: Take<'_>,
) -> Result<Result<Survey, M>, MatchError> {
    let prefix = shortest(ingress, take)?.min(shortest(egress, take)?);
    let mut sketched = |steps: &[Vec<Step>; 2]| -> Result<_, MatchError> {
        let sketches = [sketch(ingress, prefix, &steps[0], take)?, sketch(egress, prefix, &steps[1], take)?];
        let pairs = shared(&sketches);
        Ok((sketches, pairs))
    };
    let (mut sketches, mut pairs) = sketched(&Default::default())?;
    let mut found = Survey {
        prefix,
        offset_ns: 0,
        longest_ns: 0,
        ingress_span: (0, 0),
        egress_span: (0, 0),
        in_front: sides(&pairs),
        steps: Default::default(),
    };
    found.steps = steps(&passages(&found, &pairs), sketches.each_ref().map(|sketch| &sketch.backward));
    if found.steps.iter().any(|steps| !steps.is_empty()) {
        (sketches, pairs) = sketched(&found.steps)?;
        found.in_front = sides(&pairs);
    }
    (found.ingress_span, found.egress_span) = (sketches[0].span, sketches[1].span);
    // The times of packets that look the same need not be those of one packet.
    let alone = |(sample, other): &&(Sample, Sample)| sample.alone && other.alone;
    if let Some(misfit) = judge(&found, sketches.each_ref(), &pairs) {
        return Ok(Err(misfit));
    }
    let mut apart: Vec<i64> = pairs
        .iter()
        .filter(alone)
        .filter(|(sample, _)| found.direction(&sample.seen) == Some(true))
        .map(|(sample, other)| other.seen.time_ns.saturating_sub(sample.seen.time_ns))
        .collect();
    apart.sort_unstable();
    let Some(typical) = apart.get(apart.len() / 1000) else { return Ok(Err(nothing)) };
    found.offset_ns = apart[apart.partition_point(|d| *d < typical.saturating_sub(SLACK_NS))];
    found.longest_ns = apart[(apart.len() - 1) * 999 / 1000].saturating_sub(found.offset_ns);
    Ok(Ok(found))
}

/// The packets that both captures have kept.
fn shared([first, second]: &[Sketch; 2]) -> Vec<(Sample, Sample)> {
    first.kept.iter().filter_map(|(identity, sample)| Some((*sample, *second.kept.get(identity)?))).collect()
}

/// Those of them that are one packet for sure and have a direction.
fn passages(found: &Survey, pairs: &[(Sample, Sample)]) -> Vec<Passage> {
    let passage = |(one, other): &(Sample, Sample)| {
        let forward = found.direction(&one.seen)?;
        let (places, times_ns) = ([one.place, other.place], [one.seen.time_ns, other.seen.time_ns]);
        (one.alone && other.alone).then_some(Passage { forward, places, times_ns })
    };
    pairs.iter().filter_map(passage).collect()
}

/// The least number of bytes that was kept of a packet that was cut.
fn shortest(path: &Path, take: Take<'_>) -> Result<usize, MatchError> {
    let mut capture = Capture::open(&[path.to_owned()])?;
    let mut least = usize::MAX;
    while let Some(frame) = capture.next_frame()? {
        look(&frame, take)?;
        if frame.data.len() < frame.wire_len as usize
            && let Some(cut_at) = parse_frame(&frame, 0).and_then(|seen| seen.cut_at)
        {
            least = least.min(cut_at);
        }
    }
    Ok(least)
}

fn sketch(path: &Path, prefix: usize, steps: &[Step], take: Take<'_>) -> Result<Sketch, MatchError> {
    let mut capture = Capture::open(&[path.to_owned()])?;
    let mut clock = Clock::new(steps);
    let mut kept: BTreeMap<u64, Sample> = BTreeMap::new();
    let mut most = u64::MAX;
    let mut span = (i64::MAX, i64::MIN);
    let mut backward = Backward::default();
    let mut copies = Copies::default();
    while let Some(frame) = capture.next_frame()? {
        look(&frame, take)?;
        if copies.is_copy(&frame) {
            continue;
        }
        let (place, time_ns) = clock.right(frame.time_ns);
        span = (span.0.min(time_ns), span.1.max(time_ns));
        backward.frame(time_ns);
        let Some(seen) = parse_frame(&frame, prefix).filter(|seen| seen.identity <= most) else { continue };
        let sample = Sample { seen: Seen { time_ns, ..seen }, alone: true, place };
        kept.entry(seen.identity).and_modify(|sample| sample.alone = false).or_insert(sample);
        if kept.len() > KEPT {
            kept.pop_last();
            most = kept.last_key_value().map_or(u64::MAX, |(identity, _)| *identity);
        }
    }
    Ok(Sketch { kept, most, span, backward })
}

/// Says of each host that was seen in both captures whether it stands in front of the queue.
fn sides(pairs: &[(Sample, Sample)]) -> BTreeMap<Address, bool> {
    let mut votes: BTreeMap<Address, i64> = BTreeMap::new();
    let mut vote = |source, destination, forward: i64| {
        *votes.entry(source).or_default() += forward;
        *votes.entry(destination).or_default() -= forward;
    };
    let mut bridged: BTreeMap<(Address, Address), Vec<i64>> = BTreeMap::new();
    for (sample, other) in pairs {
        let (seen, later) = (&sample.seen, &other.seen);
        let (source, destination) = (seen.tuple.source, seen.tuple.destination);
        match seen.ttl.cmp(&later.ttl) {
            Ordering::Greater => vote(source, destination, 1),
            Ordering::Less => vote(source, destination, -1),
            Ordering::Equal if !(sample.alone && other.alone) => {}
            Ordering::Equal => bridged.entry((source, destination)).or_default().push(later.time_ns - seen.time_ns),
        }
    }
    let medians: BTreeMap<_, (i64, i64)> = bridged
        .into_iter()
        .map(|(hosts, mut apart)| {
            apart.sort_unstable();
            (hosts, (apart[apart.len() / 2], apart.len() as i64))
        })
        .collect();
    for ((source, destination), (median, count)) in &medians {
        let slower = medians.get(&(*destination, *source)).is_none_or(|(back, _)| median > back);
        vote(*source, *destination, if slower { *count } else { -count });
    }
    votes.into_iter().filter(|(_, votes)| *votes != 0).map(|(host, votes)| (host, votes > 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn what_no_router_forwards_is_not_of_the_queue() {
        let local = |text: &str| is_local(text.parse::<IpAddr>().unwrap().into());
        for address in ["255.255.255.255", "224.0.0.251", "169.254.3.4", "ff02::fb", "fe80::1"] {
            assert!(local(address), "{address}");
        }
        for address in ["10.0.0.255", "192.0.2.1", "2001:db8::1", "fd00::1"] {
            assert!(!local(address), "{address}");
        }
    }
}
