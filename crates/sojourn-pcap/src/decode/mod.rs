//! From the bytes of a frame to what the estimators need of it. Nothing here allocates; bytes that were cut off by the
//! snap length are not an error as long as the headers are there.
//!
//! The common way is inlined into one function: handing packets up from layer to layer costs as much as reading them.

mod address;
mod bytes;
pub(crate) mod glance;
mod ip;
pub(crate) mod link;
mod packet;
pub mod quic;
mod skip;
pub mod tcp;
pub mod utp;

pub use address::Address;
pub use link::NAMES as LINK_TYPES;
pub use packet::{Packet, Transport};
pub use skip::Skip;

/// Decode a frame of a link type. `wire_len` is its length before it was cut.
///
/// # Errors
/// The reason why it is of no use.
#[inline(always)]
pub fn decode(link: u16, data: &[u8], wire_len: u32) -> Result<Packet<'_>, Skip> {
    let (kind, at) = link::network(link, data)?;
    let rest = &data[at..];
    let wire_len = wire_len.saturating_sub(at as u32);
    match kind {
        link::Network::V4 => ip::v4(rest, wire_len),
        link::Network::V6 => ip::v6(rest, wire_len),
        link::Network::ByVersion => match rest.first().ok_or(Skip::CutShort)? >> 4 {
            4 => ip::v4(rest, wire_len),
            6 => ip::v6(rest, wire_len),
            _ => Err(Skip::NotIp),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram with 5 bytes of payload, and behind it what Ethernet pads with.
    const UDP: [u8; 16] = [0x12, 0x34, 0x56, 0x78, 0, 13, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0];
    /// Bytes of it on the wire, without the padding.
    const DATAGRAM: u16 = 13;

    /// An IPv4 header: its words, the packet's length, identification, fragment field and protocol.
    fn v4(words: u8, total: u16, id: u16, fragment: u16, protocol: u8) -> Vec<u8> {
        let mut header = vec![0x40 | words, 0];
        for field in [total, id, fragment] {
            header.extend(field.to_be_bytes());
        }
        header.extend([61, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9]);
        header.resize(usize::from(words) * 4, 7);
        header
    }

    /// An IPv6 header with what its extensions and the rest have.
    fn v6(length: u16, kind: u8) -> Vec<u8> {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(length.to_be_bytes());
        header.extend([kind, 62]);
        header.extend((1..=32).map(|n| if n % 16 == 1 { 0x20 } else { n }));
        header
    }

    /// What is read: addresses, hop limit, identification, ports and the length of the payload.
    fn read(link: u16, data: &[u8], wire_len: u32) -> Result<(String, u8, u16, [u16; 2], u32), Skip> {
        let found = decode(link, data, wire_len)?;
        let length = match found.transport {
            Transport::Tcp(segment) => segment.payload,
            Transport::Udp { payload, length } => {
                assert_eq!(payload, &[1, 2, 3, 4, 5, 0, 0, 0][..payload.len()], "what was captured of the payload");
                assert!(payload.len() as u32 <= length);
                length
            }
        };
        Ok((format!("{} {}", found.source, found.destination), found.ttl, found.id, found.ports, length))
    }

    fn read_all(link: u16, parts: &[&[u8]]) -> Result<(String, u8, u16, [u16; 2], u32), Skip> {
        let data = parts.concat();
        read(link, &data, data.len() as u32)
    }

    const PORTS: [u16; 2] = [0x1234, 0x5678];

    fn of_v4(id: u16, length: u32) -> Result<(String, u8, u16, [u16; 2], u32), Skip> {
        Ok(("10.0.0.1 192.0.2.9".to_owned(), 61, id, PORTS, length))
    }

    #[test]
    fn the_packet_is_found_behind_every_link_layer() {
        let mac = [0; 12];
        let tags = |kinds: &[[u8; 2]]| kinds.iter().flat_map(|kind| [kind[0], kind[1], 0, 9]).collect::<Vec<u8>>();
        let (q, ad, old) = ([0x81, 0], [0x88, 0xa8], [0x91, 0]);
        let label = |last: u8| [0, 0, 0x10 | last, 60];
        let ethernet = |behind: &[u8]| [&mac[..], behind].concat();
        let session = [0x11, 0, 0, 5, 0, 60];
        let found: Vec<(u16, Vec<u8>)> = vec![
            (1, ethernet(&[8, 0])),
            (1, ethernet(&[&tags(&[q])[..], &[8, 0]].concat())),
            (1, ethernet(&[&tags(&[ad, q, old, [0x92, 0]])[..], &[8, 0]].concat())),
            (1, ethernet(&[&[0x88, 0x47], &label(1)[..]].concat())),
            (1, ethernet(&[&[0x88, 0x48][..], &label(0), &label(0), &label(1)].concat())),
            (1, ethernet(&[&[0x88, 0x47][..], &label(0).repeat(7), &label(1)].concat())),
            (1, ethernet(&[&[0x88, 0x64][..], &session, &[0, 0x21]].concat())),
            (1, ethernet(&[&tags(&[q])[..], &[0x88, 0x64], &session, &[0, 0x21]].concat())),
            (113, [&[0; 14][..], &[8, 0]].concat()),
            (113, [&[0; 14][..], &tags(&[q]), &[8, 0]].concat()),
            (276, [&[8, 0][..], &[0; 18]].concat()),
            (276, [&[0x81, 0][..], &[0; 18], &[0, 9, 8, 0]].concat()),
            (12, vec![]),
            (14, vec![]),
            (101, vec![]),
            (228, vec![]),
            (0, vec![2, 0, 0, 0]),
            (0, vec![0, 0, 0, 2]),
            (108, vec![0, 0, 0, 24]),
            (0, vec![30, 0, 0, 0]),
            (0, vec![10, 0, 0, 0]),
            (0, vec![28, 0, 0, 0]),
            (9, vec![0, 0x21]),
            (9, vec![0xff, 3, 0, 0x21]),
            (50, vec![0xff, 3, 0, 0x21]),
            (50, vec![0x0f, 0, 0, 0x21]),
        ];
        for (link, head) in &found {
            let ip = v4(5, 20 + DATAGRAM, 77, 0, 17);
            assert_eq!(read_all(*link, &[head, &ip, &UDP]), of_v4(77, 5), "{link} {head:x?}");
            // Without a length of its own, the packet ends with the frame.
            let open = v4(5, 0, 77, 0x4000, 17);
            assert_eq!(read_all(*link, &[head, &open, &UDP]), of_v4(77, 8), "{link} {head:x?}, offloaded");
            let cut = [&head[..], &ip[..19]].concat();
            assert_eq!(read(*link, &cut, 90), Err(Skip::CutShort), "{link} {head:x?}, cut");
        }
        let six = [&v6(DATAGRAM, 17)[..], &UDP].concat();
        for (link, head) in [(1, ethernet(&[0x86, 0xdd])), (229, vec![]), (101, vec![]), (9, vec![0, 0x57])] {
            let (addresses, ttl, id, ports, length) = read_all(link, &[&head, &six]).unwrap();
            assert_eq!((ttl, id, ports, length), (62, 0, PORTS, 5), "{link}");
            assert!(addresses.starts_with("2002:304:506:708:") && addresses.contains(" 2012:1314:"), "{addresses}");
        }
        let refused: [(u16, Vec<u8>, Skip); 10] = [
            (1, ethernet(&[8, 6]), Skip::NotIp),
            (1, ethernet(&[&tags(&[q; 5])[..], &[8, 0]].concat()), Skip::Malformed),
            (1, ethernet(&[&[0x88, 0x47][..], &label(0).repeat(8), &label(1)].concat()), Skip::Malformed),
            (1, ethernet(&[&[0x88, 0x64][..], &session, &[0xc0, 0x21]].concat()), Skip::NotIp),
            (1, vec![0; 13], Skip::CutShort),
            (0, vec![7, 0, 0, 0], Skip::NotIp),
            (9, vec![0xc0, 0x21], Skip::NotIp),
            (50, vec![0xff], Skip::CutShort),
            (101, vec![0x50], Skip::NotIp),
            (147, vec![], Skip::LinkType),
        ];
        for (link, head, why) in refused {
            let data = if why == Skip::CutShort { head } else { [head, v4(5, 33, 1, 0, 17), UDP.to_vec()].concat() };
            assert_eq!(read_all(link, &[&data]), Err(why), "{link} {data:x?}");
        }
    }

    #[test]
    fn ipv4_is_read_with_options_and_first_fragments_and_never_beyond_its_length() {
        for words in [5, 6, 15] {
            let header = v4(words, u16::from(words) * 4 + DATAGRAM, 3, 0x2000, 17);
            assert_eq!(read_all(101, &[&header, &UDP]), of_v4(3, 5), "{words} words, more fragments");
        }
        let of = |header: Vec<u8>| read_all(101, &[&header, &UDP]).map(|found| found.4);
        assert_eq!(of(v4(5, 33, 3, 1, 17)), Err(Skip::Fragment));
        assert_eq!(of(v4(5, 33, 3, 0x1000, 17)), Err(Skip::Fragment));
        assert_eq!(of(v4(4, 33, 3, 0, 17)), Err(Skip::Malformed));
        assert_eq!((of(v4(5, 19, 3, 0, 17)), of(v4(5, 27, 3, 0, 17))), (Err(Skip::Malformed), Err(Skip::Malformed)));
        assert_eq!((of(v4(5, 28, 3, 0, 17)), of(v4(5, 900, 3, 0, 17))), (Ok(0), Ok(872)), "as it says, not as it came");
        for other in [1, 41, 47, 50] {
            assert_eq!(of(v4(5, 33, 3, 0, other)), Err(Skip::OtherTransport), "{other}");
        }
        assert_eq!(read_all(101, &[&v4(5, 33, 3, 0, 17), &UDP[..7]]), Err(Skip::CutShort));
        assert_eq!(read_all(101, &[&v4(5, 33, 3, 0, 17), &UDP[..8]]), of_v4(3, 5), "the header is enough");
        assert_eq!(read_all(101, &[&v4(6, 37, 3, 0, 17)[..23]]), Err(Skip::CutShort));
        assert_eq!(read_all(228, &[&v6(DATAGRAM, 17), &UDP]), Err(Skip::Malformed));
        assert_eq!(read_all(229, &[&v4(5, 33, 3, 0, 17), &UDP, &[0; 9]]), Err(Skip::Malformed));
        // TCP: its own header is as long as it says.
        let mut tcp = vec![0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0, 9, 0, 0, 0, 0];
        tcp.resize(32, 1);
        assert_eq!(read_all(101, &[&v4(5, 20 + 32 + 700, 3, 0, 6), &tcp]), of_v4(3, 700));
        assert_eq!(read_all(101, &[&v4(5, 20 + 31, 3, 0, 6), &tcp]), Err(Skip::Malformed));
        assert_eq!(read_all(101, &[&v4(5, 20 + 32, 3, 0, 6), &tcp[..19]]), Err(Skip::CutShort));
        tcp[12] = 0x40;
        assert_eq!(read_all(101, &[&v4(5, 20 + 32, 3, 0, 6), &tcp]), Err(Skip::Malformed));
    }

    #[test]
    fn the_ecn_field_is_the_last_two_bits_of_the_traffic_class() {
        let datagram = [0, 7, 0, 9, 0, 8, 0, 0];
        for ecn in 0..4u8 {
            let mut four = v4(5, 28, 1, 0, 17);
            four[1] = 0xb8 | ecn;
            let mut six = v6(8, 17);
            (six[0], six[1]) = (0x6b, 0x80 | ecn << 4 | 0xf);
            for packet in [four, six] {
                let packet = [&packet[..], &datagram].concat();
                assert_eq!(decode(101, &packet, packet.len() as u32).map(|packet| packet.ecn), Ok(ecn));
            }
        }
    }

    #[test]
    fn ipv6_is_followed_through_its_extension_headers() {
        /// An extension of a kind that is `units` longer than the least, before another.
        fn extension(kind: u8, next: u8, units: u8) -> Vec<u8> {
            let size = match kind {
                51 => 8 + usize::from(units) * 4,
                44 => 8,
                _ => 8 + usize::from(units) * 8,
            };
            let mut bytes = vec![next, if kind == 44 { 0 } else { units }];
            bytes.resize(size, 0);
            bytes
        }
        fn chain(kinds: &[(u8, u8)]) -> Vec<u8> {
            let next = |at: usize| kinds.get(at + 1).map_or(17, |(kind, _)| *kind);
            kinds.iter().enumerate().flat_map(|(at, (kind, units))| extension(*kind, next(at), *units)).collect()
        }
        let of = |kinds: &[(u8, u8)]| {
            let more = chain(kinds);
            let header = v6(more.len() as u16 + DATAGRAM, kinds.first().map_or(17, |(kind, _)| *kind));
            read_all(101, &[&header, &more, &UDP]).map(|found| (found.3, found.4))
        };
        for kind in [0, 43, 60, 135, 139, 140, 51] {
            for units in [0, 1, 3] {
                assert_eq!(of(&[(kind, units)]), Ok((PORTS, 5)), "{kind} with {units}");
            }
        }
        assert_eq!(of(&[]), Ok((PORTS, 5)));
        assert_eq!(of(&[(0, 1), (60, 0), (43, 2), (44, 0), (51, 4), (60, 1), (135, 0)]), Ok((PORTS, 5)));
        assert_eq!(of(&[(60, 0); 7]), Ok((PORTS, 5)));
        assert_eq!(of(&[(60, 0); 8]), Err(Skip::Malformed), "no packet has so many");
        // Of fragments only the first is read; its flags do not matter.
        for (field, found) in
            [(0x0001u16, Ok(())), (0x0007, Ok(())), (0x0008, Err(Skip::Fragment)), (0xfff8, Err(Skip::Fragment))]
        {
            let mut fragment = extension(44, 17, 0);
            fragment[2..4].copy_from_slice(&field.to_be_bytes());
            let header = v6(8 + DATAGRAM, 44);
            assert_eq!(read_all(101, &[&header, &fragment, &UDP]).map(|_| ()), found, "{field:#x}");
        }
        // Without a length, a packet ends with its frame; extensions are part of the length.
        let data = [v6(0, 60), extension(60, 17, 1), UDP.to_vec()].concat();
        assert_eq!(read(101, &data, data.len() as u32).map(|found| found.4), Ok(8));
        assert_eq!(read(101, &data, data.len() as u32 + 100).map(|found| found.4), Ok(108));
        let short = v6(15, 60);
        assert_eq!(read_all(101, &[&short, &extension(60, 17, 1), &UDP]), Err(Skip::Malformed));
        assert_eq!(read_all(101, &[&v6(60, 60), &[17]]), Err(Skip::CutShort));
        assert_eq!(read_all(101, &[&v6(60, 44), &[17, 0, 0, 0, 0, 0, 0]]), Err(Skip::CutShort));
        assert_eq!(read_all(101, &[&v6(60, 60), &[17, 1, 0, 0]]), Err(Skip::CutShort), "the extension is cut");
        assert_eq!(read_all(101, &[&v6(60, 58), &UDP]), Err(Skip::OtherTransport));
        assert_eq!(read_all(101, &[&v6(60, 59), &UDP]), Err(Skip::OtherTransport));
    }
}
