//! A window over a stream: the bytes from the current place on, at least as many as are asked for.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is read at a time: it stays in the cache until it is used.
const CHUNK: usize = 1 << 17;

/// Bytes taken from the file itself, before decompression.
pub(crate) type Counter = Arc<AtomicU64>;

/// Counts what is read through it.
pub(crate) struct Counted<R> {
    inner: R,
    counter: Counter,
}

impl<R> Counted<R> {
    pub(crate) fn new(inner: R, counter: Counter) -> Self {
        Self { inner, counter }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(into)?;
        self.counter.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

/// Bytes of a stream in one piece of memory that moves along it.
pub(crate) struct Window<R> {
    input: R,
    memory: Vec<u8>,
    start: usize,
    end: usize,
    counter: Counter,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(input: R, counter: Counter) -> Self {
        Self { input, memory: vec![0; 2 * CHUNK], start: 0, end: 0, counter }
    }

    /// Bytes at hand.
    #[inline]
    pub(crate) fn filled(&self) -> usize {
        self.end - self.start
    }

    /// All bytes at hand.
    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Try to have at least `wanted` bytes at hand; fewer only at the end of the stream.
    #[inline]
    pub(crate) fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.filled() >= wanted { Ok(true) } else { self.refill(wanted) }
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> io::Result<bool> {
        self.memory.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.memory.len() < wanted + CHUNK {
            self.memory.resize(wanted + CHUNK, 0);
        }
        while self.end < wanted {
            match self.input.read(&mut self.memory[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(got) => self.end += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// `len` bytes from `at` bytes behind the current place; both must be at hand, or lie in what was just passed.
    #[inline]
    pub(crate) fn slice(&self, at: usize, len: usize) -> &[u8] {
        &self.memory[self.start + at..self.start + at + len]
    }

    /// Go on by `by` bytes, which must be at hand.
    #[inline]
    pub(crate) fn advance(&mut self, by: usize) {
        self.start = (self.start + by).min(self.end);
    }

    /// Pass over `by` bytes that need not be at hand; false if the stream ends before.
    pub(crate) fn skip(&mut self, mut by: usize) -> io::Result<bool> {
        while by > 0 {
            if !self.fill(1)? {
                return Ok(false);
            }
            let step = by.min(self.filled());
            self.advance(step);
            by -= step;
        }
        Ok(true)
    }

    /// Bytes taken from the file itself.
    pub(crate) fn consumed_input(&self) -> u64 {
        self.counter.load(Ordering::Relaxed)
    }

    /// The stream from the current place on.
    pub(crate) fn into_reader(self) -> io::Chain<Cursor<Vec<u8>>, R> {
        Cursor::new(self.memory[self.start..self.end].to_vec()).chain(self.input)
    }
}
