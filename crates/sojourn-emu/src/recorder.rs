//! The thread that records.

use crate::bed::Trouble;
use crate::event::Event;
use crate::ledger::{Ledger, Recorded};
use rtrb::Consumer;
use sojourn_net::Time;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The thread that records, while it runs.
pub struct Recorder {
    thread: JoinHandle<io::Result<Recorded>>,
    end: Arc<AtomicU64>,
}

impl Recorder {
    /// Starts to take events; `live` takes a line of JSON now and then.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(
        mut ledger: Ledger,
        mut events: Consumer<Event>,
        mut live: Option<File>,
        every: Duration,
    ) -> io::Result<Self> {
        let end = Arc::new(AtomicU64::new(u64::MAX));
        let told = Arc::clone(&end);
        let thread = thread::Builder::new().name("record".to_owned()).spawn(move || {
            let begun = Instant::now();
            let mut look = every;
            loop {
                let over = told.load(Ordering::Acquire);
                let mut idle = true;
                while let Ok(event) = events.pop() {
                    ledger.take(event)?;
                    idle = false;
                }
                if over != u64::MAX {
                    return ledger.finish(Time(over));
                }
                if begun.elapsed() >= look {
                    look += every;
                    let line = format!("{}\n", ledger.look(Time(begun.elapsed().as_nanos() as u64)));
                    // Who looks may have gone.
                    if live.as_mut().is_some_and(|live| live.write_all(line.as_bytes()).is_err()) {
                        live = None;
                    }
                }
                if idle {
                    thread::sleep(Duration::from_millis(2));
                }
            }
        })?;
        Ok(Self { thread, end })
    }

    /// Sums up, the queues having been driven up to `end`.
    ///
    /// # Errors
    /// A sentence: the records cannot be written.
    pub fn finish(self, end: Time) -> Result<Recorded, Trouble> {
        self.end.store(end.0, Ordering::Release);
        let recorded = self.thread.join().map_err(|_| "the recording thread failed".to_owned())?;
        recorded.map_err(|error| format!("the records cannot be written: {error}"))
    }
}
