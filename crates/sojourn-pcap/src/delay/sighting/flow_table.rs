//! The table of flows: two endpoints and a protocol, either direction first.
//!
//! Open addressing with linear probing over places of flows. Memory is bounded: when the table is full, the longest
//! idle of the next few flows under a clock hand gives way. The hash is keyed anew in each process, so that nobody can
//! prepare a capture whose flows all collide; nothing that is reported depends on it.
//!
//! Two ends of IPv4 are two words, which are compared as they are. Other addresses have digests in their place, and
//! where these are equal the whole keys are compared.

use crate::decode::Address;
use std::hash::{BuildHasher, Hasher};

/// Two endpoints, the smaller first, and the protocol number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
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
    pub(crate) fn of(source: (Address, u16), destination: (Address, u16), protocol: u8) -> (Self, usize) {
        let ((a, from), (b, to)) = (source, destination);
        if a.0 < b.0 || (a.0 == b.0 && from <= to) {
            (Self { address: [a, b], port: [from, to], protocol }, 0)
        } else {
            (Self { address: [b, a], port: [to, from], protocol }, 1)
        }
    }

    /// `sender:port>receiver:port` for the packets of one end.
    pub(crate) fn name(&self, side: usize) -> String {
        let end = |i: usize| {
            let (address, port) = (self.address[i], self.port[i]);
            if address.is_v4() { format!("{address}:{port}") } else { format!("[{address}]:{port}") }
        };
        format!("{}>{}", end(side), end(1 - side))
    }
}

/// An end of IPv4: address and port in one word, in the order of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End4(pub(crate) u64);

impl End4 {
    #[inline]
    pub(crate) fn new(address: u32, port: u16) -> Self {
        Self(u64::from(address) << 16 | u64::from(port))
    }

    fn of(address: Address, port: u16) -> Option<Self> {
        address.is_v4().then(|| Self::new(address.0 as u32, port))
    }

    fn parts(self) -> (Address, u16) {
        (Address::from(std::net::IpAddr::V4(std::net::Ipv4Addr::from_bits((self.0 >> 16) as u32))), self.0 as u16)
    }
}

/// Where the protocol stands in the second word: above address and port.
const PROTOCOL_AT: u32 = 48;
/// The words are digests.
const DIGEST: u64 = 1 << 63;

/// Where a packet's flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) place: u32,
    /// Which end of the key sent the packet.
    pub(crate) side: u8,
    /// The flow is new; another that had this place gave way.
    pub(crate) fresh: bool,
}

struct Entry {
    ends: [u64; 2],
    last_seen: i64,
    hash: u32,
}

/// A bounded map from keys to places, of at most `capacity` flows.
pub(crate) struct FlowTable {
    /// Hash in the upper half, place + 1 in the lower; 0 is empty.
    slots: Vec<u64>,
    entries: Vec<Entry>,
    keys: Vec<Key>,
    capacity: usize,
    hand: usize,
    secret: [u64; 2],
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

impl FlowTable {
    /// A table that never holds more than `capacity` flows.
    pub(crate) fn new(capacity: usize) -> Self {
        let state = std::hash::RandomState::new();
        let secret = [1u64, 2].map(|n| {
            let mut hasher = state.build_hasher();
            hasher.write_u64(n);
            hasher.finish() | 1
        });
        let (entries, keys) = (Vec::new(), Vec::new());
        Self { slots: vec![0; 1024], entries, keys, capacity: capacity.max(1), hand: 0, secret }
    }

    /// The place of a flow of IPv4, given one that is free or is made free if it is new.
    #[inline]
    pub(crate) fn find_v4(&mut self, source: End4, destination: End4, protocol: u8, now: i64) -> Found {
        let (first, second, side) =
            if source <= destination { (source, destination, 0) } else { (destination, source, 1) };
        let ends = [first.0, second.0 | u64::from(protocol) << PROTOCOL_AT];
        let hash = self.hash(ends);
        if let Some(place) = self.look_up(ends, hash, |_| true) {
            self.entries[place as usize].last_seen = now;
            return Found { place, side, fresh: false };
        }
        let key = Key::of(first.parts(), second.parts(), protocol).0;
        Found { place: self.insert(&key, Entry { ends, last_seen: now, hash }), side, fresh: true }
    }

    /// The place of a flow of any addresses, as [`Self::find_v4`].
    pub(crate) fn find(
        &mut self,
        source: (Address, u16),
        destination: (Address, u16),
        protocol: u8,
        now: i64,
    ) -> Found {
        if let (Some(source), Some(destination)) =
            (End4::of(source.0, source.1), End4::of(destination.0, destination.1))
        {
            return self.find_v4(source, destination, protocol, now);
        }
        let (key, side) = Key::of(source, destination, protocol);
        let digest = |end: usize| {
            let (address, port) = (key.address[end].0, u64::from(key.port[end]) << 8 | u64::from(protocol));
            DIGEST
                | fold((address >> 64) as u64 ^ self.secret[0], address as u64 ^ self.secret[1] ^ port.rotate_left(17))
        };
        let ends = [digest(0), digest(1)];
        let (hash, side) = (self.hash(ends), side as u8);
        if let Some(place) = self.look_up(ends, hash, |place| self.keys[place as usize] == key) {
            self.entries[place as usize].last_seen = now;
            return Found { place, side, fresh: false };
        }
        Found { place: self.insert(&key, Entry { ends, last_seen: now, hash }), side, fresh: true }
    }

    /// The key of the flow at a place.
    pub(crate) fn key(&self, place: u32) -> &Key {
        &self.keys[place as usize]
    }

    #[inline]
    fn hash(&self, ends: [u64; 2]) -> u32 {
        (fold(ends[0] ^ self.secret[0], ends[1] ^ self.secret[1]) >> 16) as u32
    }

    #[inline]
    fn look_up(&self, ends: [u64; 2], hash: u32, same: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if (slot >> 32) as u32 == hash {
                let place = slot as u32 - 1;
                if self.entries[place as usize].ends == ends && same(place) {
                    return Some(place);
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, key: &Key, entry: Entry) -> u32 {
        let (live, hash) = (self.entries.len(), entry.hash);
        let place = if live >= self.capacity {
            let place = self.longest_idle();
            self.unlink(place);
            (self.entries[place as usize], self.keys[place as usize]) = (entry, *key);
            place
        } else {
            if (live + 1) * 2 > self.slots.len() {
                self.grow();
            }
            self.entries.push(entry);
            self.keys.push(*key);
            live as u32
        };
        self.link(hash, place);
        place
    }

    fn link(&mut self, hash: u32, place: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = u64::from(hash) << 32 | u64::from(place + 1);
    }

    /// Take a flow out of the slots, closing the gap so that no probe stops early.
    fn unlink(&mut self, place: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.entries[place as usize].hash as usize & mask;
        while self.slots[at] as u32 != place + 1 {
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
        let oldest = (0..16).map(|step| (self.hand + step) % count).min_by_key(|&place| self.entries[place].last_seen);
        self.hand = (self.hand + 16) % count;
        oldest.unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_one_flow() {
        let (a, b) = ((Address(1), 80), (Address(2), 81));
        assert_eq!(Key::of(a, b, 6).0, Key::of(b, a, 6).0);
        assert_ne!(Key::of(a, b, 6).1, Key::of(b, a, 6).1);
    }

    /// Ends of either version of IP, and mixed ones.
    fn ends(n: u32) -> [(Address, u16); 2] {
        let v4 = |n: u32| Address(0xffff_0000_0000 | u128::from(n));
        match n % 3 {
            0 => [(v4(n / 7), (n % 7) as u16), (v4(5), 2)],
            1 => [(Address(u128::from(n)), 1), (Address(u128::MAX), 2)],
            _ => [(Address(u128::from(n) << 64), 1), (v4(n), 2)],
        }
    }

    #[test]
    fn holds_no_more_than_its_capacity_and_finds_what_it_holds() {
        let mut table = FlowTable::new(1000);
        let mut held = vec![u32::MAX; 1000];
        for n in 0..50_000u32 {
            let [a, b] = ends(n);
            let found = table.find(a, b, 6, i64::from(n));
            assert!(found.fresh);
            held[found.place as usize] = n;
            assert_eq!(*table.key(found.place), Key::of(a, b, 6).0);
            // One flow is always busy and never gives way.
            let [a, b] = ends(0);
            assert_eq!((table.find(a, b, 6, i64::from(n)).fresh, held[0]), (false, 0));
        }
        assert_eq!(table.entries.len(), 1000);
        for (place, n) in held.into_iter().enumerate() {
            let [a, b] = ends(n);
            for (source, destination) in [(a, b), (b, a)] {
                let side = Key::of(source, destination, 6).1 as u8;
                let found = table.find(source, destination, 6, 60_000);
                assert_eq!(found, Found { place: place as u32, side, fresh: false });
            }
        }
        let [a, b] = ends(0);
        assert!(table.find(a, b, 17, 60_000).fresh, "another protocol is another flow");
    }
}
