//! The table of flows: two endpoints and a protocol, either direction first.
//!
//! Open addressing with linear probing over indices into a slab. Memory is bounded: when the table is full, the
//! longest idle of the next few flows under a clock hand gives way. The hash is keyed anew in each process, so that
//! nobody can prepare a capture whose flows all collide; nothing that is reported depends on it.

use crate::decode::Address;
use std::hash::{BuildHasher, Hasher};

/// A packet of a flow as it was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) key: &'a Key,
    /// Which end of the key sent it.
    pub(crate) side: usize,
    /// Its hop limit.
    pub(crate) ttl: u8,
    /// Frame number.
    pub(crate) frame: u64,
    /// Capture time since the first packet, ns.
    pub(crate) time: i64,
    /// Length on the wire, as far as 16 bits tell it.
    pub(crate) length: u16,
}

/// Two endpoints, the smaller first, and the protocol number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Addresses of the two ends.
    pub address: [Address; 2],
    /// Ports of the two ends.
    pub port: [u16; 2],
    /// 6 or 17.
    pub protocol: u8,
}

impl Key {
    /// The key of a packet, and which of its ends sent it (0 or 1).
    #[inline]
    pub fn of(source: (Address, u16), destination: (Address, u16), protocol: u8) -> (Self, usize) {
        let ((a, from), (b, to)) = (source, destination);
        if a.0 < b.0 || (a.0 == b.0 && from <= to) {
            (Self { address: [a, b], port: [from, to], protocol }, 0)
        } else {
            (Self { address: [b, a], port: [to, from], protocol }, 1)
        }
    }

    /// Equality without a branch for each field.
    #[inline]
    fn same(&self, other: &Self) -> bool {
        let differ = (self.address[0].0 ^ other.address[0].0) | (self.address[1].0 ^ other.address[1].0);
        let ports = (self.port[0] ^ other.port[0]) | (self.port[1] ^ other.port[1]);
        differ == 0 && ports == 0 && self.protocol == other.protocol
    }

    /// `sender:port>receiver:port` for the packets of one end.
    pub fn name(&self, side: usize) -> String {
        let end = |i: usize| {
            let (address, port) = (self.address[i], self.port[i]);
            if address.is_v4() { format!("{address}:{port}") } else { format!("[{address}]:{port}") }
        };
        format!("{}>{}", end(side), end(1 - side))
    }
}

struct Entry<T> {
    key: Key,
    hash: u32,
    last_seen: i64,
    value: T,
}

/// A bounded map from keys to values of at most `capacity` flows.
pub struct Table<T> {
    /// Hash in the upper half, index + 1 in the lower; 0 is empty.
    slots: Vec<u64>,
    entries: Vec<Entry<T>>,
    capacity: usize,
    hand: usize,
    secret: [u64; 2],
}

impl<T> Table<T> {
    /// A table that never holds more than `capacity` flows.
    pub fn new(capacity: usize) -> Self {
        let state = std::hash::RandomState::new();
        let secret = [1u64, 2].map(|n| {
            let mut hasher = state.build_hasher();
            hasher.write_u64(n);
            hasher.finish() | 1
        });
        let capacity = capacity.max(1);
        Self { slots: vec![0; 1024], entries: Vec::new(), capacity, hand: 0, secret }
    }

    #[inline]
    fn hash(&self, key: &Key) -> u32 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            (product as u64) ^ (product >> 64) as u64
        };
        let (a, b) = (key.address[0].0, key.address[1].0);
        let ports = u64::from(key.port[0]) << 32 | u64::from(key.port[1]) << 8 | u64::from(key.protocol);
        let high = fold((a >> 64) as u64 ^ self.secret[0], (b >> 64) as u64 ^ self.secret[1] ^ ports);
        let low = fold(a as u64 ^ self.secret[1], b as u64 ^ self.secret[0] ^ ports.rotate_left(17));
        (fold(high ^ self.secret[0], low ^ self.secret[1]) >> 16) as u32
    }

    /// The flow of a key, made by `make` if it is new; `evicted` is told of a flow that had to give way.
    #[inline]
    pub fn find_or_insert(
        &mut self,
        key: &Key,
        now: i64,
        make: impl FnOnce() -> T,
        evicted: impl FnOnce(&Key, T),
    ) -> (u32, bool) {
        let hash = self.hash(key);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            if (self.slots[at] >> 32) as u32 == hash {
                let index = self.slots[at] as u32 - 1;
                let entry = &mut self.entries[index as usize];
                if entry.key.same(key) {
                    entry.last_seen = now;
                    return (index, false);
                }
            }
            at = (at + 1) & mask;
        }
        (self.insert(key, hash, now, make(), evicted), true)
    }

    fn insert(&mut self, key: &Key, hash: u32, now: i64, value: T, evicted: impl FnOnce(&Key, T)) -> u32 {
        let entry = Entry { key: *key, hash, last_seen: now, value };
        let live = self.entries.len();
        let index = if live >= self.capacity {
            let index = self.longest_idle();
            self.unlink(index);
            let old = std::mem::replace(&mut self.entries[index as usize], entry);
            evicted(&old.key, old.value);
            index
        } else {
            if (live + 1) * 2 > self.slots.len() {
                self.grow();
            }
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        self.link(hash, index);
        index
    }

    fn link(&mut self, hash: u32, index: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = u64::from(hash) << 32 | u64::from(index + 1);
    }

    /// Take a flow out of the slots, closing the gap so that no probe stops early.
    fn unlink(&mut self, index: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.entries[index as usize].hash as usize & mask;
        while self.slots[at] as u32 != index + 1 {
            at = (at + 1) & mask;
        }
        let mut gap = at;
        loop {
            at = (at + 1) & mask;
            if self.slots[at] == 0 {
                break;
            }
            let home = (self.slots[at] >> 32) as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
        }
        self.slots[gap] = 0;
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![0; old.len() * 2];
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            self.link((slot >> 32) as u32, slot as u32 - 1);
        }
    }

    fn longest_idle(&mut self) -> u32 {
        let count = self.entries.len();
        let oldest = (0..16).map(|step| (self.hand + step) % count).min_by_key(|&index| self.entries[index].last_seen);
        self.hand = (self.hand + 16) % count;
        oldest.unwrap_or(0) as u32
    }

    /// The value of a flow.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize].value
    }

    /// All flows, in the order of their places.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut T)> {
        self.entries.iter_mut().map(|entry| (&entry.key, &mut entry.value))
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::of((Address(u128::from(n)), 1), (Address(u128::MAX), 2), 6).0
    }

    #[test]
    fn both_directions_are_one_flow() {
        let (a, b) = ((Address(1), 80), (Address(2), 81));
        assert_eq!(Key::of(a, b, 6).0, Key::of(b, a, 6).0);
        assert_ne!(Key::of(a, b, 6).1, Key::of(b, a, 6).1);
    }

    #[test]
    fn holds_no_more_than_its_capacity_and_finds_what_it_holds() {
        let mut table = Table::new(1000);
        let mut evicted = 0;
        for n in 0..50_000u32 {
            let (_, fresh) = table.find_or_insert(&key(n), i64::from(n), || n, |_, _| evicted += 1);
            assert!(fresh);
            // One flow is always busy and never gives way.
            table.find_or_insert(&key(0), i64::from(n), || panic!("the busy flow was evicted"), |_, _| {});
        }
        assert_eq!(table.len(), 1000);
        assert_eq!(evicted, 49_000);
        let held: Vec<Key> = table.iter_mut().map(|(key, _)| *key).collect();
        for key in held {
            let (index, fresh) = table.find_or_insert(&key, 60_000, || 0, |_, _| {});
            assert!(!fresh);
            assert_eq!(u128::from(*table.get_mut(index)), key.address[0].0);
        }
    }
}
