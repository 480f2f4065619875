//! Packets with real headers, written as pcapng (nanoseconds) or pcap: Ethernet, IPv4, and TCP with timestamps, uTP,
//! RTP or QUIC.
//!
//! Payloads are not written: frames are cut after the headers, as a capture with a short snap length is, and carry
//! their true length. Checksums of IPv4 headers are right; those of TCP and UDP are 0, since the payload that they
//! cover does not exist.

use std::io::{self, Write};
use std::net::Ipv4Addr;

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Address.
    pub address: Ipv4Addr,
    /// Port.
    pub port: u16,
}

/// Blocks of selective acknowledgements (RFC 2018): sequence numbers of their begins and ends.
pub type Blocks = [Option<(u32, u32)>; 3];

/// What follows the IPv4 header.
#[derive(Debug, Clone, Copy)]
pub enum Header {
    /// A TCP segment; with timestamps (TSval, TSecr) if given.
    Tcp {
        /// Sequence number.
        seq: u32,
        /// Acknowledgement.
        ack: u32,
        /// Flags, see [`crate::decode::tcp`].
        flags: u8,
        /// TSval and TSecr.
        stamps: Option<(u32, u32)>,
        /// What arrived beyond a hole, the latest first.
        sack: Blocks,
        /// Of a SYN, the longest segment that its end takes; it takes selective acknowledgements, too.
        mss: Option<u16>,
    },
    /// A uTP packet.
    Utp(crate::decode::utp::Header),
    /// A UDP datagram.
    Udp,
    /// A datagram of RTP, with its fixed header (RFC 3550 §5.1).
    Rtp {
        /// Sequence number.
        sequence: u16,
        /// Timestamp.
        stamp: u32,
        /// Source.
        source: u32,
    },
    /// A datagram of QUIC, of which those bytes are written that all versions show (RFC 8999).
    Quic {
        /// With a long header, as in the handshake.
        long: bool,
        /// Low bits of its first byte, which are masked.
        masked: u8,
        /// Connection ID of the receiver.
        id: u64,
    },
}

/// A packet to be written.
#[derive(Debug, Clone, Copy)]
pub struct Datagram {
    /// Sender.
    pub source: End,
    /// Receiver.
    pub destination: End,
    /// IPv4 identification.
    pub id: u16,
    /// Hop limit.
    pub ttl: u8,
    /// ECN field.
    pub ecn: u8,
    /// Bytes of payload on the wire.
    pub payload: u16,
    /// Transport.
    pub header: Header,
}

/// A payload type whose meaning calls agree on (RFC 3551 §3).
const DYNAMIC: u8 = 96;
const ETHERNET: usize = 14;
const IPV4: usize = 20;

impl Datagram {
    /// The headers of the frame, and the frame's length on the wire.
    pub fn frame(&self) -> (Vec<u8>, u32) {
        let mut frame = vec![0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 8, 0];
        let transport = match self.header {
            Header::Tcp { stamps, sack, mss, .. } => {
                let blocks = sack.iter().flatten().count();
                let offers = if mss.is_some() { 8 } else { 0 };
                20 + offers + if stamps.is_some() { 12 } else { 0 } + if blocks > 0 { 4 + 8 * blocks } else { 0 }
            }
            Header::Utp(_) => 28,
            Header::Udp | Header::Rtp { .. } | Header::Quic { .. } => 8,
        };
        let total = (IPV4 + transport) as u16 + self.payload;
        frame.extend([0x45, self.ecn]);
        frame.extend(total.to_be_bytes());
        frame.extend(self.id.to_be_bytes());
        let protocol = if matches!(self.header, Header::Tcp { .. }) { 6 } else { 17 };
        frame.extend([0x40, 0, self.ttl, protocol, 0, 0]);
        frame.extend(self.source.address.octets());
        frame.extend(self.destination.address.octets());
        let sum = !folded(sum(&frame[ETHERNET..]));
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(self.source.port.to_be_bytes());
        frame.extend(self.destination.port.to_be_bytes());
        match self.header {
            Header::Tcp { seq, ack, flags, stamps, sack, mss } => {
                frame.extend(seq.to_be_bytes());
                frame.extend(ack.to_be_bytes());
                frame.extend([(transport as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
                if let Some([high, low]) = mss.map(u16::to_be_bytes) {
                    frame.extend([2, 4, high, low, 1, 1, 4, 2]);
                }
                if let Some((value, echo)) = stamps {
                    frame.extend([1, 1, 8, 10]);
                    frame.extend(value.to_be_bytes());
                    frame.extend(echo.to_be_bytes());
                }
                let blocks = sack.iter().flatten();
                if sack != Blocks::default() {
                    frame.extend([1, 1, 5, 2 + 8 * blocks.clone().count() as u8]);
                    blocks.for_each(|(left, right)| frame.extend([left.to_be_bytes(), right.to_be_bytes()].concat()));
                }
            }
            Header::Udp => {
                frame.extend((8 + self.payload).to_be_bytes());
                frame.extend([0, 0]);
            }
            Header::Rtp { sequence, stamp, source } => {
                frame.extend((8 + self.payload).to_be_bytes());
                frame.extend([0, 0]);
                let [stamp, source] = [stamp, source].map(u32::to_be_bytes);
                let first = [&[2 << 6, DYNAMIC][..], &sequence.to_be_bytes(), &stamp, &source].concat();
                frame.extend(first.iter().take(usize::from(self.payload)));
            }
            Header::Quic { long, masked, id } => {
                frame.extend((8 + self.payload).to_be_bytes());
                frame.extend([0, 0]);
                let (form, version): (u8, &[u8]) = if long { (0xc0, &[0, 0, 0, 1, 8]) } else { (0x40, &[]) };
                let first = [&[form | masked & if long { 0xf } else { 0x1f }][..], version, &id.to_be_bytes()].concat();
                frame.extend(first.iter().take(usize::from(self.payload)));
            }
            Header::Utp(utp) => {
                frame.extend((28 + self.payload).to_be_bytes());
                frame.extend([0, 0, utp.kind << 4 | 1, 0]);
                frame.extend(utp.connection.to_be_bytes());
                frame.extend(utp.stamp.to_be_bytes());
                frame.extend(utp.difference.to_be_bytes());
                frame.extend((1u32 << 20).to_be_bytes());
                frame.extend(utp.seq.to_be_bytes());
                frame.extend(utp.ack.to_be_bytes());
            }
        }
        (frame, u32::from(total) + ETHERNET as u32)
    }
}

/// The ones' complement sum of bytes (RFC 1071), whose carries are yet to be added: [`folded`] does.
#[inline]
pub fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

/// A sum with its carries added.
#[inline]
pub fn folded(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Writes pcapng with one interface for each name, nanosecond stamps, little-endian.
pub struct Pcapng<W> {
    out: W,
}

impl<W: Write> Pcapng<W> {
    /// Begin a file: its section and its Ethernet interfaces.
    ///
    /// # Errors
    /// Writing failed.
    pub fn new(mut out: W, interfaces: &[&str]) -> io::Result<Self> {
        let mut section = Vec::new();
        section.extend(0x1a2b_3c4du32.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend([0xff; 8]);
        block(&mut out, 0x0a0d_0d0a, &section)?;
        for name in interfaces {
            let mut body = vec![1, 0, 0, 0];
            body.extend(0u32.to_le_bytes());
            option(&mut body, 2, name.as_bytes());
            option(&mut body, 9, &[9]);
            body.extend([0; 4]);
            block(&mut out, 1, &body)?;
        }
        Ok(Self { out })
    }

    /// Write a frame that was captured on an interface; `comment` is kept beside it if it is not empty.
    ///
    /// # Errors
    /// Writing failed.
    pub fn frame(&mut self, interface: u32, time_ns: u64, frame: (&[u8], u32), comment: &str) -> io::Result<()> {
        let (bytes, wire_len) = frame;
        let mut body = Vec::with_capacity(bytes.len() + 32);
        body.extend(interface.to_le_bytes());
        body.extend(((time_ns >> 32) as u32).to_le_bytes());
        body.extend((time_ns as u32).to_le_bytes());
        body.extend((bytes.len() as u32).to_le_bytes());
        body.extend(wire_len.to_le_bytes());
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        if !comment.is_empty() {
            option(&mut body, 1, comment.as_bytes());
            body.extend([0; 4]);
        }
        block(&mut self.out, 6, &body)
    }

    /// Write a packet with its headers.
    ///
    /// # Errors
    /// Writing failed.
    pub fn datagram(&mut self, interface: u32, time_ns: u64, datagram: &Datagram) -> io::Result<()> {
        let (bytes, wire_len) = datagram.frame();
        self.frame(interface, time_ns, (&bytes, wire_len), "")
    }

    /// Finish and give back what was written to.
    ///
    /// # Errors
    /// Writing failed.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(body)?;
    out.write_all(&length)
}

/// Writes pcap with nanosecond stamps, little-endian, Ethernet.
pub struct Pcap<W> {
    out: W,
}

impl<W: Write> Pcap<W> {
    /// Begin a file.
    ///
    /// # Errors
    /// Writing failed.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&0xa1b2_3c4du32.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        out.write_all(&262_144u32.to_le_bytes())?;
        out.write_all(&1u32.to_le_bytes())?;
        Ok(Self { out })
    }

    /// Write a packet with its headers.
    ///
    /// # Errors
    /// Writing failed.
    pub fn datagram(&mut self, time_ns: u64, datagram: &Datagram) -> io::Result<()> {
        let (bytes, wire_len) = datagram.frame();
        self.out.write_all(&((time_ns / 1_000_000_000) as u32).to_le_bytes())?;
        self.out.write_all(&((time_ns % 1_000_000_000) as u32).to_le_bytes())?;
        self.out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.out.write_all(&wire_len.to_le_bytes())?;
        self.out.write_all(&bytes)
    }

    /// Finish and give back what was written to.
    ///
    /// # Errors
    /// Writing failed.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Transport, utp};
    use crate::read::Capture;

    #[test]
    fn what_is_written_is_read_back() {
        let ends = [1, 2].map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: u16::from(n) * 1000 });
        let sack = [Some((20, 30)), Some((40, 50)), None];
        let tcp = Header::Tcp { seq: 7, ack: 8, flags: 16, stamps: Some((9, 10)), sack, mss: None };
        let header = utp::Header { kind: utp::DATA, connection: 3, stamp: 4, difference: 5, seq: 6, ack: 7 };
        let packets = [tcp, Header::Utp(header)].map(|header| Datagram {
            source: ends[0],
            destination: ends[1],
            id: 11,
            ttl: 60,
            ecn: 1,
            payload: 1000,
            header,
        });
        let mut ng = Pcapng::new(Vec::new(), &["bottleneck:down"]).unwrap();
        let mut old = Pcap::new(Vec::new()).unwrap();
        for (n, packet) in packets.iter().enumerate() {
            ng.datagram(0, 1_700_000_000_000_000_001 + n as u64, packet).unwrap();
            old.datagram(1_700_000_000_000_000_001 + n as u64, packet).unwrap();
        }
        for bytes in [ng.finish().unwrap(), old.finish().unwrap()] {
            let mut capture = Capture::from_stream(io::Cursor::new(bytes), "memory").unwrap();
            for n in 0..2u64 {
                let frame = capture.next_frame().unwrap().unwrap();
                assert_eq!((frame.number, frame.time_ns), (n + 1, 1_700_000_000_000_000_001 + n as i64));
                let packet = crate::decode::decode(frame.link, frame.data, frame.wire_len).unwrap();
                assert_eq!(packet.source.to_string(), "10.0.0.1");
                match packet.transport {
                    Transport::Tcp(segment) => {
                        assert_eq!((segment.seq, segment.payload, segment.stamps()), (7, 1000, Some((9, 10))));
                        assert_eq!((segment.sack(), segment.options_cut), (Some((20, 30)), false));
                    }
                    Transport::Udp { payload, length, .. } => {
                        let read = utp::header(payload, length).unwrap();
                        assert_eq!((length, read.stamp, read.seq), (1020, 4, 6));
                    }
                }
            }
            assert!(capture.next_frame().unwrap().is_none());
            assert!(capture.damage().is_empty());
        }
    }

    #[test]
    fn of_rtp_the_fixed_header_is_written() {
        let [source, destination] = [1, 2].map(|host| End { address: Ipv4Addr::new(10, 0, 0, host), port: 5004 });
        let read = |payload| {
            let header = Header::Rtp { sequence: 0x0102, stamp: 0x03040506, source: 0x0708_090a };
            let packet = Datagram { source, destination, id: 1, ttl: 64, ecn: 0, payload, header };
            let (frame, length) = packet.frame();
            assert_eq!(length, 42 + u32::from(payload));
            frame[42..].to_vec()
        };
        assert_eq!(read(172), [0x80, 96, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(read(3), [0x80, 96, 1], "no longer than its payload");
    }

    #[test]
    fn of_quic_what_all_versions_show_is_written() {
        use crate::decode::quic::{Seen, seen};
        let [source, destination] = [1, 2].map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: 443 });
        let read = |long, payload| {
            let header = Header::Quic { long, masked: 0xff, id: 0x0102_0304_0506_0708 };
            let packet = Datagram { source, destination, id: 1, ttl: 64, ecn: 2, payload, header };
            let (frame, wire) = packet.frame();
            let packet = crate::decode::decode(1, &frame, wire).unwrap();
            let Transport::Udp { payload: data, length } = packet.transport else { panic!("a datagram") };
            assert_eq!((length, packet.ecn), (u32::from(payload), 2));
            (seen(data), data.to_vec())
        };
        let (form, bytes) = read(true, 1200);
        assert_eq!((form, &bytes[5..]), (Some(Seen::Long), &[8, 1, 2, 3, 4, 5, 6, 7, 8][..]));
        assert_eq!(read(false, 1200), (Some(Seen::Short(false)), vec![0x5f, 1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(read(false, 4).1, [0x5f, 1, 2, 3], "no longer than its payload");
    }
}
