//! What the protocols act on, and the numbers that packets and timers carry.

use super::site::Object;
use crate::app::User;
use crate::engine::Network;
use crate::engine::network::Control;
use crate::scenario::Page;

/// What a host acts on.
pub(super) struct Io<'a> {
    pub(super) network: &'a mut Network,
    pub(super) who: &'a User,
    pub(super) host: u16,
    pub(super) load: u32,
    pub(super) settings: &'a Page,
    pub(super) control: &'a Control,
    pub(super) objects: &'a [Object],
}

impl Io<'_> {
    /// Bytes of the response that carries an object.
    pub(super) fn response(&self, object: usize) -> u64 {
        self.settings.response_header.0 + self.objects[object].bytes
    }
}

/// Bit of a token: it is of a QUIC endpoint's timer. The load, the host and the place follow.
pub(super) const TIMEOUT: u64 = 1 << 63;
const HOST: u32 = 20;
const LOAD: u32 = 36;
const LOADS: u64 = (1 << 26) - 1;

/// The number of a packet in its host's list, as a datagram carries it.
pub(super) fn packet(host: u16, load: u32, place: u32) -> u64 {
    (u64::from(load) & LOADS) << LOAD | u64::from(host) << HOST | u64::from(place)
}

/// Host, load and place of a packet.
pub(super) fn read_packet(seq: u64) -> (u16, u32, u32) {
    ((seq >> HOST) as u16, (seq >> LOAD & LOADS) as u32, (seq & ((1 << HOST) - 1)) as u32)
}

/// The token of a timer.
pub(super) fn timeout(host: u16, load: u32, place: u32) -> u64 {
    packet(host, load, place) | TIMEOUT
}

/// Host, load and place of a timer.
pub(super) fn read_timeout(token: u64) -> (u16, u32, u32) {
    read_packet(token & !TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_say_whose_they_are() {
        let seq = packet(1000, 70_000, 999_999);
        assert_eq!(read_packet(seq), (1000, 70_000, 999_999));
        assert_eq!(read_timeout(timeout(16, 3, 1)), (16, 3, 1));
        assert_eq!(seq & TIMEOUT, 0);
    }
}
