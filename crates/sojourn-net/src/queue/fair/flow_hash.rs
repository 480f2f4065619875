//! Which queue a flow waits in.
//!
//! A flow's number goes through a salted 32-bit finaliser (MurmurHash3's) and is scaled to the number of queues; the
//! salt is drawn from the queue's random stream, so that replications differ in who collides with whom. `Hash::Plain`
//! takes the number itself, modulo the queues. With more than one way, queues come in sets of that size (as in CAKE,
//! and as in ns-3's FQ-CoDel whose order of search this is): a flow keeps the queue of its set that it has, or takes
//! the first one that is idle; where all are taken by others it joins the first of the set. A flow that had to share
//! may be reordered when it finds a queue of its own later, as in both.

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How flows are spread over lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "HashSpec")]
pub enum Hash {
    /// By a well mixed hash with a salt of each replication's own.
    #[default]
    Salted,
    /// By the flow's number modulo the lines: to say in a replay who shares a line with whom.
    Plain,
}

/// Nobody's queue.
const FREE: u64 = u64::MAX;

pub(in crate::queue) struct FlowHash {
    queues: u32,
    ways: u32,
    kind: Hash,
    salt: Option<u32>,
    /// The flow that each queue belongs to, where there are ways.
    owners: Vec<u64>,
}

impl FlowHash {
    /// So many queues, in sets of `ways`; a last set may be smaller.
    pub(in crate::queue) fn new(queues: u32, ways: u32, kind: Hash) -> Self {
        let (queues, ways) = (queues.max(1), ways.max(1));
        let owners = if ways > 1 { vec![FREE; queues as usize] } else { Vec::new() };
        Self { queues, ways, kind, salt: None, owners }
    }

    /// The queue for a packet of this flow; `is_active` tells of a queue whether it is taken.
    #[inline]
    pub(in crate::queue) fn queue_for(&mut self, flow: u32, rng: &mut dyn Rng, is_active: impl Fn(u32) -> bool) -> u32 {
        let salt = match self.salt {
            Some(salt) => salt,
            None => *self.salt.insert(if self.kind == Hash::Plain { 0 } else { rng.next_u32() }),
        };
        let queue = self.hashed(flow, salt);
        if self.ways == 1 { queue } else { self.in_set(queue, flow, is_active) }
    }

    fn in_set(&mut self, queue: u32, flow: u32, is_active: impl Fn(u32) -> bool) -> u32 {
        let set = self.set(queue);
        let first = set.start;
        let own = set.clone().find(|queue| self.owners[*queue as usize] == u64::from(flow) && is_active(*queue));
        let queue = own.or_else(|| set.clone().find(|queue| !is_active(*queue))).unwrap_or(first);
        self.owners[queue as usize] = u64::from(flow);
        queue
    }

    fn set(&self, queue: u32) -> std::ops::Range<u32> {
        let first = queue - queue % self.ways;
        first..(first + self.ways).min(self.queues)
    }

    #[inline]
    fn hashed(&self, flow: u32, salt: u32) -> u32 {
        if self.kind == Hash::Plain {
            return flow % self.queues;
        }
        let mut hash = flow ^ salt;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * u64::from(self.queues)) >> 32) as u32
    }

    /// The queue that a flow has or would have, as far as that is known before a packet of it arrives.
    pub(in crate::queue) fn known_queue(&self, flow: u32) -> Option<u32> {
        if self.queues == 1 {
            return Some(0);
        }
        let salt = if self.kind == Hash::Plain { 0 } else { self.salt? };
        let queue = self.hashed(flow, salt);
        if self.ways == 1 {
            return Some(queue);
        }
        self.set(queue).find(|queue| self.owners[*queue as usize] == u64::from(flow))
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
        let mut hash = FlowHash::new(1024, 8, Hash::Plain);
        let sizes = RefCell::new(vec![0; 1024]);
        let mut arrive = |flow| {
            let queue = hash.queue_for(flow, &mut rng, |queue| sizes.borrow()[queue as usize] > 0);
            sizes.borrow_mut()[queue as usize] += 1;
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
        let mut hash = FlowHash::new(64, 1, Hash::Salted);
        let mut counts = [0u32; 64];
        (0..64_000).for_each(|flow| counts[hash.queue_for(flow, &mut rng, |_| false) as usize] += 1);
        // 1000 each with a standard deviation of 31.
        assert!(counts.iter().all(|count| (875..1125).contains(count)), "{counts:?}");
    }
}
