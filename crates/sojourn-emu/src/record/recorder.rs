//! The thread that records.

use crate::Trouble;
use crate::event::Event;
use crate::record::ledger::{Ledger, Recorded};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::Outputs;
    use std::io::{BufRead, BufReader};

    #[test]
    fn looks_come_as_often_as_asked_and_the_end_is_when_the_queues_ended() {
        let setup = crate::tests::setup(crate::tests::TWO_HOPS, "");
        let ledger = Ledger::new(&setup.document, (1, 0), Outputs::default(), None).unwrap();
        let (mut producer, events) = rtrb::RingBuffer::new(8);
        let (reads, writes) = nix::unistd::pipe().unwrap();
        producer.push(Event::Transmitted { link: 0, start: Time(0), end: Time(9), bytes: 1000 }).unwrap();
        let recorder = Recorder::start(ledger, events, Some(writes.into()), Duration::from_millis(40)).unwrap();
        let mut lines = BufReader::new(File::from(reads)).lines();
        let mut looks = Vec::new();
        for _ in 0..3 {
            let look: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            looks.push((look["time_s"].as_f64().unwrap(), look["links"]["near.down"]["rate_bps"].as_f64().unwrap()));
        }
        // On time, or late: then the next is not put off by it.
        assert!((1..=3).zip(&looks).all(|(k, look)| look.0 >= f64::from(k) * 0.04), "{looks:?}");
        assert!(looks[0].1 > 0.0 && looks[1].1 == 0.0, "{looks:?}");
        // Nobody looks any more, which is no trouble.
        drop(lines);
        thread::sleep(Duration::from_millis(100));
        let recorded = recorder.finish(Time(4_000_000_000)).unwrap();
        let down = serde_json::to_value(&recorded.links[0].summary).unwrap();
        // 1000 bytes of the 1 MB that 2 Mbit/s carry in the 4 s up to the end.
        assert_eq!(down["utilisation"], 0.001);
    }
}
