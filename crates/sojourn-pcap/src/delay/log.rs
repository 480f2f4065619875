//! The log between reading and finalizing: one fixed-size entry for each packet that may say something of a queue.
//!
//! Tick, skew and base delay are known for good only after the packets that need them. So packets are logged first,
//! and the log is finalized when it is full or the capture ends (see [`crate::delay::finalize`]).
//!
//! Entries of one track lie together, in chunks that double: most of finalizing looks at one track at a time, with its
//! state at hand, and tracks do not wait for each other. Each entry has its place in the order of all; the order
//! itself is made where somebody asks for it.

use crate::delay::estimate::tcp_observer::Estimate;
use crate::delay::pages::{Block, Pages};
use bytemuck::{Pod, Zeroable};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The packet carries data: a queue's delay, not only a bound of the base.
pub(crate) const DATA: u64 = 1 << 56;
/// The packet opened a connection after a silence of its host: no queue of the host's own traffic can stand.
pub(crate) const IDLE: u64 = 1 << 57;
/// `extra` holds something.
const EXTRA: u64 = 1 << 58;
/// The delay asked for is that of a packet *to* the sender: `frame` is that packet's, `extra` the time from it to this.
pub(crate) const TOWARD: u64 = 1 << 59;
/// Of those: the acknowledgement may have been delayed by its receiver.
pub(crate) const LONE: u64 = 1 << 60;
/// Of those: known by the echo of its stamp only, and by nothing that its arrival caused.
pub(crate) const ECHOED: u64 = 1 << 61;
/// In the place of the entry is its sample.
const SAMPLED: u64 = 1 << 62;
const FRAME: u64 = (1 << 36) - 1;
const COVERED_AT: u32 = 36;
/// Packets that an entry may stand for.
pub(crate) const MOST_COVERED: u32 = 15;
const LENGTH_AT: u32 = 40;

/// One packet of the log.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Entry {
    /// Capture time since the first packet, ns.
    pub(crate) time: i64,
    /// Sender's stamp on a line without end, ticks. For uTP's reports the reported difference, µs.
    pub(crate) stamp: i64,
    /// Frame number (36 bits), packets that it stands for (4), length on the wire (16) and flags.
    pub(crate) frame_flags: u64,
    /// Its place in the order of all.
    pub(crate) place: u32,
    /// TCP observed: time since the packet that it echoes passed, µs. TCP reported: the receiver's stamp. uTP
    /// observed: how the sender's clock stands against the capture's by its own reports, µs modulo 2^32.
    pub(crate) extra: u32,
}

impl Entry {
    /// An entry that has no place yet; without `extra`, that field holds nothing.
    #[inline]
    pub(crate) fn new(frame: u64, time: i64, stamp: i64, flags: u64, extra: Option<u32>) -> Self {
        let flags = flags | if extra.is_some() { EXTRA } else { 0 };
        Self { time, stamp, frame_flags: (frame & FRAME) | flags, place: 0, extra: extra.unwrap_or(0) }
    }
    #[inline]
    pub(crate) fn frame(&self) -> u64 {
        self.frame_flags & FRAME
    }
    /// The same entry with one more flag.
    #[inline]
    pub(crate) fn flagged(mut self, flag: u64) -> Self {
        self.frame_flags |= flag;
        self
    }
    /// The same entry, of a packet of so many bytes.
    #[inline]
    pub(crate) fn long(mut self, length: u16) -> Self {
        self.frame_flags |= u64::from(length) << LENGTH_AT;
        self
    }
    /// The same entry, as it would have come had it taken less long by so many ns.
    #[inline]
    pub(crate) fn shorter(self, by: f64) -> Self {
        Self { time: self.time - by as i64, ..self }
    }
    /// The same entry, standing for so many packets of about the same delay: those that one acknowledgement covers.
    #[inline]
    pub(crate) fn covering(mut self, packets: u32) -> Self {
        self.frame_flags |= u64::from(packets.min(MOST_COVERED)) << COVERED_AT;
        self
    }
    /// How many packets it stands for.
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        ((self.frame_flags >> COVERED_AT) as u32 & MOST_COVERED).max(1)
    }
    /// Length of the delayed packet on the wire.
    #[inline]
    pub(crate) fn length(&self) -> u16 {
        (self.frame_flags >> LENGTH_AT) as u16
    }
    #[inline]
    pub(crate) fn is(&self, flag: u64) -> bool {
        self.frame_flags & flag != 0
    }
    #[inline]
    pub(crate) fn extra(&self) -> Option<u32> {
        self.is(EXTRA).then_some(self.extra)
    }
}

/// Time since the first packet, ns, and delay of a packet, and whether it went to the remote host.
pub(crate) type Sampled = ((i64, Estimate), bool);

impl Entry {
    /// Put the sample of the entry in its place, or nothing if it gave none: it takes as much room.
    #[inline]
    pub(crate) fn settle(&mut self, sampled: Option<Sampled>) {
        self.frame_flags &= FRAME;
        if let Some(((time, Estimate { delay, error }), toward)) = sampled {
            (self.time, self.stamp) = (time, delay.to_bits() as i64);
            (self.place, self.extra) = ((error.to_bits() >> 32) as u32, error.to_bits() as u32);
            self.frame_flags |= if toward { SAMPLED | TOWARD } else { SAMPLED };
        }
    }

    /// What was put in its place.
    #[inline]
    pub(crate) fn sampled(&self) -> Option<Sampled> {
        self.is(SAMPLED).then(|| {
            let (delay, error) = (self.stamp as u64, u64::from(self.place) << 32 | u64::from(self.extra));
            let estimate = Estimate { delay: f64::from_bits(delay), error: f64::from_bits(error) };
            ((self.time, estimate), self.is(TOWARD))
        })
    }
}

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
