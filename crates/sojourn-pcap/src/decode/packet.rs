//! What is kept of a packet.

use super::address::Address;
use super::tcp;

/// One IP packet with a transport header that can be used.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Hop limit as it arrived.
    pub ttl: u8,
    /// Its ECN field (RFC 3168).
    pub ecn: u8,
    /// IPv4 identification, or 0.
    pub id: u16,
    /// Ports of sender and receiver.
    pub ports: [u16; 2],
    /// What is inside.
    pub transport: Transport<'a>,
}

/// Transport header.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// TCP.
    Tcp(tcp::Segment),
    /// UDP: what it carries, as far as it was captured.
    Udp {
        /// Bytes of the payload that were captured.
        payload: &'a [u8],
        /// Length of the payload on the wire.
        length: u32,
    },
}
