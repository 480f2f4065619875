//! Comparisons between the flows of a host: what the packets of some say of the delays of others.
//!
//! Flows of one host share its uplink, and a queue that is first in, first out keeps their order: a packet that
//! arrives between two packets of another flow entered the queue between them too. What is known of one flow's base
//! therefore bounds the delays of the others at the same time.

use crate::delay::log::Log;
use crate::delay::log::entry::TOWARD;
use crate::delay::parallel::for_each;
use crate::delay::track::{Queues, Track};
use std::collections::BTreeMap;

/// Packets of the reference that entered further apart than this bound nothing, ns.
const APART: f64 = 150e6;
/// Comparisons kept for each flow.
const MOST: usize = 512;
/// Comparisons without which a base is not taken over.
pub(super) const FEWEST: usize = 3;
/// Differences below this, ns, and a tick are what packets of one queue differ by anyhow.
pub(in crate::delay::finalize) const TOLERANCE: f64 = 1e6;

/// A track of a host in a comparison: one that is known, or `open` and to be raised.
struct Compared {
    track: usize,
    open: bool,
    raise: f64,
    /// By how much, at least and at most, as each comparison tells.
    bounds: Vec<[f64; 2]>,
}

/// For each of the `open` tracks, what its delays would have to be raised by to fit between the packets of the known
/// tracks of its host.
pub(super) fn compare(
    log: &Log,
    tracks: &[Track],
    of_host: &BTreeMap<Queues, Vec<usize>>,
    [known, open]: [&[bool]; 2],
    raise: &[f64],
    threads: usize,
) -> Vec<Vec<[f64; 2]>> {
    let comparing = of_host.values().filter(|members| members.iter().any(|&i| open[i]));
    let mut comparing: Vec<Vec<Compared>> = comparing
        .map(|members| {
            let compared = members.iter().copied().filter(|&i| known[i] || open[i]);
            compared.map(|i| Compared { track: i, open: open[i], raise: raise[i], bounds: Vec::new() }).collect()
        })
        .collect();
    let weight = |compared: &[Compared]| compared.iter().map(|compared| log.len_of(compared.track)).sum();
    for_each(
        threads,
        &mut comparing,
        |_, compared| weight(compared),
        |_, compared| compare_host(log, tracks, compared),
    );
    let mut bounds: Vec<Vec<[f64; 2]>> = vec![Vec::new(); tracks.len()];
    for compared in comparing.into_iter().flatten() {
        bounds[compared.track] = compared.bounds;
    }
    bounds
}

fn compare_host(log: &Log, tracks: &[Track], compared: &mut [Compared]) {
    let mut lacking = compared.iter().filter(|compared| compared.open).count();
    let mut last: Option<(i64, f64)> = None;
    let mut pending: Vec<(usize, i64, f64)> = Vec::new();
    let of: Vec<usize> = compared.iter().map(|compared| compared.track).collect();
    for (i, entry) in log.merged(&of).filter(|(_, entry)| !entry.is(TOWARD)) {
        let Compared { track, open, raise, bounds } = &compared[i];
        let track = &tracks[*track];
        // A stamp lies anywhere in its tick: half of it on average.
        let half = track.tick_ns.unwrap_or(0.0) / 2.0;
        let delay = track.delay(entry.time, entry.stamp, 0) - track.base - half + raise;
        if *open {
            if pending.len() < MOST && bounds.len() < MOST {
                pending.push((i, entry.time, delay));
            }
            continue;
        }
        let before = last.replace((entry.time, delay));
        for (of, time, theirs) in pending.drain(..) {
            let Some((then, was)) = before else { continue };
            // When the reference's packets before and after this one entered the queue.
            let [first, last] = [then as f64 - was, entry.time as f64 - delay];
            let list = &mut compared[of].bounds;
            if list.len() < MOST && (0.0..APART).contains(&(last - first)) {
                list.push([last, first].map(|entered| time as f64 - entered - theirs));
                lacking -= usize::from(list.len() == MOST);
            }
        }
        if lacking == 0 {
            return;
        }
    }
}

/// What a track's delays have to be raised by to lie within nearly all of their bounds, and how well that is known;
/// none if the bounds contradict each other. A base that the track itself speaks for is preferred if it fits: its least
/// delay (0) or, its gap, what round trips leave.
pub(super) fn difference(bounds: &[[f64; 2]], track: &Track, relative: bool) -> Option<(f64, f64)> {
    let (low, high) = within(bounds)?;
    let middle = (low + high) / 2.0;
    let error = (high - low) / 2.0;
    if relative {
        return Some((middle, error));
    }
    // Both ends are as good as the stamps of the packets that set them. The gap is a tick too large at most.
    let tick = track.tick_ns.unwrap_or(0.0);
    let tolerance = tick + TOLERANCE;
    let outside = |from: f64, to: f64| (low - to).max(from - high).max(0.0);
    let (least, gap) = (outside(0.0, 0.0), outside(track.gap - tick, track.gap));
    if track.gap > tolerance && least == 0.0 && gap == 0.0 {
        // Too wide to tell the one from the other.
        return None;
    }
    Some(if gap < least && gap <= tolerance {
        (track.gap, 0.0)
    } else if least <= tolerance {
        (0.0, 0.0)
    } else {
        // Not beyond what round trips leave.
        (middle.min(track.gap), error)
    })
}

/// The interval that lies within nearly all bounds; none of too few.
pub(in crate::delay::finalize) fn within(bounds: &[[f64; 2]]) -> Option<(f64, f64)> {
    if bounds.len() < FEWEST {
        return None;
    }
    let [mut lows, mut highs] = [0, 1].map(|side| bounds.iter().map(|bound| bound[side]).collect::<Vec<_>>());
    // Some may be out of order by jitter: as few as leaves bounds that do not contradict each other. If none do, their
    // queues are not the same: each flow has its own, or there are several hosts behind the address.
    let at = |share: f64| {
        let (last, skip) = (lows.len() - 1, ((lows.len() - 1) as f64 * share) as usize);
        let nth = |of: &mut [f64], n| *of.select_nth_unstable_by(n, f64::total_cmp).1;
        (nth(&mut lows, last - skip), nth(&mut highs, skip))
    };
    [0.02, 0.1, 0.25].into_iter().map(at).find(|(low, high)| low <= high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_flow_itself_says_is_preferred_where_it_fits() {
        let of = |low, high, gap| {
            let track = Track { tick_ns: Some(1e6), gap, ..Track::default() };
            difference(&[[low, high]; 3], &track, false)
        };
        assert_eq!(of(-4e6, 4e6, 20e6), Some((0.0, 0.0)));
        assert_eq!(of(11e6, 16e6, 18e6), Some((18e6, 0.0)), "two ticks outside");
        assert_eq!(of(-4e6, 30e6, 20e6), None, "both fit");
        assert_eq!(of(5e6, 9e6, 20e6), Some((7e6, 2e6)), "neither does");
    }

    #[test]
    fn bounds_are_met_as_nearly_all_allow() {
        assert_eq!(within(&[]), None);
        assert_eq!(within(&[[-20e6, 5e6], [-3e6, 30e6], [-3e6, 30e6]]), Some((-3e6, 5e6)));
        assert_eq!(within(&[[80e6, 120e6], [90e6, 110e6], [70e6, 112e6]]), Some((90e6, 110e6)));
        assert_eq!(within(&[[0.0, 1e6], [50e6, 60e6], [0.0, 1e6], [50e6, 60e6]]), None);
    }
}
