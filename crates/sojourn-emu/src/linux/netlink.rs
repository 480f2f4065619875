//! Addresses, routes and interfaces, set through the kernel's routing socket (rtnetlink(7)), in the network namespace
//! of this thread.

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use serde::Deserialize;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

const NEWLINK: u16 = 16;
const NEWADDR: u16 = 20;
const NEWROUTE: u16 = 24;
const REQUEST_ACK: u16 = 1 | 4;
const CREATE_REPLACE: u16 = 0x100 | 0x400;
const IFF_UP: u32 = 1;
const ERROR: u16 = 2;

/// What routes say to TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteMetrics {
    /// The congestion control, whatever a program or the system asks for.
    pub congestion: Option<String>,
    /// The initial window in segments.
    pub initial_window: Option<u32>,
    /// Ask for explicit congestion notification.
    pub ecn: bool,
    /// Acknowledge every segment.
    pub quickack: bool,
    /// The least retransmission timeout in milliseconds.
    pub min_rto_ms: Option<u32>,
}

impl RouteMetrics {
    /// As an attribute of a route, empty if there is nothing to say.
    fn attributes(&self) -> Vec<u8> {
        const LOCK: u16 = 1;
        const INITCWND: u16 = 11;
        const FEATURES: u16 = 12;
        const RTO_MIN: u16 = 13;
        const QUICKACK: u16 = 15;
        const CC_ALGO: u16 = 16;
        const FEATURE_ECN: u32 = 1;
        let locked = u32::from(self.congestion.is_some()) << CC_ALGO | u32::from(self.min_rto_ms.is_some()) << RTO_MIN;
        let numbers = [
            (LOCK, (locked != 0).then_some(locked)),
            (INITCWND, self.initial_window),
            (FEATURES, self.ecn.then_some(FEATURE_ECN)),
            (RTO_MIN, self.min_rto_ms),
            (QUICKACK, self.quickack.then_some(1)),
        ];
        let mut nested = Vec::new();
        for (kind, value) in numbers.into_iter().filter_map(|(kind, value)| Some((kind, value?))) {
            attribute(&mut nested, kind, &value.to_ne_bytes());
        }
        if let Some(name) = &self.congestion {
            let mut text = name.as_bytes().to_vec();
            text.push(0);
            attribute(&mut nested, CC_ALGO, &text);
        }
        nested
    }
}

/// A message under way.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(REQUEST_ACK | flags).to_ne_bytes());
        bytes.extend(body);
        Self(bytes)
    }

    fn with(mut self, kind: u16, value: &[u8]) -> Self {
        attribute(&mut self.0, kind, value);
        self
    }
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend((value.len() as u16 + 4).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

/// The routing socket of a network namespace.
pub struct Routing(OwnedFd);

impl Routing {
    /// That of this thread's namespace.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn open() -> io::Result<Self> {
        let (family, flags) = (AddressFamily::Netlink, SockFlag::SOCK_CLOEXEC);
        Ok(Self(socket(family, SockType::Raw, flags, SockProtocol::NetlinkRoute)?))
    }

    fn ask(&self, message: Message) -> io::Result<()> {
        let Message(mut bytes) = message;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        send(self.0.as_raw_fd(), &bytes, MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        if length < 20 || u16::from_ne_bytes([answer[4], answer[5]]) != ERROR {
            return Err(io::Error::other("the kernel's routing socket gave no answer"));
        }
        match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    /// The number of an interface.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn index(name: &str) -> io::Result<u32> {
        Ok(nix::net::if_::if_nametoindex(name)?)
    }

    fn link(index: u32, flags: u32) -> Vec<u8> {
        let mut body = vec![0; 4];
        body.extend(index.to_ne_bytes());
        body.extend(flags.to_ne_bytes());
        body.extend(flags.to_ne_bytes());
        body
    }

    /// Brings an interface up; with an MTU and a number of packets that its ring holds, if they are given.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn up(&self, index: u32, mtu_and_ring: Option<(u32, u32)>) -> io::Result<()> {
        const IFLA_MTU: u16 = 4;
        const IFLA_TXQLEN: u16 = 13;
        if let Some((mtu, ring)) = mtu_and_ring {
            let message = Message::new(NEWLINK, 0, &Self::link(index, 0));
            self.ask(message.with(IFLA_MTU, &mtu.to_ne_bytes()).with(IFLA_TXQLEN, &ring.to_ne_bytes()))?;
        }
        self.ask(Message::new(NEWLINK, 0, &Self::link(index, IFF_UP)))
    }

    /// Gives an interface an address of its own.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn address(&self, index: u32, address: IpAddr) -> io::Result<()> {
        const NO_DAD: u8 = 2;
        let (family, octets) = octets(address);
        let mut body = vec![family, octets.len() as u8 * 8, NO_DAD, 0];
        body.extend(index.to_ne_bytes());
        self.ask(Message::new(NEWADDR, CREATE_REPLACE, &body).with(2, &octets).with(1, &octets))
    }

    /// Sends what goes to one address, or everything else of a family, through an interface; `from` this address, if
    /// the sender has not bound itself to another.
    ///
    /// # Errors
    /// The kernel refuses, or does not know the congestion control.
    pub fn route(
        &self,
        index: u32,
        to: IpAddr,
        from: Option<IpAddr>,
        everything: bool,
        metrics: &RouteMetrics,
    ) -> io::Result<()> {
        const MAIN: u8 = 254;
        const STATIC: u8 = 4;
        const LINK: u8 = 253;
        const UNICAST: u8 = 1;
        const RTA_DST: u16 = 1;
        const RTA_OIF: u16 = 4;
        const RTA_PREFSRC: u16 = 7;
        const RTA_METRICS: u16 = 8;
        let (family, octets) = octets(to);
        let bits = if everything { 0 } else { octets.len() as u8 * 8 };
        let body = [family, bits, 0, 0, MAIN, STATIC, LINK, UNICAST, 0, 0, 0, 0];
        let mut message = Message::new(NEWROUTE, CREATE_REPLACE, &body).with(RTA_OIF, &index.to_ne_bytes());
        if !everything {
            message = message.with(RTA_DST, &octets);
        }
        if let Some(from) = from {
            message = message.with(RTA_PREFSRC, &self::octets(from).1);
        }
        let nested = metrics.attributes();
        if !nested.is_empty() {
            message = message.with(RTA_METRICS, &nested);
        }
        self.ask(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes as (kind, value), which lie at multiples of four bytes.
    fn read(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut found = Vec::new();
        while let [a, b, c, d, ..] = *bytes {
            let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
            found.push((kind, bytes[4..length].to_vec()));
            bytes = &bytes[length.next_multiple_of(4)..];
        }
        assert!(bytes.is_empty());
        found
    }

    fn number(value: u32) -> Vec<u8> {
        value.to_ne_bytes().to_vec()
    }

    #[test]
    fn routes_say_what_was_asked_in_the_kernels_numbers_and_lock_what_must_hold() {
        assert!(RouteMetrics::default().attributes().is_empty());
        // linux/rtnetlink.h: lock 1, initcwnd 11, features 12 (ECN is bit 0), rto_min 13, quickack 15, cc_algo 16.
        let all = RouteMetrics {
            congestion: Some("cubic".to_owned()),
            initial_window: Some(10),
            ecn: true,
            quickack: true,
            min_rto_ms: Some(300),
        };
        let locked = 1 << 16 | 1 << 13;
        assert_eq!(
            read(&all.attributes()),
            [
                (1, number(locked)),
                (11, number(10)),
                (12, number(1)),
                (13, number(300)),
                (15, number(1)),
                (16, b"cubic\0".to_vec()),
            ]
        );
        let some = RouteMetrics { initial_window: Some(3), quickack: true, ..RouteMetrics::default() };
        assert_eq!(read(&some.attributes()), [(11, number(3)), (15, number(1))], "nothing is locked");
        let timer = RouteMetrics { min_rto_ms: Some(5), ..RouteMetrics::default() };
        assert_eq!(read(&timer.attributes()), [(1, number(1 << 13)), (13, number(5))]);
    }

    #[test]
    fn messages_ask_for_an_answer_and_addresses_have_their_family() {
        let Message(bytes) = Message::new(NEWADDR, CREATE_REPLACE, &[9; 8]).with(2, &[1, 2, 3, 4]).with(7, b"abcde");
        // The length is filled in when it is sent.
        assert_eq!(bytes[..4], [0; 4]);
        assert_eq!((u16::from_ne_bytes([bytes[4], bytes[5]]), u16::from_ne_bytes([bytes[6], bytes[7]])), (20, 0x505));
        assert_eq!(bytes[8..24], [[0; 8], [9; 8]].concat());
        assert_eq!(read(&bytes[24..]), [(2, vec![1, 2, 3, 4]), (7, b"abcde".to_vec())]);
        assert_eq!(octets("10.0.0.7".parse().unwrap()), (2, vec![10, 0, 0, 7]));
        let (family, six) = octets("fd00::7".parse().unwrap());
        assert_eq!((family, six.len(), six[0], six[15]), (10, 16, 0xfd, 7));
        assert_eq!(Routing::link(5, 1), [[0; 4], 5u32.to_ne_bytes(), 1u32.to_ne_bytes(), 1u32.to_ne_bytes()].concat());
    }
}
