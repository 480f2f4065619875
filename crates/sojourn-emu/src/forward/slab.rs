//! Room for packets under way: slots of one size, handed out by number, none of them allocated one by one.

/// Slots that are made together.
const TOGETHER: usize = 1 << 10;

/// A pool of slots for packets, each with room for a header of the device in front.
pub struct Slab {
    chunks: Vec<Box<[u8]>>,
    slot: usize,
    free: Vec<u32>,
}

impl Slab {
    /// Slots of `size` bytes, so many of them for a start.
    pub fn new(size: usize, slots: usize) -> Self {
        let mut slab = Self { chunks: Vec::new(), slot: size.next_multiple_of(64), free: Vec::new() };
        while slab.free.len() < slots {
            slab.grow();
        }
        slab
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.chunks.len() * TOGETHER;
        // Written once here, so that no page is missing when a packet comes.
        self.chunks.push(vec![1; self.slot * TOGETHER].into_boxed_slice());
        self.free.extend((first..first + TOGETHER).rev().map(|number| number as u32));
    }

    /// A slot that is nobody's; more are made if none is left.
    #[inline]
    pub fn take(&mut self) -> u32 {
        loop {
            match self.free.pop() {
                Some(slot) => return slot,
                None => self.grow(),
            }
        }
    }

    /// Gives a slot back.
    #[inline]
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Slots in use.
    pub fn in_use(&self) -> usize {
        self.chunks.len() * TOGETHER - self.free.len()
    }

    /// The bytes of a slot.
    #[inline]
    pub fn bytes(&mut self, slot: u32) -> &mut [u8] {
        let (chunk, place) = (slot as usize / TOGETHER, slot as usize % TOGETHER);
        &mut self.chunks[chunk][place * self.slot..(place + 1) * self.slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_one_packets_until_it_is_given_back() {
        let mut slab = Slab::new(100, 1);
        let slots: Vec<u32> = (0..TOGETHER as u32 + 1).map(|_| slab.take()).collect();
        let mut numbers = slots.clone();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), slots.len(), "no slot twice, and more were made");
        for (byte, slot) in slots.iter().enumerate().take(200) {
            slab.bytes(*slot).fill(byte as u8);
        }
        for (byte, slot) in slots.iter().enumerate().take(200) {
            let bytes = slab.bytes(*slot);
            assert!(bytes.len() == 128 && bytes.iter().all(|b| *b == byte as u8), "a multiple of 64 bytes");
        }
        assert_eq!(slab.in_use(), slots.len());
        slab.give_back(slots[7]);
        assert_eq!((slab.take(), slab.in_use()), (slots[7], slots.len()));
    }
}
