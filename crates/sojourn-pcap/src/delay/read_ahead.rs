//! A whole capture, on one thread or with reading on another, ahead of measuring.
//!
//! Batches of sightings pass a bounded channel in the order of the capture, so that what is made of them is the same,
//! bit for bit, as on one thread. Batches go back to be filled again: nothing is allocated for each.

use crate::delay::log::huge_pages::Block;
use crate::delay::meter::Meter;
use crate::delay::sighting::Batch;
use crate::delay::sighting::classifier::Classifier;
use crate::read::{Capture, Frame, ReadError};
use std::sync::mpsc::{RecvTimeoutError, TrySendError, channel, sync_channel};
use std::time::Duration;

/// Frames of a batch that is taken in by the thread that filled it: it stays in the nearest cache.
const NEAR: usize = 128;
/// Frames of a batch that passes from one thread to another.
const BATCH: usize = 2048;
/// Batches that are read and not yet taken in.
const AHEAD: usize = 16;
/// Between two looks at whether to go on while nothing comes.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is told while a capture is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReadEvent {
    /// The log is full and wants to be finalized.
    Full,
    /// So many frames of the capture were read, and this share of it, where that is known.
    Read(u64, Option<f64>),
    /// Nothing came for a while.
    Waiting,
}

#[derive(Default)]
struct Load {
    batch: Batch,
    /// Frames read with it and before, and the share of the input.
    read: (u64, Option<f64>),
}

impl Load {
    /// Fill from a capture with what is `wanted`, up to `most` frames; false at its end.
    fn fill<E: From<ReadError>>(
        &mut self,
        capture: &mut Capture,
        classifier: &mut Classifier,
        wanted: &mut impl FnMut(&Frame<'_>) -> Result<bool, E>,
        most: usize,
    ) -> Result<bool, E> {
        let Self { batch, read } = self;
        batch.clear();
        let (mut more, last) = (true, capture.number() + most as u64);
        while more && capture.number() < last {
            more = capture.frames((last - capture.number()) as usize, |frame| {
                if wanted(frame)? {
                    classifier.look(frame, batch);
                }
                Ok::<(), E>(())
            })?;
        }
        batch.start_ns = classifier.start_ns;
        *read = (capture.number(), capture.progress());
        Ok(more)
    }
}

/// What could not be sent.
fn back<T>(refused: TrySendError<T>) -> T {
    match refused {
        TrySendError::Full(it) | TrySendError::Disconnected(it) => it,
    }
}

impl Meter {
    /// Take in what is `wanted` of a capture, with as many threads as were asked for: reading is on another if they are
    /// two. `wanted` chooses frames, on the thread that reads. `told` is told the news; `stop` is called when this side
    /// ends it: where the capture keeps the reader waiting, its `go_on` must say no from then on. The log is not
    /// finalized at the end.
    ///
    /// # Errors
    /// What `wanted` or `told` returned, or reading did.
    ///
    /// # Panics
    /// If `wanted` does.
    pub fn read<E: From<ReadError> + Send>(
        &mut self,
        capture: &mut Capture,
        mut wanted: impl FnMut(&Frame<'_>) -> Result<bool, E> + Send,
        mut told: impl FnMut(&mut Self, ReadEvent) -> Result<(), E>,
        stop: impl FnOnce(),
    ) -> Result<(), E> {
        let mut classifier = self.classifier.take().unwrap_or_else(|| Classifier::new(1));
        let done = if self.state.options.threads < 2 {
            let mut load = Load::default();
            loop {
                let more = load.fill(capture, &mut classifier, &mut wanted, NEAR);
                let taken = more.and_then(|more| self.load(&load, &mut told).map(|()| more));
                match taken {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        } else {
            self.read_ahead((capture, &mut classifier), &mut wanted, &mut told, stop)
        };
        self.classifier = Some(classifier);
        done
    }

    fn read_ahead<E: From<ReadError> + Send>(
        &mut self,
        (capture, classifier): (&mut Capture, &mut Classifier),
        wanted: &mut (impl FnMut(&Frame<'_>) -> Result<bool, E> + Send),
        told: &mut impl FnMut(&mut Self, ReadEvent) -> Result<(), E>,
        stop: impl FnOnce(),
    ) -> Result<(), E> {
        std::thread::scope(|scope| {
            let (full, filled) = sync_channel::<Load>(AHEAD);
            let (spent, empty) = channel::<Load>();
            let (keep, kept) = sync_channel::<Block>(1);
            let reader = scope.spawn(move || {
                let mut block = None;
                loop {
                    let mut load = empty.try_recv().unwrap_or_default();
                    load.batch.take_over(BATCH);
                    let more = load.fill(capture, classifier, wanted, BATCH)?;
                    let sent = match full.try_send(load) {
                        Ok(()) => true,
                        Err(refused) => {
                            // Who takes in is behind: meanwhile there is time for the log's next block.
                            let mut next: Block = block.take().unwrap_or_else(Block::new);
                            block = if next.touch() { keep.try_send(next).err().map(back) } else { Some(next) };
                            full.send(back(refused)).is_ok()
                        }
                    };
                    if !sent || !more {
                        return Ok(());
                    }
                }
            });
            let taken = loop {
                match filled.recv_timeout(PATIENCE) {
                    Ok(load) => {
                        self.state.log.keep(|| kept.try_recv().ok());
                        if let Err(error) = self.load(&load, told) {
                            break Err(error);
                        }
                        // At the end of the capture nobody wants it back.
                        spent.send(load).ok();
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = told(self, ReadEvent::Waiting) {
                            break Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => break Ok(()),
                }
            };
            if taken.is_err() {
                stop();
            }
            drop(filled);
            // A panic of the reader is one here.
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            taken.and(read)
        })
    }

    /// Take in a batch.
    fn load<E>(&mut self, load: &Load, told: &mut impl FnMut(&mut Self, ReadEvent) -> Result<(), E>) -> Result<(), E> {
        self.batch(&load.batch, |meter| told(meter, ReadEvent::Full))?;
        told(self, ReadEvent::Read(load.read.0, load.read.1))
    }
}
