//! The tick and the skew of every sender's clock: first step of a finalization.

use crate::delay::clock::tick::{Fit, OWN_TICK_S, RATES, decide, unusual};
use crate::delay::estimate::Estimator;
use crate::delay::finalize::first_look::tick_fits::TickFits;
use crate::delay::finalize::first_look::{FirstLook, Looked};
use crate::delay::host::Hosts;
use crate::delay::log::Log;
use crate::delay::log::entry::{ECHOED, TOWARD};
use crate::delay::parallel::for_each;
use crate::delay::protocol::Protocol;
use crate::delay::track::Track;

const UTP_TICK_NS: f64 = 1000.0;

/// Find ticks, then skews; `start` of the tracks' `extra_line` is left where the log begins. Returns what was found of
/// each track at first sight.
pub(crate) fn finalize(log: &Log, tracks: &mut [Track], hosts: &mut Hosts, threads: usize) -> Vec<Looked> {
    let mut looks: Vec<Looked> = tracks.iter().map(|_| None).collect();
    let mut both: Vec<_> = tracks.iter_mut().zip(&mut looks).collect();
    let known = &*hosts;
    for_each(
        threads,
        &mut both,
        |i, _| log.len_of(i),
        |i, (track, look)| {
            **look = FirstLook::at(log, i, track, track.shortest_round_trip(known));
            if look.is_none() {
                fit(log, i, track);
            }
        },
    );
    ticks(tracks, hosts);
    let mut both: Vec<_> = tracks.iter_mut().zip(&mut looks).collect();
    for_each(
        threads,
        &mut both,
        |i, _| log.len_of(i),
        |i, (track, look)| match look.as_mut().and_then(|look| look.minima(track.tick_ns)) {
            Some(seen) => track.minima = seen,
            None => minima(log, i, track),
        },
    );
    skews(tracks, hosts);
    looks
}

pub(super) fn fit(log: &Log, i: usize, track: &mut Track) {
    let (mut fits, mut line) = (TickFits::of(track), track.extra_line);
    let (start, estimator, tcp) = (track.start, track.estimator, track.protocol == Protocol::Tcp);
    track.toward = false;
    for entry in log.of(i) {
        if entry.is(TOWARD) {
            track.toward |= !entry.is(ECHOED);
            continue;
        }
        track.last_time = entry.time;
        if !tcp {
            fits.entries += 1;
        } else if estimator == Estimator::Observer {
            fits.add(entry, start);
            track.pace.add(entry);
        } else if fits.wants() {
            let seconds = (entry.time - start) as f64 / 1e9;
            fits.fit.add(seconds, entry.stamp as f64);
            if let Some(extra) = entry.extra() {
                track.peer_fit.add(seconds, line.follow(extra) as f64);
            }
        }
    }
    fits.leave(track);
}

fn ticks(tracks: &mut [Track], hosts: &mut Hosts) {
    let none = Fit::default();
    for track in tracks.iter().filter(|track| track.protocol == Protocol::Tcp) {
        for (host, [capture, echo]) in
            [(track.host[0], [&track.fit, &track.echo_fit]), (track.host[1], [&track.peer_fit, &none])]
        {
            let Some((rate, span_s)) = decide(capture, echo) else { continue };
            let votes = &mut hosts.all[host as usize].stats(Protocol::Tcp).tick_votes;
            for (vote, _) in votes.iter_mut().zip(RATES).filter(|(_, real)| *real == rate) {
                *vote += span_s;
            }
        }
    }
    for track in tracks {
        if track.protocol == Protocol::Utp {
            track.tick_ns = Some(UTP_TICK_NS);
            track.peer_tick_ns = Some(UTP_TICK_NS);
            continue;
        }
        let before = track.tick_ns;
        track.tick_ns = tick(&track.fit, &track.echo_fit, hosts, track.host[0]);
        track.peer_tick_ns = tick(&track.peer_fit, &none, hosts, track.host[1]);
        if before.is_some() && before != track.tick_ns {
            // Everything that was worked out with another tick is void.
            (track.least, track.floor) = (None, None);
            track.minima = Default::default();
            track.last_base = None;
        }
    }
}

fn tick(capture: &Fit, echo: &Fit, hosts: &mut Hosts, host: u32) -> Option<f64> {
    let own = decide(capture, echo).or_else(|| Some((unusual(capture, echo)?, capture.span_s())));
    let of_host = || hosts.all[host as usize].stats[Protocol::Tcp as usize].as_ref()?.tick_ns();
    let tick_ns = |(rate, _): (f64, f64)| 1e9 / rate;
    own.filter(|(_, span_s)| *span_s >= OWN_TICK_S).map(tick_ns).or_else(of_host).or(own.map(tick_ns))
}

/// Minima of the sender's clock against the capture's, over the path that has no queue.
pub(super) fn minima(log: &Log, i: usize, track: &mut Track) {
    let (Some(tick), Estimator::Observer) = (track.tick_ns, track.estimator) else { return };
    let (start, tcp, mut line) = (track.start, track.protocol == Protocol::Tcp, track.extra_line);
    for chunk in log.chunks(i) {
        for entry in chunk {
            let (Some(extra), false) = (entry.extra(), entry.is(TOWARD)) else { continue };
            let time = entry.time - start;
            if tcp {
                let echoed = time - i64::from(extra) * 1000;
                track.minima.add(echoed, entry.stamp as f64 * tick - echoed as f64);
            } else {
                track.minima.add(time, line.follow(extra) as f64 * UTP_TICK_NS);
            }
        }
    }
}

fn skews(tracks: &mut [Track], hosts: &mut Hosts) {
    for track in tracks.iter() {
        let Some(skew) = track.tick_ns.and_then(|tick| track.minima.skew(tick)) else { continue };
        let known = &mut hosts.all[track.host[0] as usize].stats(track.protocol).skew;
        if known.is_none_or(|known| skew.span_s >= known.span_s) {
            *known = Some(skew);
        }
    }
    for track in tracks {
        let of = |host: u32, tick: Option<f64>| {
            let stats = hosts.all[host as usize].stats[track.protocol as usize].as_ref();
            stats.and_then(|stats| stats.skew).zip(tick).map_or(0.0, |(skew, tick)| skew.significant(tick))
        };
        track.skew = of(track.host[0], track.tick_ns);
        track.peer_skew = of(track.host[1], track.peer_tick_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::log::entry::Entry;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::{Bound, TrackRef};

    const SECOND: i64 = 1_000_000_000;

    /// A TCP track of two hosts.
    fn track() -> (Track, Hosts) {
        let mut hosts = Hosts::new(Vec::new());
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let ends = key.address.map(|address| hosts.of(address));
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        (Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: ends }, 0), hosts)
    }

    /// `seconds` of packets, 100 a second, of a clock of 1000 ticks a second; they wait ever longer, by 2 % of the
    /// time, and each answers at once.
    fn log(seconds: i64) -> Log {
        let mut log = Log::default();
        for i in 0..seconds * 100 {
            let (sent, wait) = (i * SECOND / 100, i * SECOND / 5000);
            let answers_after = (40_000_000 + wait) / 1000;
            log.push(0, Entry::new(i as u64, sent + wait, sent / 1_000_000, 0, Some(answers_after as u32)));
        }
        log
    }

    #[test]
    fn a_growing_queue_bends_the_fit_to_capture_times_and_not_the_one_to_what_is_echoed() {
        let (mut track, _) = track();
        fit(&log(30), 0, &mut track);
        let [capture, echo] = [&track.fit, &track.echo_fit].map(|fit| fit.rate().unwrap());
        assert!((capture - 1000.0 / 1.02).abs() < 1.0 && (echo - 1000.0).abs() < 0.01, "{capture} {echo}");
    }

    #[test]
    fn with_another_tick_all_that_was_worked_out_is_void_and_with_the_same_it_is_kept() {
        for (before, kept) in [(None, true), (Some(1e6), true), (Some(4e6), false)] {
            let (mut track, mut hosts) = track();
            fit(&log(30), 0, &mut track);
            let bound = Bound { time: 1, stamp: 2, extra: 3, own: 0.0 };
            (track.tick_ns, track.least, track.floor, track.last_base) = (before, Some(bound), Some(bound), Some(5.0));
            track.minima.add(0, 1.0);
            let mut tracks = [track];
            ticks(&mut tracks, &mut hosts);
            let [track] = tracks;
            assert_eq!(track.tick_ns, Some(1e6));
            let left = [track.least.is_some(), track.floor.is_some(), track.last_base.is_some()];
            assert_eq!(left, [kept; 3], "{before:?}");
        }
    }
}
