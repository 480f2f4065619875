//! The log between reading and finalizing: one fixed-size entry for each packet that may say something of a queue.
//!
//! Tick, skew and base delay are known for good only after the packets that need them. So packets are logged first,
//! and the log is finalized when it is full or the capture ends (see [`crate::delay::finalize`]).
//!
//! Entries of one track lie together, in chunks that double: most of finalizing looks at one track at a time, with its
//! state at hand, and tracks do not wait for each other. Each entry has its place in the order of all; the order
//! itself is made where somebody asks for it.
//!
//! An [`entry`] is put behind the others of its track, in memory that [`huge_pages`] gives. When the log is finalized,
//! its sample takes its place.

pub(super) mod entry;
pub(super) mod huge_pages;

use crate::delay::log::entry::Entry;
use crate::delay::log::huge_pages::{Block, Pages};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// No chunk.
const NONE: u32 = u32::MAX;
/// Entries of a track's first chunk, and of its largest. That is no power of two: tracks that grow alike would all
/// write to the same few lines of the cache.
const FIRST: usize = 4;
const LARGEST: usize = 1000;

/// So many entries of one track in a row.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    track: u32,
    start: u32,
    room: u32,
    /// The track's next.
    next: u32,
}

/// Where the next entry of a track goes, and which chunks it has.
#[derive(Debug, Clone, Copy)]
struct End {
    at: u32,
    stop: u32,
    first: u32,
    last: u32,
}

/// All entries since the log was finalized last.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Pages<Entry>,
    chunks: Vec<Chunk>,
    /// By track.
    ends: Vec<End>,
    len: usize,
    /// Track of each entry, and where it is, of so many.
    order: Pages<[u32; 2]>,
    in_order: usize,
}

impl Log {
    /// Add an entry to a track.
    #[inline(always)]
    pub(crate) fn push(&mut self, track: u32, entry: Entry) {
        let at = match self.ends.get_mut(track as usize) {
            Some(end) if end.at != end.stop => {
                end.at += 1;
                end.at - 1
            }
            _ => self.extend(track as usize),
        };
        self.entries.set(at as usize, Entry { place: self.len as u32, ..entry });
        self.len += 1;
    }

    /// Give a track a new chunk, and the first place of it away.
    #[cold]
    fn extend(&mut self, track: usize) -> u32 {
        if self.ends.len() <= track {
            self.ends.resize(track + 1, End { at: 0, stop: 0, first: NONE, last: NONE });
        }
        let end = &mut self.ends[track];
        let new = self.chunks.len() as u32;
        let before = self.chunks.get_mut(end.last as usize);
        let room = before.as_ref().map_or(FIRST, |chunk| (chunk.room as usize * 2).min(LARGEST));
        let first = if let Some(chunk) = before {
            chunk.next = new;
            end.first
        } else {
            new
        };
        let start = self.entries.extend(room) as u32;
        *end = End { at: start + 1, stop: start + room as u32, first, last: new };
        self.chunks.push(Chunk { track: track as u32, start, room: room as u32, next: NONE });
        start
    }

    /// Keep a block for later, if somebody has one where there is none yet.
    pub(crate) fn keep(&mut self, block: impl FnOnce() -> Option<Block>) {
        if self.entries.spare.is_none() {
            self.entries.spare = block();
        }
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Make the order of all. Chunks in the order in which they were begun touch little of it at a time.
    pub(crate) fn put_in_order(&mut self) {
        let Self { entries, chunks, ends, len, order, in_order } = self;
        if *in_order == *len {
            return;
        }
        *in_order = *len;
        order.reach(*len);
        for (track, start, count) in filled(chunks, ends) {
            for (at, entry) in (start..).zip(entries.slice(start, count)) {
                order.set(entry.place as usize, [track, at as u32]);
            }
        }
    }

    /// All entries, as many of a track in a row as lie together, with their track; those of a track in order.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (u32, &mut [Entry])> {
        let Self { entries, chunks, ends, .. } = self;
        let tracks = chunks.iter().map(|chunk| chunk.track);
        tracks.zip(entries.rows_mut(filled(chunks, ends).map(|(_, start, count)| (start, count))))
    }

    /// The entries of a track, in order, as many in a row as lie together.
    #[inline]
    pub(crate) fn chunks(&self, track: usize) -> impl Iterator<Item = &[Entry]> {
        let end = self.ends.get(track);
        let mut next = end.map_or(NONE, |end| end.first);
        std::iter::from_fn(move || {
            let chunk = self.chunks.get(next as usize)?;
            next = chunk.next;
            let until = if next == NONE { end.map_or(0, |end| end.at) } else { chunk.start + chunk.room };
            Some(self.entries.slice(chunk.start as usize, (until - chunk.start) as usize))
        })
    }

    /// Number of entries of a track.
    pub(crate) fn len_of(&self, track: usize) -> usize {
        self.chunks(track).map(<[Entry]>::len).sum()
    }

    /// The entries of a track, in order. Loops over each of [`Self::chunks`] take fewer steps.
    #[inline]
    pub(crate) fn of(&self, track: usize) -> impl Iterator<Item = &Entry> {
        self.chunks(track).flatten()
    }

    /// The entry at a place in the order of all, and its track; none unless they were
    /// [put in order](Self::put_in_order).
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<(u32, &Entry)> {
        (place < self.in_order).then(|| {
            let &[track, at] = self.order.one(place);
            (track, self.entries.one(at as usize))
        })
    }

    /// The entries of some tracks, in the order of all, each with the place of its track among them.
    pub(crate) fn merged<'a>(&'a self, tracks: &[usize]) -> impl Iterator<Item = (usize, &'a Entry)> {
        let mut next: Vec<_> = tracks.iter().map(|&track| self.of(track).peekable()).collect();
        let first = next.iter_mut().enumerate().filter_map(|(i, of)| Some(Reverse((of.peek()?.place, i))));
        let mut first: BinaryHeap<_> = first.collect();
        std::iter::from_fn(move || {
            let mut top = first.peek_mut()?;
            let Reverse((place, i)) = &mut *top;
            let (i, of) = (*i, &mut next[*i]);
            let entry = of.next()?;
            match of.peek() {
                Some(entry) => *place = entry.place,
                None => _ = PeekMut::pop(top),
            }
            Some((i, entry))
        })
    }

    /// Forget all entries; the memory is kept.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        (self.len, self.in_order) = (0, 0);
        self.chunks.clear();
        self.ends.clear();
    }
}

/// Track of each chunk, where it starts and how many entries are in it.
fn filled(chunks: &[Chunk], ends: &[End]) -> impl Iterator<Item = (u32, usize, usize)> {
    chunks.iter().enumerate().map(|(number, chunk)| {
        let end = &ends[chunk.track as usize];
        let room = if end.last as usize == number { end.at - chunk.start } else { chunk.room };
        (chunk.track, chunk.start as usize, room as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::estimate::tcp_observer::Estimate;

    #[test]
    fn entries_come_back_by_track_and_in_order() {
        let mut log = Log::default();
        for round in 0..2 {
            let tracks: Vec<u32> = (0..30_000u32).map(|i| i * i % 7 * (i % 5)).collect();
            for (i, &track) in tracks.iter().enumerate() {
                log.push(track, Entry::new(i as u64, round, 0, 0, None));
            }
            assert_eq!(log.len(), 30_000);
            log.put_in_order();
            assert!(
                (0..30_000)
                    .all(|i| log.get(i).is_some_and(|(_, entry)| [entry.frame(), entry.place.into()] == [i as u64; 2]))
            );
            assert!(log.get(30_000).is_none());
            for track in 0..30 {
                let frames: Vec<u64> = log.of(track).map(Entry::frame).collect();
                let expected = (0..30_000).filter(|&i| tracks[i] as usize == track).map(|i| i as u64);
                assert!(frames.iter().copied().eq(expected), "track {track}");
            }
            let of = [4, 29, 6];
            let merged = log.merged(&of).map(|(i, entry)| (of[i], entry.frame() as usize));
            let expected = (0..30_000).map(|i| (tracks[i] as usize, i)).filter(|(track, _)| of.contains(track));
            assert!(merged.eq(expected));
            for (track, entries) in log.all_mut() {
                for entry in entries {
                    let estimate = Estimate { delay: 1.5e9 / f64::from(track), error: f64::from(entry.place) };
                    entry.settle((track != 4).then_some(((-7, estimate), track == 6)));
                }
            }
            for (i, &track) in tracks.iter().enumerate() {
                let entry = log.get(i).unwrap().1;
                let estimate = Estimate { delay: 1.5e9 / f64::from(track), error: i as f64 };
                assert_eq!(entry.sampled(), (track != 4).then_some(((-7, estimate), track == 6)));
                assert_eq!(entry.frame(), i as u64);
            }
            log.clear();
            assert!(log.of(4).next().is_none());
        }
    }
}
