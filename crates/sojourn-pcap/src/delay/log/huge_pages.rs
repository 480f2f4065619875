//! Memory for millions of small records, in blocks that never move.
//!
//! A vector that doubles copies what it holds, and fresh memory in pages of 4 KiB costs a fault for each: together a
//! fifth of the time of a long capture. Blocks stay where they are and are asked for in huge pages.

use crate::delay::prefetch;
use bytemuck::Pod;
use memmap2::{Advice, MmapMut, MmapOptions};
use std::marker::PhantomData;

/// Bytes of a block, and of pages.
const BLOCK: usize = 4 * HUGE_PAGE;
const HUGE_PAGE: usize = 2 << 20;
const PAGE: usize = 4 << 10;
/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Memory of one block.
#[derive(Debug)]
pub(crate) struct Block {
    memory: MmapMut,
    /// So many bytes are there; the system gives the rest page by page, as each is written to first.
    there: usize,
}

impl Block {
    #[expect(clippy::expect_used, reason = "as any other allocation: without memory there is nothing to go on with")]
    pub(crate) fn new() -> Self {
        let memory = MmapOptions::new().len(BLOCK).map_anon().expect("no memory for the log");
        // Where there are no huge pages, small ones do.
        #[cfg(target_os = "linux")]
        memory.advise(Advice::HugePage).ok();
        Self { memory, there: 0 }
    }

    /// Have the system give one huge page more. True if all are there.
    pub(crate) fn touch(&mut self) -> bool {
        let page = self.memory[self.there..].iter_mut().take(HUGE_PAGE);
        page.step_by(PAGE).for_each(|byte| *byte = 0);
        self.there = BLOCK.min(self.there + HUGE_PAGE);
        self.there == BLOCK
    }
}

/// Records by their places, of which only those that were asked for may be used.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    blocks: Vec<Block>,
    /// The next block, if somebody has made it.
    pub(crate) spare: Option<Block>,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), spare: None, len: 0, of: PhantomData }
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
            self.grow();
        }
        at
    }

    /// Ask for all places up to `len`.
    pub(crate) fn reach(&mut self, len: usize) {
        self.len = len;
        while self.len > self.blocks.len() * Self::EACH {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.blocks.push(self.spare.take().unwrap_or_else(Block::new));
    }

    /// Write a record to a place.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, value: T) {
        let block = &mut self.blocks[at / Self::EACH].memory;
        if let Some(place) =
            block.get_mut(at % Self::EACH * size_of::<T>()..).and_then(|rest| rest.get_mut(..size_of::<T>()))
        {
            place.copy_from_slice(bytemuck::bytes_of(&value));
            // Who writes here writes behind it next, after many others.
            if let Some(first) = place.first() {
                prefetch::behind(first, LINE);
            }
        }
    }

    /// The record at a place.
    #[inline]
    pub(crate) fn one(&self, at: usize) -> &T {
        &bytemuck::cast_slice(&self.blocks[at / Self::EACH].memory)[at % Self::EACH]
    }

    /// The records of `count` places in a row that were asked for together.
    #[inline]
    pub(crate) fn slice(&self, at: usize, count: usize) -> &[T] {
        let block: &[T] = bytemuck::cast_slice(&self.blocks[at / Self::EACH].memory);
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
                (rest, start) = (bytemuck::cast_slice_mut(&mut block.memory), i * Self::EACH);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_somebody_has_made_is_the_next() {
        let mut pages = Pages::<u64> { spare: Some(Block::new()), ..Pages::default() };
        let made = pages.spare.as_ref().unwrap().memory.as_ptr();
        pages.extend(1);
        assert_eq!((pages.blocks[0].memory.as_ptr(), pages.spare.is_none()), (made, true));
        pages.spare = Some(Block::new());
        pages.extend(Pages::<u64>::EACH);
        assert_eq!((pages.blocks.len(), pages.spare.is_none()), (2, true));
        pages.spare = Some(Block::new());
        pages.extend(1);
        assert_eq!(pages.blocks.len(), 3);
        pages.clear();
        pages.reach(3 * Pages::<u64>::EACH);
        assert!(pages.spare.is_none());
        let mut block = Block::new();
        assert_eq!([0; 5].map(|_| block.touch()), [false, false, false, true, true]);
    }

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
