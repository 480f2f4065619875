//! Memory for millions of small records, in blocks that never move.
//!
//! A vector that doubles copies what it holds, and fresh memory in pages of 4 KiB costs a fault for each: together a
//! fifth of the time of a long capture. Blocks stay where they are and are asked for in huge pages.

use bytemuck::Pod;
use memmap2::{Advice, MmapMut, MmapOptions};
use std::marker::PhantomData;

/// Bytes of a block: four huge pages.
const BLOCK: usize = 8 << 20;

/// Records by their places, of which only those that were asked for may be used.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    blocks: Vec<MmapMut>,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), len: 0, of: PhantomData }
    }
}

impl<T: Pod> Pages<T> {
    const EACH: usize = BLOCK / size_of::<T>();

    /// The first of `count` new places in a row, at most a block's.
    #[inline]
    pub(crate) fn extend(&mut self, count: usize) -> usize {
        if self.len % Self::EACH + count > Self::EACH {
            self.len = self.len.next_multiple_of(Self::EACH);
        }
        let at = self.len;
        self.len += count;
        if self.len > self.blocks.len() * Self::EACH {
            self.blocks.push(block());
        }
        at
    }

    /// Ask for all places up to `len`.
    pub(crate) fn reach(&mut self, len: usize) {
        self.len = len;
        while self.len > self.blocks.len() * Self::EACH {
            self.blocks.push(block());
        }
    }

    /// Write a record to a place.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, value: T) {
        let block = &mut self.blocks[at / Self::EACH];
        if let Some(place) =
            block.get_mut(at % Self::EACH * size_of::<T>()..).and_then(|rest| rest.get_mut(..size_of::<T>()))
        {
            place.copy_from_slice(bytemuck::bytes_of(&value));
        }
    }

    /// The record at a place.
    #[inline]
    pub(crate) fn one(&self, at: usize) -> &T {
        &bytemuck::cast_slice(&self.blocks[at / Self::EACH])[at % Self::EACH]
    }

    /// The records of `count` places in a row that were asked for together.
    #[inline]
    pub(crate) fn slice(&self, at: usize, count: usize) -> &[T] {
        let block: &[T] = bytemuck::cast_slice(&self.blocks[at / Self::EACH]);
        &block[at % Self::EACH..][..count]
    }

    /// Several such rows, each behind the one before.
    pub(crate) fn rows_mut(&mut self, rows: impl Iterator<Item = (usize, usize)>) -> impl Iterator<Item = &mut [T]> {
        let mut blocks = self.blocks.iter_mut().enumerate();
        let (mut rest, mut start): (&mut [T], usize) = Default::default();
        rows.map(move |(at, count)| {
            while at >= start + rest.len()
                && let Some((i, block)) = blocks.next()
            {
                (rest, start) = (bytemuck::cast_slice_mut(block), i * Self::EACH);
            }
            let (row, behind) = std::mem::take(&mut rest)[at - start..].split_at_mut(count);
            (rest, start) = (behind, at + count);
            row
        })
    }

    /// Forget all records; the memory is kept for others.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}

#[expect(clippy::expect_used, reason = "as any other allocation: without memory there is nothing to go on with")]
#[cold]
fn block() -> MmapMut {
    let block = MmapOptions::new().len(BLOCK).map_anon().expect("no memory for the log");
    // Where there are no huge pages, small ones do.
    #[cfg(target_os = "linux")]
    block.advise(Advice::HugePage).ok();
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_places_stay_together_and_come_back() {
        let mut pages = Pages::<u64>::default();
        let each = Pages::<u64>::EACH;
        let first = pages.extend(each - 3);
        let second = pages.extend(5);
        assert_eq!((first, second), (0, each), "five places do not fit what is left of the block");
        (0..5).for_each(|i| pages.set(second + i, i as u64));
        pages.extend(each);
        assert_eq!(pages.slice(second, 5), [0, 1, 2, 3, 4]);
        let rows = [(1, 2), (each - 3, 3), (second, 2), (second + 3, 1)];
        let changed: Vec<usize> = pages.rows_mut(rows.into_iter()).map(|row| (row.fill(9), row.len()).1).collect();
        assert_eq!((changed, pages.slice(second, 5)), (vec![2, 3, 2, 1], [9, 9, 2, 9, 4].as_slice()));
        assert_eq!((pages.slice(0, 4), pages.slice(each - 4, 4)), ([0, 9, 9, 0].as_slice(), [0, 9, 9, 9].as_slice()));
        pages.clear();
        assert_eq!((pages.extend(1), pages.blocks.len()), (0, 3));
    }
}
