//! Which line a flow waits in.
//!
//! A flow's number goes through a salted 32-bit finaliser (MurmurHash3's) and is scaled to the number of lines; the salt
//! is drawn from the queue's random stream, so that replications differ in who collides with whom. `Hash::Plain` takes
//! the number itself, modulo the lines. With more than one way, lines come in sets of that size (as in CAKE, and as in
//! ns-3's FQ-CoDel whose order of search this is): a flow keeps the line of its set that it has, or takes the first one
//! that is idle; where all are taken by others it joins the first of the set. A flow that had to share may be
//! reordered when it finds a line of its own later, as in both.

use rand::Rng;

/// How a flow's number becomes a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hash {
    /// Mixed with a salt that the queue's random stream gives.
    #[default]
    Salted,
    /// The number itself.
    Plain,
}

/// Nobody's line.
const FREE: u64 = u64::MAX;

pub(super) struct Spread {
    lines: u32,
    ways: u32,
    hash: Hash,
    salt: Option<u32>,
    /// The flow that each line belongs to, where there are ways.
    owners: Vec<u64>,
}

impl Spread {
    /// So many lines, in sets of `ways`; a last set may be smaller.
    pub(super) fn new(lines: u32, ways: u32, hash: Hash) -> Self {
        let (lines, ways) = (lines.max(1), ways.max(1));
        let owners = if ways > 1 { vec![FREE; lines as usize] } else { Vec::new() };
        Self { lines, ways, hash, salt: None, owners }
    }

    /// The line for a packet of this flow; `is_active` tells of a line whether it is taken.
    #[inline]
    pub(super) fn line(&mut self, flow: u32, rng: &mut dyn Rng, is_active: impl Fn(u32) -> bool) -> u32 {
        let salt = match self.salt {
            Some(salt) => salt,
            None => *self.salt.insert(if self.hash == Hash::Plain { 0 } else { rng.next_u32() }),
        };
        let line = self.hashed(flow, salt);
        if self.ways == 1 { line } else { self.in_set(line, flow, is_active) }
    }

    fn in_set(&mut self, line: u32, flow: u32, is_active: impl Fn(u32) -> bool) -> u32 {
        let set = self.set(line);
        let first = set.start;
        let own = set.clone().find(|line| self.owners[*line as usize] == u64::from(flow) && is_active(*line));
        let line = own.or_else(|| set.clone().find(|line| !is_active(*line))).unwrap_or(first);
        self.owners[line as usize] = u64::from(flow);
        line
    }

    fn set(&self, line: u32) -> std::ops::Range<u32> {
        let first = line - line % self.ways;
        first..(first + self.ways).min(self.lines)
    }

    #[inline]
    fn hashed(&self, flow: u32, salt: u32) -> u32 {
        if self.hash == Hash::Plain {
            return flow % self.lines;
        }
        let mut hash = flow ^ salt;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * u64::from(self.lines)) >> 32) as u32
    }

    /// The line that a flow has or would have, as far as that is known before a packet of it arrives.
    pub(super) fn known(&self, flow: u32) -> Option<u32> {
        if self.lines == 1 {
            return Some(0);
        }
        let salt = if self.hash == Hash::Plain { 0 } else { self.salt? };
        let line = self.hashed(flow, salt);
        if self.ways == 1 {
            return Some(line);
        }
        self.set(line).find(|line| self.owners[*line as usize] == u64::from(flow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::cell::RefCell;

    #[test]
    fn a_set_gives_each_flow_a_line_of_its_own_while_it_can() {
        // ns-3's test of its set-associative hash.
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut spread = Spread::new(1024, 8, Hash::Plain);
        let sizes = RefCell::new(vec![0; 1024]);
        let mut arrive = |flow| {
            let line = spread.line(flow, &mut rng, |line| sizes.borrow()[line as usize] > 0);
            sizes.borrow_mut()[line as usize] += 1;
        };
        [0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 1024].into_iter().for_each(&mut arrive);
        assert_eq!(sizes.borrow()[..8], [2, 2, 1, 1, 2, 1, 1, 1]);
        arrive(1025);
        assert_eq!(sizes.borrow()[0], 3);
        arrive(10);
        assert_eq!(sizes.borrow()[8], 1);
    }

    #[test]
    fn flows_in_sequence_are_spread_evenly() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut spread = Spread::new(64, 1, Hash::Salted);
        let mut counts = [0u32; 64];
        (0..64_000).for_each(|flow| counts[spread.line(flow, &mut rng, |_| false) as usize] += 1);
        // 1000 each with a standard deviation of 31.
        assert!(counts.iter().all(|count| (875..1125).contains(count)), "{counts:?}");
    }
}
