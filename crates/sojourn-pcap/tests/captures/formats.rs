//! Both formats of captures in both byte orders, written by hand: what each frame is, and where a damaged file ends.

use sojourn_pcap::read::{Capture, Frame, ReadError};
use std::io::Cursor;

/// Time, link type, length on the wire and bytes of a frame.
type Told = (i64, u16, u32, Vec<u8>);

/// All frames, what is said of where reading ended, and whether the file was merely cut short.
fn read(file: &[u8]) -> (Vec<Told>, Option<(String, bool)>) {
    let mut capture = Capture::from_stream(Cursor::new(file.to_vec()), "memory").unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        frames.push((frame.time_ns, frame.link, frame.wire_len, frame.data.to_vec()));
    }
    // Many at a time are the same.
    let (mut again, mut together) = (Capture::from_stream(Cursor::new(file.to_vec()), "memory").unwrap(), Vec::new());
    let mut keep = |frame: &Frame<'_>| {
        together.push((frame.time_ns, frame.link, frame.wire_len, frame.data.to_vec()));
        Ok::<(), ReadError>(())
    };
    while again.frames(3, &mut keep).unwrap() {}
    assert_eq!(together, frames);
    (frames, capture.damage().first().map(|damage| (damage.sentence.clone(), damage.cut_short)))
}

#[derive(Clone, Copy)]
struct Order(bool);

impl Order {
    fn u32(self, number: u32) -> [u8; 4] {
        if self.0 { number.to_be_bytes() } else { number.to_le_bytes() }
    }
    fn u16(self, number: u16) -> [u8; 2] {
        if self.0 { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    /// The header of a pcap file; of the upper half of the link type, nothing is to be read.
    fn pcap(self, magic: u32, link: u16) -> Vec<u8> {
        let version = [self.u16(2), self.u16(4)].concat();
        let rest = [0, 0, 262_144, 0xf400_0000 | u32::from(link)].map(|word| self.u32(word)).concat();
        [&self.u32(magic)[..], &version, &rest].concat()
    }

    fn record(self, [seconds, fraction, wire_len]: [u32; 3], more: usize, data: &[u8]) -> Vec<u8> {
        let head = [seconds, fraction, data.len() as u32, wire_len].map(|word| self.u32(word)).concat();
        [&head[..], &vec![0xee; more], data].concat()
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0xdd);
        let length = self.u32(body.len() as u32 + 12);
        [&self.u32(kind)[..], &length, &body, &length].concat()
    }

    fn section(self) -> Vec<u8> {
        self.block(0x0a0d_0d0a, &[&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8]].concat())
    }

    fn interface(self, link: u16, snaplen: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [&self.u16(link)[..], &[0; 2], &self.u32(snaplen)].concat();
        for (code, value) in options {
            body.extend([self.u16(*code), self.u16(value.len() as u16)].concat());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    /// An enhanced packet, or an obsolete one (2), which has half a word of drops behind half a word of interface.
    fn packet(self, kind: u32, interface: u32, stamp: u64, wire_len: u32, data: &[u8]) -> Vec<u8> {
        let of =
            if kind == 2 { [self.u16(interface as u16), self.u16(9)].concat() } else { self.u32(interface).to_vec() };
        let rest =
            [(stamp >> 32) as u32, stamp as u32, data.len() as u32, wire_len].map(|word| self.u32(word)).concat();
        self.block(kind, &[&of[..], &rest, data].concat())
    }

    fn simple(self, wire_len: u32, data: &[u8]) -> Vec<u8> {
        self.block(3, &[&self.u32(wire_len)[..], data].concat())
    }
}

const ORDERS: [Order; 2] = [Order(false), Order(true)];

#[test]
fn a_capture_is_read_in_either_order_with_either_fraction_and_with_the_longer_header_of_old_kernels() {
    for order in ORDERS {
        for (magic, unit, more) in [(0xa1b2_c3d4, 1000, 0), (0xa1b2_3c4d, 1, 0), (0xa1b2_cd34, 1000, 8)] {
            let mut file = order.pcap(magic, 113);
            file.extend(order.record([5, 700_001, 90], more, &[1, 2, 3]));
            // Not less on the wire than was kept.
            file.extend(order.record([6, 2, 1], more, &[4; 20]));
            file.extend(order.record([u32::MAX, 0, 60], more, &[]));
            let second = 1_000_000_000i64;
            let frames = vec![
                (5 * second + 700_001 * unit, 113, 90, vec![1, 2, 3]),
                (6 * second + 2 * unit, 113, 20, vec![4; 20]),
                (i64::from(u32::MAX) * second, 113, 60, vec![]),
            ];
            assert_eq!(read(&file), (frames.clone(), None), "{magic:x}");
            // Cut inside of the last frame's header, and of the data of the one before.
            for (missing, count, what) in [
                (1, 2, format!("{} bytes into its header", 15 + more)),
                (17 + more, 1, "19 bytes into its data".to_owned()),
            ] {
                let sentence = format!("record {} of memory stops {what}; the {count} before it were read", count + 1);
                assert_eq!(read(&file[..file.len() - missing]), (frames[..count].to_vec(), Some((sentence, true))));
            }
        }
    }
}

#[test]
fn a_record_that_claims_more_than_any_frame_has_ends_a_capture() {
    for order in ORDERS {
        let file = [order.pcap(0xa1b2_c3d4, 1), order.record([1, 0, 60], 0, &[1; 60])].concat();
        let large = |kept: u32| [&file[..], &order.record([1, 0, 60], 0, &vec![2; kept as usize])].concat();
        assert_eq!((read(&large(1 << 20)).0.len(), read(&large(1 << 20)).1), (2, None));
        let sentence = "record 2 of memory claims 1048577 captured bytes, more than any frame has (1048576); the 1 before it were read";
        assert_eq!(read(&large((1 << 20) + 1)), (read(&file).0, Some((sentence.to_owned(), false))));
    }
}

/// Two interfaces: Ethernet with microseconds, and one (101) with nanoseconds of which 8 bytes are kept.
fn two_interfaces(order: Order) -> Vec<u8> {
    let clock: [(u16, &[u8]); 3] = [(1, b"odd"), (9, &[9]), (0, &[])];
    [order.section(), order.interface(1, 0, &[]), order.interface(101, 8, &clock)].concat()
}

#[test]
fn packets_of_all_kinds_are_of_their_interface_and_what_is_no_packet_is_passed_over() {
    for order in ORDERS {
        let mut file = two_interfaces(order);
        file.extend(order.packet(6, 1, 7_000_000_009, 90, &[1; 7]));
        file.extend(order.block(4, b"names of hosts"));
        file.extend(order.packet(6, 0, (1 << 32) + 5, 3, &[2; 9]));
        file.extend(order.packet(2, 1, 8_000_000_000, 60, &[3; 4]));
        // Of the first interface, at the time of the packet before.
        file.extend(order.simple(5, &[4; 5]));
        file.extend(order.block(0xbad, &[]));
        file.extend(order.simple(500, &[5; 12]));
        let micros = ((1i64 << 32) + 5) * 1000;
        let frames = vec![
            (7_000_000_009, 101, 90, vec![1; 7]),
            (micros, 1, 9, vec![2; 9]),
            (8_000_000_000, 101, 60, vec![3; 4]),
            (8_000_000_000, 1, 5, vec![4; 5]),
            (8_000_000_000, 1, 500, vec![5; 12]),
        ];
        assert_eq!(read(&file), (frames.clone(), None));
        // Another section, in the other order, has interfaces of its own.
        let other = Order(!order.0);
        let again = [other.section(), other.interface(12, 5, &[]), other.simple(90, &[6; 5])].concat();
        let (found, damage) = read(&[file.clone(), again].concat());
        assert_eq!((found.last(), damage), (Some(&(8_000_000_000, 12, 90, vec![6; 5])), None));
        let (found, damage) = read(&[file, other.section(), other.packet(6, 0, 0, 60, &[1])].concat());
        assert!(found.len() == 5 && damage.unwrap().0.contains("of an interface that was not described"));
    }
}

#[test]
fn a_packet_is_dropped_if_a_comment_of_its_own_says_so() {
    for order in ORDERS {
        let option = |code: u16, value: &[u8]| {
            let mut option = [&order.u16(code)[..], &order.u16(value.len() as u16), value].concat();
            option.resize(option.len().next_multiple_of(4), 0);
            option
        };
        let (full, end) = (option(1, b"dropped: full"), option(0, &[]));
        let cases = [
            (vec![], false),
            (full.clone(), true),
            ([option(2, &[0; 4]), option(1, b"odd"), full.clone(), end.clone()].concat(), true),
            ([end, full.clone()].concat(), false),
            (option(1, b"not dropped: full"), false),
            (option(2, b"dropped: full"), false),
            // Longer than what is there.
            (full[..12].to_vec(), false),
        ];
        for (options, dropped) in cases {
            // Options stand behind the padding.
            let data = [&[7; 8][..], &options].concat();
            let mut block = order.packet(6, 1, 9, 60, &data);
            block[20..24].copy_from_slice(&order.u32(5));
            let file = [two_interfaces(order), block].concat();
            let mut capture = Capture::from_stream(Cursor::new(file), "memory").unwrap();
            let frame = capture.next_frame().unwrap().unwrap();
            assert_eq!((frame.data, frame.dropped), (&[7; 5][..], dropped), "{options:?}");
        }
    }
}

#[test]
fn of_a_damaged_file_what_came_before_is_read_and_a_sentence_says_what_was_found() {
    for order in ORDERS {
        let good = [two_interfaces(order), order.packet(6, 1, 9, 60, &[1; 8])].concat();
        let with = |more: &[u8]| {
            let (found, damage) = read(&[&good[..], more].concat());
            assert_eq!(found.len(), 1);
            let (sentence, cut_short) = damage.unwrap();
            let what = sentence.strip_prefix("record 2 of memory ").unwrap().to_owned();
            (what.strip_suffix("; the 1 before it were read").unwrap().to_owned(), cut_short)
        };
        let length = |length: u32| [order.u32(6), order.u32(length), [0; 4], [0; 4]].concat();
        for wrong in [0, 8, 13, 34] {
            assert_eq!(with(&length(wrong)), (format!("is in a block of impossible length ({wrong} bytes)"), false));
        }
        let large = with(&length(1 << 30));
        assert_eq!(large, ("is in a block of 1073741824 bytes, more than any frame needs".to_owned(), false));
        let mut no_order = order.section();
        no_order[8] ^= 1;
        assert_eq!(with(&no_order), ("is a section without a byte order".to_owned(), false));
        let short = "is in a block that is too short for it, or of an interface that was not described";
        let mut claims_more = order.packet(6, 1, 9, 60, &[1; 8]);
        claims_more[20..24].copy_from_slice(&order.u32(9));
        for block in [order.packet(6, 2, 9, 60, &[1]), order.block(6, &[0; 16]), order.block(3, &[]), claims_more] {
            assert_eq!(with(&block), (short.to_owned(), false));
        }
        let options: [(u16, &[u8]); 1] = [(9, &[20])];
        for interface in [order.interface(1, 0, &options), order.block(1, &[0; 4])] {
            assert_eq!(with(&interface), ("follows an interface description that is damaged".to_owned(), false));
        }
        let packet = order.packet(6, 1, 9, 60, &[1; 8]);
        assert_eq!(
            with(&packet[..packet.len() - 1]),
            (format!("stops {} bytes into its block", packet.len() - 1), true)
        );
        assert_eq!(with(&packet[..5]), ("stops 5 bytes into its block".to_owned(), true));
        let names = order.block(4, &[0; 40]);
        assert_eq!(with(&names[..30]), ("stops in a block".to_owned(), true));
    }
}
