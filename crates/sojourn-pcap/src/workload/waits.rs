//! What packets from a far host and to it waited in queues, over time, as [`crate::Meter`] infers it.
//!
//! A queue that is first in, first out keeps packets in order. Where packets are seen as they come, one waited no less
//! than the one before it still had to wait at that time; where they are seen as they leave, no less than the one
//! behind it had waited by then. If the queue cannot have emptied between the two, it is taken to have changed evenly.

use crate::Meter;
use crate::decode::Address;
use crate::delay::host::Transmission;
use crate::delay::state;
use crate::read::Frame;
use std::collections::BTreeMap;

/// Samples that are kept, 16 bytes each.
const MOST: usize = 1 << 24;
/// Ethernet, IPv4 and TCP with timestamps.
const HEADERS: u32 = 66;

/// When packets were seen, and what they waited, ns.
type Told = Vec<(i64, i64)>;

/// By far host and whether packets went to it.
#[derive(Default)]
pub(super) struct Waits {
    meter: Meter,
    told: BTreeMap<(Address, bool), Told>,
    own: BTreeMap<Address, [Transmission; 2]>,
    kept: usize,
}

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waits").field("kept", &self.kept).finish_non_exhaustive()
    }
}

/// What packets of one host waited, and those to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host<'a> {
    pub(super) from: &'a [(i64, i64)],
    pub(super) to: &'a [(i64, i64)],
    /// What the transmission of long packets takes, from the host and to it.
    pub(super) own: [Transmission; 2],
}

impl Waits {
    pub(super) fn new() -> Self {
        Self { meter: Meter::new(state::Options::default()), ..Self::default() }
    }

    pub(super) fn frame(&mut self, frame: &Frame<'_>) {
        if self.meter.frame(frame) {
            self.take();
        }
    }

    fn take(&mut self) {
        let (mut finalized, mut samples) = (self.meter.finalize(), Vec::new());
        while finalized.fill(&mut samples, 1 << 16) {
            for sample in samples.iter().take(MOST.saturating_sub(self.kept)) {
                let (host, _, _) = finalized.flow(sample.flow, sample.toward);
                let told = self.told.entry((host, sample.toward)).or_default();
                told.push((sample.time_ns, sample.delay_ns.max(0.0) as i64));
                self.kept += 1;
            }
        }
    }

    /// All that the frames so far tell.
    pub(super) fn settle(&mut self) {
        self.take();
        self.told.values_mut().for_each(|told| told.sort_unstable());
        self.own = self.meter.hosts().all.iter().map(|host| (host.address, host.transmission)).collect();
    }

    pub(super) fn of(&self, host: Address) -> Host<'_> {
        let [from, to] = [false, true].map(|to| self.told.get(&(host, to)).map_or(&[][..], Vec::as_slice));
        Host { from, to, own: self.own.get(&host).copied().unwrap_or_default() }
    }
}

impl Host<'_> {
    /// True if something is known of packets from it, then nearly all is, and of those to it that were seen by then.
    pub(super) fn is_known(&self, at: i64) -> bool {
        !self.from.is_empty() && self.to.first().is_some_and(|(first, _)| *first <= at)
    }

    /// When a packet from the host that was seen `at` would have been, without queues and as short as any.
    pub(super) fn went(&self, at: i64, payload: u32) -> i64 {
        at.saturating_sub(waited(self.from, at, false)).saturating_sub(transmission(self.own[0], payload))
    }

    /// When a packet to the host that was seen `at` had left the queues behind it, as a short one would be seen.
    pub(super) fn came(&self, at: i64, payload: u32) -> i64 {
        at.saturating_add(waited(self.to, at, true)).saturating_add(transmission(self.own[1], payload))
    }
}

fn transmission(own: Transmission, payload: u32) -> i64 {
    own.of((payload + HEADERS).min(u32::from(u16::MAX)) as u16) as i64
}

/// What a packet seen `at` waited; `ahead`: it was seen before it waited.
fn waited(told: &[(i64, i64)], at: i64, ahead: bool) -> i64 {
    let next = told.partition_point(|(time, _)| *time < at);
    let (before, after) = (next.checked_sub(1).and_then(|last| told.get(last)), told.get(next));
    if let Some(&(time, wait)) = after
        && time == at
    {
        return wait;
    }
    if let (Some(&(first, one)), Some(&(second, other))) = (before, after) {
        let apart = second.saturating_sub(first);
        if apart < if ahead { one } else { other } {
            let share = at.saturating_sub(first) as f64 / apart as f64;
            return one + ((other - one) as f64 * share) as i64;
        }
    }
    match if ahead { before } else { after } {
        Some(&(time, wait)) => wait.saturating_sub(at.saturating_sub(time).saturating_abs()).max(0),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_packets_a_queue_changed_evenly_unless_it_may_have_emptied() {
        let told = [(100, 50), (120, 30), (400, 60), (500, 10)];
        assert_eq!([100, 110, 120].map(|at| waited(&told, at, true)), [50, 40, 30]);
        // It had emptied by 150, and nobody was seen to fill it.
        assert_eq!([130, 150, 390, 460, 600].map(|at| waited(&told, at, true)), [20, 0, 0, 0, 0]);
        // Who leaves at 380 came before the one that leaves at 400 did.
        assert_eq!([90, 110, 380, 330, 600].map(|at| waited(&told, at, false)), [40, 40, 40, 0, 0]);
        assert_eq!(waited(&[], 5, true), 0);
    }
}
