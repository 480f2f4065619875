//! The thread that forwards.

use crate::Trouble;
use crate::forward::clock::{Clock as _, Monotonic, Patience};
use crate::forward::forwarder::Forwarder;
use crate::linux::processor;
use sojourn_net::{Span, Time};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// A wake-up later than this is counted.
const LATE_WAKE: Span = Span::from_millis(5);

/// The thread that forwards, when it is done.
pub struct Driven {
    /// The loop, with what it counted.
    pub forwarder: Forwarder,
    /// When it ended.
    pub end: Time,
    /// Whether it ran before all others.
    pub fifo: bool,
    /// Its processor time over the time of the run, in percent.
    pub thread_pct: f64,
    /// Wake-ups that were far too late, and the latest.
    pub late_wakes: (u64, Span),
    /// Why it ended early.
    pub error: Option<io::Error>,
}

/// The thread that forwards, while it runs.
pub struct Driver {
    thread: JoinHandle<Driven>,
    stop: Arc<AtomicBool>,
    bell: UnixStream,
}

impl Driver {
    /// Starts the loop on a thread of its own; time zero is now, and `epoch` is told.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(mut forwarder: Forwarder, wants_fifo: bool, epoch: &AtomicU64) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (bell, rung) = UnixStream::pair()?;
        let stopped = Arc::clone(&stop);
        let mut clock = Monotonic::new(if wants_fifo { Patience::FIFO } else { Patience::PLAIN });
        epoch.store(clock.epoch(), Ordering::Relaxed);
        let thread = thread::Builder::new().name("forward".to_owned()).spawn(move || {
            processor::wake_punctually();
            let fifo = wants_fifo && processor::run_first();
            if fifo {
                processor::keep_to_own();
            } else if wants_fifo {
                clock.be_patient();
            }
            let (from, begun) = (processor::thread_seconds(), clock.now());
            let (mut late_wakes, mut error) = ((0, Span::ZERO), None);
            while !stopped.load(Ordering::Relaxed) {
                match forwarder.turn(&clock) {
                    Ok(next) => {
                        let [client, server] = forwarder.readable();
                        clock.wait(next, &[client, server, rung.as_fd()]);
                        let late = clock.now().since(next);
                        if late > LATE_WAKE {
                            late_wakes.0 += 1;
                        }
                        late_wakes.1 = late_wakes.1.max(late);
                    }
                    Err(failed) => {
                        error = Some(failed);
                        break;
                    }
                }
            }
            let end = clock.now();
            forwarder.finish(end);
            let took = end.since(begun).as_secs().max(1e-9);
            let thread_pct = ((processor::thread_seconds() - from) / took * 1000.0).round() / 10.0;
            Driven { forwarder, end, fifo, thread_pct, late_wakes, error }
        })?;
        Ok(Self { thread, stop, bell })
    }

    /// Ends the loop.
    ///
    /// # Errors
    /// A sentence: the thread has failed.
    pub fn stop(mut self) -> Result<Driven, Trouble> {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.bell.write_all(&[1]);
        self.thread.join().map_err(|_| "the forwarding thread failed".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::tests::{forwarder, ipv4};
    use std::io::Read;
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    fn device() -> Device {
        Device::new(UnixDatagram::unbound().unwrap().into(), false, None)
    }

    #[test]
    fn a_loop_that_waits_is_rung_and_finds_that_it_is_to_stop() {
        let stop = Arc::new(AtomicBool::new(false));
        let (bell, mut rung) = UnixStream::pair().unwrap();
        // Only so that a bell that is never rung is an error, and not a test without end.
        rung.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let error = rung.read_exact(&mut [0]).err();
            let fifo = stopped.load(Ordering::Relaxed);
            let (end, late_wakes) = (Time::ZERO, (0, Span::ZERO));
            Driven { forwarder: forwarder([device(), device()]), end, fifo, thread_pct: 0.0, late_wakes, error }
        });
        let driven = Driver { thread, stop, bell }.stop().unwrap();
        assert!(driven.error.is_none(), "{:?}", driven.error);
        assert!(driven.fifo, "rung before it was told to stop");
    }

    /// A device, and the host's end of it.
    fn ends() -> (Device, UnixDatagram) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        (Device::new(ours.into(), false, None), theirs)
    }

    #[test]
    fn a_packet_crosses_while_the_loop_runs_and_what_it_did_is_told_at_its_end() {
        let ((client, client_host), (server, server_host)) = (ends(), ends());
        let (epoch, before) = (AtomicU64::new(0), crate::forward::clock::monotonic_ns());
        let driver = Driver::start(forwarder([client, server]), false, &epoch).unwrap();
        let told = epoch.load(Ordering::Relaxed);
        assert!(before <= told && told <= crate::forward::clock::monotonic_ns(), "time zero is when it was started");
        // From the server: down, to the client.
        server_host.send(&ipv4(17, 0, &[7; 980])).unwrap();
        let mut got = [0; 2000];
        assert_eq!(client_host.recv(&mut got).unwrap(), 1000);
        let asked = crate::forward::clock::monotonic_ns();
        let driven = driver.stop().unwrap();
        assert!(driven.end.0 >= asked - told && driven.end.0 >= 7_000_000, "2 ms on the link, 5 ms on the way");
        assert!(!driven.fifo && driven.error.is_none() && (0.0..150.0).contains(&driven.thread_pct));
        let [down, up] = driven.forwarder.sides();
        assert_eq!([down.counts.delivered_pkts, up.counts.delivered_pkts], [1, 0]);
        assert!(driven.late_wakes.1 > Span::ZERO, "no wake-up is to the nanosecond");
    }

    #[test]
    fn a_device_that_is_gone_ends_the_loop_and_is_why() {
        // It cannot be read from.
        let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
        let gone = Device::new(null.into(), false, None);
        let driver = Driver::start(forwarder([gone, ends().0]), false, &AtomicU64::new(0)).unwrap();
        let ended = std::time::Instant::now() + Duration::from_secs(5);
        while !driver.thread.is_finished() && std::time::Instant::now() < ended {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(driver.thread.is_finished());
        assert!(driver.stop().unwrap().error.is_some());
    }
}
