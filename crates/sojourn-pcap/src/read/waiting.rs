//! Input that may keep its reader waiting: pipes, FIFOs, terminals, devices.
//!
//! Opening or reading one of them may block without end, and no signal ends a blocking call of the standard library.
//! So a thread of its own opens and reads. Whoever wants the bytes waits for them a moment at a time, and asks in
//! between whether to go on. A thread that still blocks when its reader is dropped ends with the next bytes, at the
//! end of the stream, or with the process.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Tells whether to go on waiting. It is asked several times a second.
pub type GoOn = Arc<dyn Fn() -> bool + Send + Sync>;

const MOMENT: Duration = Duration::from_millis(100);
/// What a pipe holds on Linux, bytes.
const CHUNK: usize = 1 << 16;
/// Chunks that are read ahead.
const AHEAD: usize = 4;

/// A stream that is read by a thread of its own.
pub(super) struct Waiting {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
    go_on: GoOn,
}

impl Waiting {
    /// Start a thread that opens a stream and reads it.
    pub(super) fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static, go_on: GoOn) -> Self {
        let (sender, chunks) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => return drop(sender.send(Err(error))),
            };
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = match input.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(got) => {
                        chunk.truncate(got);
                        Ok(chunk)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = read.is_err();
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { chunks, chunk: io::Cursor::default(), go_on }
    }
}

impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.chunk.read(into)?;
            if got > 0 || into.is_empty() {
                return Ok(got);
            }
            let next = self.chunks.recv_timeout(MOMENT);
            // Asked after every chunk too: where a few bytes come often, no wait is ever over.
            if !(self.go_on)() {
                return Err(io::Error::other("stopped"));
            }
            match next {
                Ok(chunk) => self.chunk = io::Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn gives_the_bytes_in_order_and_the_error_after_them() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    1 => {
                        into[..2].copy_from_slice(b"ab");
                        Ok(2)
                    }
                    2 => Err(io::ErrorKind::Interrupted.into()),
                    3 => {
                        into[0] = b'c';
                        Ok(1)
                    }
                    _ => Err(io::Error::other("torn")),
                }
            }
        }
        let mut input = Waiting::new(|| Ok(Broken(0)), Arc::new(|| true));
        let mut found = [0; 3];
        input.read_exact(&mut found).unwrap();
        assert_eq!(&found, b"abc");
        assert_eq!(input.read(&mut found).unwrap_err().to_string(), "torn");
        assert_eq!(input.read(&mut found).unwrap(), 0);
    }

    #[test]
    fn a_stream_that_gives_nothing_is_left_when_told_to() {
        let (idle, _writer) = io::pipe().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let mut waits = Waiting::new(|| Ok(idle), Arc::new(move || count.fetch_add(1, Ordering::Relaxed) < 2));
        assert_eq!(waits.read(&mut [0]).unwrap_err().to_string(), "stopped");
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_stream_that_always_gives_a_little_is_left_too() {
        let mut trickle = Waiting::new(|| Ok(io::repeat(7).take(1 << 20)), Arc::new(|| false));
        assert_eq!(trickle.read(&mut [0]).unwrap_err().to_string(), "stopped");
    }
}
