//! One run from beginning to end: the bed, the command, the thread that forwards, and the thread that records.

use crate::Trouble;
use crate::ends::bed::{Bed, Rights};
use crate::ends::command::{Child, blocked_signals, pending};
use crate::ends::probe::{PROBE, round_trips};
use crate::event::{EventSink, Snapshot};
use crate::forward::drive::Driver;
use crate::forward::forwarder::{Forwarder, Hosts};
use crate::forward::way::Way;
use crate::linux::namespace;
use crate::linux::processor::{self, Ticks};
use crate::record::kept::{Kept, Refused};
use crate::record::ledger::{Ledger, Outputs};
use crate::record::recorder::Recorder;
use crate::result::report::{BaseRtt, Facts, Report};
use crate::setup::{Descriptors, Setup};
use nix::sys::signalfd::SignalFd;
use rtrb::Consumer;
use sojourn_net::{Span, Time};
use sojourn_sim::Direction;
use sojourn_sim::scenario::{LinkRule, LinkSpec, Path};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Events that may wait for the thread that records: a second and more at 1 Gbit/s.
const EVENTS: usize = 1 << 19;
/// First bytes of packets that may wait.
const SNAPSHOTS: usize = 1 << 15;

/// Runs a command between two hosts. This process must have one thread, and be a child of whoever wants the result.
///
/// # Errors
/// A sentence: why there is no bed for it.
pub fn run(setup: &Setup) -> Result<Report, Trouble> {
    // If whoever started us dies, however that comes about, so do we, and all that hangs on us.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).map_err(|error| error.to_string())?;
    let Given { parent, live, log, capture, begin } = Given::take(setup.descriptors)?;
    let signals = blocked_signals().map_err(failed("signals cannot be blocked"))?;
    let epoch = Arc::new(AtomicU64::new(0));
    let mut bed = Bed::make(setup, &epoch)?;
    let congestion =
        setup.congestion.clone().or_else(|| namespace::variable("net.ipv4.tcp_congestion_control")).unwrap_or_default();
    let ways =
        || Direction::BOTH.map(|way| Way::new(&setup.document, setup.seed, setup.replication, way, &setup.pairs));
    let mut command = Child::start(setup, &bed).map_err(failed("the command's process cannot be made"))?;
    let awake = processor::stay_awake();
    let locked = processor::lock_memory();
    let hosts = Hosts { mtu: setup.mtu as usize, access: setup.access() };
    let (Some(client), Some(server)) = (bed.ends[0].device.take(), bed.ends[1].device.take()) else {
        return Err("the interfaces are gone".to_owned());
    };
    // First the idle path, on queues of its own.
    let (unheard, nobody) = rtrb::RingBuffer::new(1024);
    let forwarder = Forwarder::new(client, server, ways(), hosts, EventSink::new(unheard, None));
    let driver = Driver::start(forwarder, !bed.rights.rootless, &epoch).map_err(failed("no thread can be started"))?;
    // Idle: the server's start is over.
    let _ = command.ready(&signals);
    not_told_to_end(&signals)?;
    let base_rtt = measure_idle(setup, &bed);
    not_told_to_end(&signals)?;
    let (started, waited) = (failed("the command cannot be started"), failed("the command cannot be waited for"));
    let early = match &begin {
        Some(word) => {
            command.go().map_err(started)?;
            command.run(setup, &signals, &parent, Some(word)).map_err(waited)?
        }
        None => None,
    };
    let mut driven = driver.stop()?;
    drop(nobody);
    // Then the run.
    let (producer, events) = rtrb::RingBuffer::new(EVENTS);
    let (heads, snapshots) = if capture.is_some() {
        let (producer, consumer) = rtrb::RingBuffer::new(SNAPSHOTS);
        (Some(producer), Some(consumer))
    } else {
        (None, None)
    };
    driven.forwarder.restart(ways(), EventSink::new(producer, heads));
    let full = Refused::default();
    let outputs = outputs(log, capture, &full);
    let ledger = ledger(setup, outputs, snapshots).map_err(failed("the records cannot be begun"))?;
    let every = Duration::from_secs_f64(setup.every_s.max(0.05));
    let recorder = Recorder::start(ledger, events, live, every).map_err(failed("no thread can be started"))?;
    let ticks = Ticks::now();
    let driver =
        Driver::start(driven.forwarder, !bed.rights.rootless, &epoch).map_err(failed("no thread can be started"))?;
    if let (Some(mut word), None) = (begin.as_ref(), &early) {
        // If nobody reads it, the command is about to end.
        let _ = word.write_all(&epoch.load(Ordering::Relaxed).to_ne_bytes());
    }
    if begin.is_none() {
        // Not before the clock of the run: what it sends at once would have no time.
        command.go().map_err(started)?;
    }
    let ended = match early {
        Some(ended) => ended,
        None => command.run(setup, &signals, &parent, None).map_err(waited)?.ok_or("the command was not waited for")?,
    };
    let driven = driver.stop()?;
    let processors = Ticks::now().since(ticks);
    if let Some(error) = &driven.error {
        return Err(format!("an interface of the emulator is gone: {error}"));
    }
    let ring = bed.dropped();
    let recorded = recorder
        .finish(driven.end)
        .map_err(|trouble| format!("{trouble}; the command itself has run, and ended with {}", ended.exit))?;
    let without = refused(&bed.rights, driven.fifo, awake.is_some(), locked);
    let rootless = bed.rights.rootless;
    let facts = Facts { recorded, driven, ended, base_rtt, ring, processors, congestion, without, rootless };
    Ok(Report { records_refused: full.get().cloned(), ..Report::new(setup, facts) })
}

/// Says what failed, in front of the system's reason.
fn failed(what: &'static str) -> impl Fn(io::Error) -> Trouble + Copy {
    move |error| format!("{what}: {error}")
}

/// The files that whoever started this process has left open for it.
struct Given {
    parent: OwnedFd,
    live: Option<File>,
    log: Option<File>,
    capture: Option<File>,
    begin: Option<File>,
}

impl Given {
    /// Takes them over; the command does not get them.
    fn take(Descriptors { parent, live, log, capture, begin }: Descriptors) -> Result<Self, Trouble> {
        let taken = |fd| {
            // SAFETY: whoever started this process has left the descriptor open, and says so; nobody else has it here.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            let flags = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC);
            nix::fcntl::fcntl(&fd, flags).map(|_| fd).map_err(|error| error.to_string())
        };
        let file = |fd: Option<i32>| fd.map(taken).transpose().map(|fd| fd.map(File::from));
        Ok(Self {
            parent: taken(parent)?,
            live: file(live)?,
            log: file(log)?,
            capture: file(capture)?,
            begin: file(begin)?,
        })
    }
}

/// Where the records of a run that begins now go, as far as there is room.
fn outputs(log: Option<File>, capture: Option<File>, full: &Refused) -> Outputs {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let kept = |file| Box::new(Kept::new(file, full)) as _;
    Outputs { log: log.map(kept), capture: capture.map(|file| (kept(file), wall)) }
}

/// The records of the run.
fn ledger(setup: &Setup, outputs: Outputs, snapshots: Option<Consumer<Snapshot>>) -> io::Result<Ledger> {
    let mut ledger = Ledger::new(&setup.document, (setup.seed, setup.replication), outputs, snapshots)?;
    if let Some((from, to)) = setup.measured_s {
        let at = |seconds: f64| Time((seconds.max(0.0) * 1e9).round() as u64);
        ledger.measure(at(from), at(to));
    }
    Ok(ledger)
}

/// # Errors
/// A signal has come that ends the run before the command was started.
fn not_told_to_end(signals: &SignalFd) -> Result<(), Trouble> {
    match pending(signals) {
        Some(signal) => Err(format!("it was told to end ({signal}) before the command was started")),
        None => Ok(()),
    }
}

/// What the emulator ran without, as the system refused it.
fn refused(rights: &Rights, has_fifo: bool, is_awake: bool, is_locked: bool) -> Vec<String> {
    let stamps = rights.no_stamps.as_ref();
    let stamps =
        stamps.map(|error| format!("stamps of the kernel ({error}): packets count as sent when they were read"));
    let others = [
        (has_fifo, "priority over other programs (SCHED_FIFO)"),
        (is_awake, "processors kept awake (/dev/cpu_dma_latency)"),
        (rights.threaded_napi == [true; 2], "threaded NAPI: work of the receiving hosts may delay the emulator"),
        (is_locked, "memory that is never paged out"),
    ];
    let others = others.into_iter().filter(|(has, _)| !has).map(|(_, what)| what.to_owned());
    stamps.into_iter().chain(others).collect()
}

/// Idle round trips, less the time that a probe is on links of constant rate.
fn measure_idle(setup: &Setup, bed: &Bed) -> BaseRtt {
    let path = &setup.document.path;
    let set = path.rtt();
    let links = on_links(path);
    let is_constant = path.links().all(|link| link.spec.rate.is_constant());
    let mut got = Vec::new();
    if let (Some(prober), true) = (&bed.prober, is_constant && setup.probes > 0) {
        let apart = Duration::from_nanos((2 * links.0).clamp(5_000_000, 1_000_000_000));
        let patience = Duration::from_nanos((set + links).0) + Duration::from_millis(500);
        let to = bed.ends[1].addresses.v4;
        let found = round_trips(prober, to, setup.probes, apart, patience).unwrap_or_default();
        got = found.iter().map(|trip| ((trip.as_nanos() as f64 - links.0 as f64) * 1e-3).round() * 1e-3).collect();
    }
    BaseRtt { set: set.as_millis(), got }
}

/// The time that the bits of a probe and of its answer need on the links. By htb's rule it is none: an idle link passes
/// a packet at once.
fn on_links(path: &Path) -> Span {
    let of = |link: &LinkSpec| {
        let rate = link.rate.mean().filter(|_| link.rule == LinkRule::Strict)?;
        Some((u64::from(PROBE) + link.overhead.0) * 8_000_000_000 / rate.0.max(1))
    };
    Span(path.links().filter_map(|link| of(link.spec)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_sim::scenario::Scenario;

    #[test]
    fn a_probe_is_on_strict_links_for_its_bits_and_passes_an_idle_bucket_at_once() {
        let path = |up: &str| {
            let down = r#"{"rate": "8Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}"#;
            let up = format!(r#"{{"queue": {{"kind": "fifo", "limit": "9pkt"}}{up}}}"#);
            let text = format!(r#"{{"duration": "9s", "path": {{"rtt": "9ms", "down": {down}, "up": {up}}}}}"#);
            serde_json::from_str::<Scenario>(&text).unwrap().path
        };
        assert_eq!(on_links(&path(r#", "rate": "1Mbit", "overhead": "16B""#)), Span(84_000 + 800_000));
        assert_eq!(on_links(&path(r#", "rate": "1Mbit", "rule": "htb""#)), Span(84_000));
        assert_eq!(on_links(&path(r#", "rate": "unlimited""#)), Span(84_000), "no rate, no time");
    }

    #[test]
    fn an_idle_round_trip_is_less_the_time_on_the_links_if_that_is_known() {
        use crate::ends::bed::End;
        use crate::ends::probe::open_prober;
        use crate::linux::netlink::Routing;
        use crate::setup::Addresses;
        // This host answers instead of a server; without the right to a network, there is nothing to look at.
        let (Ok(_), Ok(prober)) = (namespace::new_network(), open_prober()) else { return };
        Routing::open().unwrap().up(1, None).unwrap();
        let end = |v4: [u8; 4]| End {
            network: File::open("/dev/null").unwrap().into(),
            interface: String::new(),
            addresses: Addresses { v4: v4.into(), ..Addresses::of(0, 1) },
            device: None,
        };
        let mut bed = Bed { ends: [end([9; 4]), end([127, 0, 0, 1])], prober: Some(prober), rights: Rights::default() };
        let link = |rate: &str| {
            crate::tests::one_hop(&format!(r#"{{"rate": {rate}, "queue": {{"kind": "fifo", "limit": "9pkt"}}}}"#))
        };
        let idle =
            |rate, probes, bed: &Bed| measure_idle(&Setup { probes, ..crate::tests::setup(&link(rate), "") }, bed);
        let found = idle(r#""672kbit""#, 9, &bed);
        // 84 bytes each way are 2 ms together, which the answer of this host took none of.
        assert_eq!((found.set, found.got.len()), (10.0, 9));
        assert!(
            found.got.iter().all(|ms| *ms > -2.0 && ((ms * 1e3).round() - ms * 1e3).abs() < 1e-6),
            "{:?}",
            found.got
        );
        assert!(found.got.iter().any(|ms| *ms < -0.5), "{:?}", found.got);
        assert!(idle(r#""672kbit""#, 0, &bed).got.is_empty());
        let changes = idle(r#"{"steps": [["0s", "1Mbit"], ["1s", "2Mbit"]]}"#, 3, &bed);
        assert_eq!((changes.set, changes.got.len()), (10.0, 0), "what a probe waits for is not known");
        bed.prober = None;
        assert!(idle(r#""672kbit""#, 3, &bed).got.is_empty());
    }

    #[test]
    fn what_the_system_refused_is_said_and_threads_at_one_end_only_are_not_enough() {
        let rights = |threaded_napi| Rights { threaded_napi, ..Rights::default() };
        assert_eq!(refused(&rights([true; 2]), true, true, true), [""; 0]);
        for one_end in [[true, false], [false, true]] {
            let said = refused(&rights(one_end), true, true, true);
            assert!(said.len() == 1 && said[0].starts_with("threaded NAPI"), "{said:?}");
        }
        let no_stamps = Rights { no_stamps: Some("EPERM".to_owned()), ..rights([false; 2]) };
        let said = refused(&no_stamps, false, false, false);
        let about = ["stamps of the kernel (EPERM)", "priority", "processors", "threaded NAPI", "memory"];
        assert!(said.len() == 5 && said.iter().zip(about).all(|(said, what)| said.starts_with(what)), "{said:?}");
        for (place, what) in about[1..].iter().enumerate().filter(|(_, what)| **what != "threaded NAPI") {
            let has = |of| of != place;
            let said = refused(&rights([true; 2]), has(0), has(1), has(3));
            assert!(said.len() == 1 && said[0].starts_with(what), "{what}: {said:?}");
        }
    }
}
