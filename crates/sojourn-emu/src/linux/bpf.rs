//! When a packet was handed to a TUN interface by its sender: a BPF program that writes the time down.
//!
//! The program is called for each packet that the kernel puts into the interface's ring (`TUNSETFILTEREBPF`), lets it
//! pass whole, and puts the time of `CLOCK_MONOTONIC` and the packet's length into the next place of a table that this
//! process sees. Packets are read in the order in which they were put in, so the k-th that is read has the k-th stamp;
//! lengths are compared, so that a packet that was dropped in between is noticed.

use crate::device::Stamps;
use memmap2::{MmapOptions, MmapRaw};
use sojourn_net::Time;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stamps that are kept: more than an interface's ring has packets.
const PLACES: u32 = 1 << 16;
/// Packets after which one that was dropped between stamp and ring is no longer looked for.
const FAR: u64 = 1024;

const MAP_CREATE: i64 = 0;
const PROG_LOAD: i64 = 5;
const ARRAY: u32 = 2;
const MMAPABLE: u32 = 1 << 10;
const SOCKET_FILTER: u32 = 1;
/// `_IOR('T', 225, int)`.
const TUNSETFILTEREBPF: libc::Ioctl = 0x8004_54e1_u32 as libc::Ioctl;

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key: u32,
    value: u32,
    places: u32,
    flags: u32,
    rest: [u32; 11],
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    rest: [u64; 6],
}

/// One instruction: operation, registers (source in the upper half), offset, immediate value.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction(u8, u8, i16, i32);

fn bpf<T>(command: i64, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attributes are a plain structure of the length that is said.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn table(value: u32, places: u32, flags: u32) -> io::Result<OwnedFd> {
    bpf(MAP_CREATE, &MapCreate { kind: ARRAY, key: 4, value, places, flags, ..MapCreate::default() })
}

/// The program.
fn program(counter: i32, stamps: i32) -> Vec<Instruction> {
    const STACK: u8 = 10;
    let i = |code, to: u8, from: u8, offset, value| Instruction(code, from << 4 | to, offset, value);
    let key_in_r2 = [i(0xbf, 2, STACK, 0, 0), i(0x07, 2, 0, 0, -4)];
    let load = |map| [i(0x18, 1, 1, 0, map), i(0, 0, 0, 0, 0)];
    let lookup = i(0x85, 0, 0, 0, 1);
    let mut all = vec![i(0xbf, 6, 1, 0, 0), i(0x62, STACK, 0, -4, 0)];
    all.extend(key_in_r2);
    all.extend(load(counter));
    // Without the counter, out.
    all.extend([lookup, i(0x15, 0, 0, 15, 0)]);
    // r1 = counter, counter += 1; the place is r1 modulo the places.
    all.extend([
        i(0xb7, 1, 0, 0, 1),
        i(0xdb, 0, 1, 0, 1),
        i(0x57, 1, 0, 0, PLACES as i32 - 1),
        i(0x63, STACK, 1, -4, 0),
    ]);
    all.extend(key_in_r2);
    all.extend(load(stamps));
    all.extend([lookup, i(0x15, 0, 0, 5, 0)]);
    // r9 = the place; [r9] = time, [r9 + 8] = length.
    all.extend([i(0xbf, 9, 0, 0, 0), i(0x85, 0, 0, 0, 5), i(0x7b, 9, 0, 0, 0)]);
    all.extend([i(0x61, 1, 6, 0, 0), i(0x7b, 9, 1, 8, 0)]);
    // Out: the whole packet passes.
    all.extend([i(0x61, 0, 6, 0, 0), i(0x95, 0, 0, 0, 0)]);
    all
}

/// The stamps of one interface.
pub struct KernelStamps {
    places: MmapRaw,
    read: u64,
    missed: u64,
    epoch: Arc<AtomicU64>,
    /// This process's clock less the one of the stamps, modulo 2^64.
    ahead: u64,
    _table: OwnedFd,
}

const BYTES: usize = PLACES as usize * 16;

impl KernelStamps {
    /// Puts the program into an interface that is not up yet: from its first packet on there is a stamp for each.
    /// `epoch`: what the clock showed at time zero.
    ///
    /// # Errors
    /// The kernel does not allow it, or cannot.
    pub fn attach(tun: BorrowedFd<'_>, epoch: Arc<AtomicU64>) -> io::Result<Self> {
        let counter = table(8, 1, 0)?;
        let stamps = table(16, PLACES, MMAPABLE)?;
        let instructions = program(counter.as_raw_fd(), stamps.as_raw_fd());
        let program = bpf(
            PROG_LOAD,
            &ProgLoad {
                kind: SOCKET_FILTER,
                count: instructions.len() as u32,
                instructions: instructions.as_ptr() as u64,
                licence: c"Dual MIT/GPL".as_ptr() as u64,
                ..ProgLoad::default()
            },
        )?;
        let fd: libc::c_int = program.as_raw_fd();
        // SAFETY: the request takes a pointer to a descriptor.
        if unsafe { libc::ioctl(tun.as_raw_fd(), TUNSETFILTEREBPF, &fd) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let places = MmapOptions::new().len(BYTES).map_raw_read_only(&stamps)?;
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        Ok(Self { places, read: 0, missed: 0, epoch, ahead: ahead(&offsets), _table: stamps })
    }

    fn place(&self, number: u64) -> (u64, u64) {
        let at = (number % u64::from(PLACES)) as usize * 2;
        let places: *const u64 = self.places.as_ptr().cast();
        // SAFETY: the place is inside the mapping; the kernel wrote it before the packet could be read.
        unsafe { (places.add(at).read_volatile(), places.add(at + 1).read_volatile()) }
    }
}

/// How far `CLOCK_MONOTONIC` is ahead of the machine's here, in nanoseconds modulo 2^64: in a time namespace it may be
/// any time, and programs of the kernel are told the machine's. `offsets` is the file of that name, empty if there is
/// none.
fn ahead(offsets: &str) -> u64 {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let seconds: i64 = words.next().filter(|clock| *clock == "monotonic").and(words.next())?.parse().ok()?;
        let nanoseconds: i64 = words.next()?.parse().ok()?;
        Some(seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds) as u64)
    };
    offsets.lines().find_map(of).unwrap_or(0)
}

impl Stamps for KernelStamps {
    fn next(&mut self, length: usize) -> Option<Time> {
        let found = (self.read..self.read + FAR).find(|number| self.place(*number).1 == length as u64);
        let Some(number) = found else {
            self.missed += 1;
            self.read += 1;
            return None;
        };
        self.missed += number - self.read;
        self.read = number + 1;
        let at = self.place(number).0.wrapping_add(self.ahead);
        Some(Time(at.saturating_sub(self.epoch.load(Ordering::Relaxed))))
    }

    fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps of packets of these lengths from the place `first` on, in memory of this process: the k-th at k ms.
    fn stamps(first: u64, lengths: &[u64]) -> KernelStamps {
        let mut places = MmapOptions::new().len(BYTES).map_anon().unwrap();
        for (k, length) in (0u64..).zip(lengths) {
            let place = ((first + k) % u64::from(PLACES)) as usize * 16;
            places[place..place + 8].copy_from_slice(&(1_000_000 * k + 500).to_ne_bytes());
            places[place + 8..place + 16].copy_from_slice(&length.to_ne_bytes());
        }
        let table = std::fs::File::open("/dev/null").unwrap().into();
        let epoch = Arc::new(AtomicU64::new(500));
        KernelStamps { places: places.into(), read: first, missed: 0, epoch, ahead: 0, _table: table }
    }

    #[test]
    fn packets_that_were_dropped_behind_their_stamps_are_skipped_and_counted() {
        for first in [0, u64::from(PLACES) - 3] {
            let mut stamps = stamps(first, &[100, 200, 300, 100, 400, 500]);
            let mut next = |length| (stamps.next(length).map(|at| at.0), stamps.missed());
            assert_eq!(next(100), (Some(0), 0));
            assert_eq!(next(300), (Some(2_000_000), 1));
            assert_eq!(next(400), (Some(4_000_000), 2), "one more, that of 100");
            // A packet without a stamp takes the next place with it.
            assert_eq!((next(999), next(500)), ((None, 3), (None, 4)));
        }
    }

    #[test]
    fn stamps_are_by_the_clock_of_this_process_whatever_time_its_namespace_has() {
        let offsets = "monotonic           864000         5\nboottime            7         0\n";
        assert_eq!([offsets, "", "boottime 7 0\n", "monotonic"].map(ahead), [864_000_000_000_005, 0, 0, 0]);
        for (offsets, epoch) in [(offsets, 864_000_000_000_505), ("monotonic -1 999999900\n", 400)] {
            let mut stamps = stamps(0, &[100, 200]);
            (stamps.ahead, stamps.epoch) = (ahead(offsets), Arc::new(AtomicU64::new(epoch)));
            assert_eq!([stamps.next(100), stamps.next(200)], [Some(Time(0)), Some(Time(1_000_000))]);
        }
    }

    #[test]
    fn a_stamp_is_looked_for_so_far_and_no_further() {
        let mut lengths = vec![1; FAR as usize + 1];
        lengths[FAR as usize - 1] = 7;
        lengths[FAR as usize] = 8;
        assert_eq!(stamps(0, &lengths).next(8), None);
        let mut near = stamps(0, &lengths);
        assert_eq!(near.next(7), Some(Time(1_000_000 * (FAR - 1))));
        assert_eq!((near.missed(), near.next(8)), (FAR - 1, Some(Time(1_000_000 * FAR))));
    }
}
