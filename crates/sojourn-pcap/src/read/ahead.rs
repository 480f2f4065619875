//! Reading and decoding on a thread of its own, ahead of who takes the packets in.
//!
//! Batches of decoded packets pass a bounded channel in the order of the capture, so that what is made of them is the
//! same, bit for bit, as on one thread. Batches go back to be filled again: nothing is allocated for each.

use super::{Capture, Frame, ReadError};
use crate::decode::{Packet, Skip, Transport, decode};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::time::Duration;

/// Packets of a batch.
const BATCH: usize = 4096;
/// Batches that are read and not yet taken in.
const AHEAD: usize = 8;
/// Between two looks at whether to go on while nothing comes.
const PATIENCE: Duration = Duration::from_millis(100);

/// A frame without its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Number of the frame in the whole stream, from 1.
    pub number: u64,
    /// Capture time, nanoseconds since 1970.
    pub time_ns: i64,
    /// Length on the wire, bytes.
    pub wire_len: u32,
}

impl From<&Frame<'_>> for Arrival {
    fn from(frame: &Frame<'_>) -> Self {
        Self { number: frame.number, time_ns: frame.time_ns, wire_len: frame.wire_len }
    }
}

/// Decoded packets in the order of the capture.
#[derive(Default)]
pub struct Batch {
    packets: Vec<(Arrival, Result<Packet<'static>, Skip>, u32)>,
    /// Payloads of UDP, one after another.
    payloads: Vec<u8>,
    /// Frames read with it and before.
    last: u64,
    progress: Option<f64>,
}

impl Batch {
    /// Fill from a capture with what is `wanted`; false at its end.
    fn fill<E: From<ReadError>>(
        &mut self,
        capture: &mut Capture,
        wanted: &mut impl FnMut(&Frame<'_>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        self.packets.clear();
        self.payloads.clear();
        for _ in 0..BATCH {
            let Some(frame) = capture.next_frame()? else { return Ok(false) };
            self.last = frame.number;
            if wanted(&frame)? {
                let decoded = decode(frame.link, frame.data, frame.wire_len);
                self.push((&frame).into(), decoded);
            }
        }
        self.progress = capture.progress();
        Ok(true)
    }

    #[inline]
    fn push(&mut self, arrival: Arrival, decoded: Result<Packet<'_>, Skip>) {
        let decoded = decoded.map(|packet| {
            let Packet { source, destination, ttl, id, transport } = packet;
            let transport = match transport {
                Transport::Tcp(segment) => Transport::Tcp(segment),
                Transport::Udp { source, destination, payload, length } => {
                    self.payloads.extend_from_slice(payload);
                    Transport::Udp { source, destination, payload: &[], length }
                }
            };
            Packet { source, destination, ttl, id, transport }
        });
        self.packets.push((arrival, decoded, self.payloads.len() as u32));
    }

    /// Its packets.
    #[inline]
    pub fn packets(&self) -> impl Iterator<Item = (Arrival, Result<Packet<'_>, Skip>)> {
        let mut from = 0;
        self.packets.iter().map(move |(arrival, decoded, to)| {
            let bytes = &self.payloads[std::mem::replace(&mut from, *to as usize)..*to as usize];
            let mut decoded = *decoded;
            if let Ok(Packet { transport: Transport::Udp { payload, .. }, .. }) = &mut decoded {
                *payload = bytes;
            }
            (*arrival, decoded)
        })
    }

    /// Frames that had been read when it was full.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Share of the input that had been read when it was full, where that is known.
    pub fn progress(&self) -> Option<f64> {
        self.progress
    }
}

/// Read a capture on another thread and hand its packets to `take`, in order. `wanted` chooses frames, on that thread;
/// `wait` is asked now and then, while nothing comes, whether to go on. `stop` is called when this side ends it: where
/// the capture keeps the reader waiting, its `go_on` must say no from then on.
///
/// # Errors
/// What `wanted`, `take` or `wait` returned, or reading did.
///
/// # Panics
/// If `wanted` does.
pub fn read_ahead<E: From<ReadError> + Send>(
    capture: &mut Capture,
    mut wanted: impl FnMut(&Frame<'_>) -> Result<bool, E> + Send,
    mut take: impl FnMut(&Batch) -> Result<(), E>,
    mut wait: impl FnMut() -> Result<(), E>,
    stop: impl FnOnce(),
) -> Result<(), E> {
    std::thread::scope(|scope| {
        let (full, filled) = sync_channel::<Batch>(AHEAD);
        let (spent, empty) = channel::<Batch>();
        let reader = scope.spawn(move || {
            loop {
                let mut batch = empty.try_recv().unwrap_or_default();
                let more = batch.fill(capture, &mut wanted)?;
                if full.send(batch).is_err() || !more {
                    return Ok(());
                }
            }
        });
        let taken = loop {
            match filled.recv_timeout(PATIENCE) {
                Ok(batch) => {
                    if let Err(error) = take(&batch) {
                        break Err(error);
                    }
                    // At the end of the capture nobody wants it back.
                    spent.send(batch).ok();
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = wait() {
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
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.and(read)
    })
}
