//! Finalizing a log: from timestamps to the queueing delay of every packet.
//!
//! A capture whose packets fit the log is finalized once, at its end, so that every sample profits from all that was
//! seen. Of longer ones the log is finalized whenever it is full, with what is known so far; ticks, skews and bases are
//! carried over.
//!
//! The steps, each of which fills in more of every track and host:
//! 1. [`clocks`]: tick and skew of each sender's clock. [`first_look`] passes over the log once and gathers what this
//!    and later steps ask of every packet.
//! 2. [`paths`]: whether local hosts have one path to a remote host, or some a longer one.
//! 3. [`transmission`], where one connection tells it: what of a long packet's delay is its own transmission.
//! 4. [`base_delay`]: what each track's packets would take through empty queues.
//! 5. [`transmission`] again, where only all connections of a host tell it.
//! 6. [`queueing_delay`] of each packet, handed on by [`samples`], which clears the log at last.

mod base_delay;
mod clocks;
pub(in crate::delay) mod first_look;
mod paths;
mod queueing_delay;
pub mod samples;
mod transmission;

use crate::delay::estimate::Estimator;
use crate::delay::finalize::samples::Finalized;
use crate::delay::finalize::transmission::within_connection;
use crate::delay::host::Hosts;
use crate::delay::meter::Meter;
use crate::delay::meter_state::MeterState;
use crate::delay::options::Choice;
use crate::delay::track::Track;
use std::collections::BTreeMap;

impl Meter {
    /// Finalize the log.
    pub fn finalize(&mut self) -> Finalized<'_> {
        let MeterState { hosts, tracks, log, options, .. } = &mut self.state;
        let threads = options.threads;
        let looks = clocks::finalize(log, tracks, hosts, threads);
        choose_estimator(tracks, hosts, options.estimator);
        paths::find(log, tracks, hosts, threads);
        let within = within_connection::find(log, tracks, &looks, hosts, threads);
        transmission::leave_out(log, tracks, hosts, options.estimator);
        base_delay::finalize(log, tracks, &looks, hosts, threads);
        transmission::finalize(log, tracks, within, hosts, threads);
        for track in tracks.iter().filter(|track| track.cross_flow_base > 0.0) {
            hosts.all[track.host[0] as usize].stats(track.protocol).bases_taken_over += 1;
        }
        for track in tracks.iter().filter(|track| track.entries > 0) {
            let [host, peer] = track.host;
            let address = track.key.address;
            if hosts.remote(host, peer) {
                hosts.all[host as usize].stats(track.protocol).with(address[1 - track.side]);
            } else if track.estimator == Estimator::Reported && hosts.remote(peer, host) {
                hosts.all[peer as usize].stats(track.protocol).with(address[track.side]);
            }
        }
        Finalized::of(self)
    }
}

/// One estimator for each direction: the receiver's reports where they were asked for, or where the receiver is far
/// and they are many.
fn choose_estimator(tracks: &mut [Track], hosts: &Hosts, choice: Choice) {
    let reported: BTreeMap<_, u64> = tracks
        .iter()
        .filter(|track| track.estimator == Estimator::Reported)
        .map(|track| ((track.key, track.side), track.entries))
        .collect();
    for track in tracks {
        let far = !hosts.all[track.host[1] as usize].near();
        let reports = reported.get(&(track.key, track.side)).copied().unwrap_or(0);
        let by_reports = match choice {
            Choice::Auto => far && reports * 4 >= track.entries.min(200) && reports > 0,
            Choice::Observer => false,
            Choice::Reported => true,
        };
        track.silent = by_reports != (track.estimator == Estimator::Reported);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::finalize::first_look::base_bounds::Bounds;
    use crate::delay::finalize::first_look::{FirstLook, guess};
    use crate::delay::log::Log;
    use crate::delay::log::entry::{DATA, ECHOED, Entry, TOWARD, UNCAUSED};
    use crate::delay::protocol::Protocol;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;
    use proptest::prelude::*;

    fn track() -> Track {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0)
    }

    proptest! {
        /// Two logs of a clock of milliseconds, whose packets wait, and tell or not of round trips and of others.
        #[test]
        fn what_is_found_at_first_sight_is_what_each_step_finds(
            packets in prop::collection::vec((0i64..300, 0i64..9, 0u32..90_000, 60u16..1600, 0u8..8), 2..700),
            (echo_min, skew) in (1i64..5_000_000, prop_oneof![Just(0.0), -1e-4..1e-4]),
        ) {
            let [mut one, mut other] = [track(), track()];
            let mut sent = 0;
            for part in packets.chunks(packets.len().div_ceil(2)) {
                let mut log = Log::default();
                for (i, &(pause, wait, round_trip, length, kind)) in part.iter().enumerate() {
                    sent += pause;
                    let flag = [TOWARD, TOWARD | ECHOED, DATA, DATA | UNCAUSED].get(usize::from(kind)).copied().unwrap_or(0);
                    let extra = (kind < 5).then_some(round_trip);
                    let time = (sent + wait) * 1_000_000 + i64::from(length);
                    log.push(0, Entry::new(i as u64, time, sent, flag, extra).long(length));
                }
                (one.skew, other.skew) = (skew, skew);
                (one.tick_ns, other.tick_ns) = (one.tick_ns.or(guess(&log, 0)), one.tick_ns.or(guess(&log, 0)));
                let Some(mut look) = FirstLook::at(&log, 0, &mut one, echo_min) else { return Ok(()) };
                clocks::fit(&log, 0, &mut other);
                let fits = |track: &Track| format!("{:?}", (track.fit, track.echo_fit, track.entries, track.last_time, track.pace));
                prop_assert_eq!((fits(&one), one.toward), (fits(&other), other.toward));
                clocks::minima(&log, 0, &mut other);
                prop_assert!(look.minima(Some(1.0)).is_none());
                one.minima = look.minima(other.tick_ns).unwrap();
                prop_assert_eq!(format!("{:?}", one.minima), format!("{:?}", other.minima));
                let bounds = Bounds::seen(&log, 0, &other, echo_min, &Default::default());
                prop_assert!(look.bounds(&other.clock_model(), echo_min + 1).is_none());
                prop_assert_eq!(look.bounds(&other.clock_model(), echo_min), Some(bounds));
                bounds.leave(&mut one);
                bounds.leave(&mut other);
                other.skew += 1e-6;
                let clocks = other.clock_model();
                prop_assert!(look.leasts(&clocks).is_none() && look.bounds(&clocks, echo_min).is_none());
            }
        }
    }
}
