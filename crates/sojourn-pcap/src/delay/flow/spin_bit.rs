//! QUIC's spin bit (RFC 9000 §17.4): a client turns it over, the server copies it, so each side's bit flips once in a
//! round trip.
//!
//! Only the number of the packet would tell reordering from a flip, and it is encrypted; so a flip counts when the bit
//! then stays for a few packets or long enough. Senders that fix or randomise the bit (RFC 9000 asks one in sixteen
//! to) give no flips that make sense.

use crate::decode::quic::{Seen, seen};
use crate::delay::meter_state::MeterState;
use crate::delay::protocol::Protocol;
use crate::delay::sighting::flow_table::Key;

/// A round trip shorter than this is taken for noise, and one longer for a pause, ns.
const SHORTEST: i64 = 500_000;
const LONGEST: i64 = 10_000_000_000;

#[derive(Debug, Clone, Copy, Default)]
struct Side {
    bit: Option<bool>,
    flipped: Option<i64>,
}

/// The spin bits of the two sides of a flow.
#[derive(Debug)]
pub(crate) struct Spin {
    sides: [Side; 2],
    hosts: [u32; 2],
}

impl Spin {
    pub(crate) fn new(state: &mut MeterState, key: &Key) -> Self {
        Self { sides: Default::default(), hosts: key.address.map(|address| state.hosts.of(address)) }
    }

    /// Take in a datagram of one side.
    pub(crate) fn datagram(&mut self, state: &mut MeterState, side: usize, payload: &[u8], time: i64) {
        let host = self.hosts[side];
        let host = &mut state.hosts.all[host as usize];
        host.packets[Protocol::Quic as usize] += 1;
        let stats = host.stats(Protocol::Quic);
        let Some(Seen::Short(bit)) = seen(payload) else { return };
        let me = &mut self.sides[side];
        if me.bit.replace(bit) == Some(!bit) {
            let since = me.flipped.map(|at| time - at);
            if since.is_none_or(|since| since >= SHORTEST) {
                me.flipped = Some(time);
            }
            if let Some(since) = since.filter(|since| (SHORTEST..LONGEST).contains(since)) {
                stats.rtt.add(since as f64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::meter::Meter;
    use crate::delay::options::Options;

    #[test]
    fn flips_are_a_round_trip_apart() {
        let mut meter = Meter::new(Options::default());
        let (key, _) = Key::of((Address(1), 1), (Address(2), 443), 17);
        let mut spin = Spin::new(&mut meter.state, &key);
        for i in 0..400i64 {
            let bit = (i / 8) % 2 == 0;
            spin.datagram(&mut meter.state, 1, &[0x40 | u8::from(bit) << 5, 0], i * 5_000_000);
        }
        let stats = meter.state.hosts.all[1].stats(Protocol::Quic);
        assert_eq!(stats.rtt.count(), 48);
        assert_eq!(stats.rtt.quantile(0.5), 40e6);
    }

    #[test]
    fn a_packet_overtaken_at_a_flip_is_no_round_trip_and_moves_none() {
        let mut meter = Meter::new(Options::default());
        let (key, _) = Key::of((Address(1), 1), (Address(2), 443), 17);
        let mut spin = Spin::new(&mut meter.state, &key);
        for i in 0..20i64 {
            // The bit turns over every 40 ms; a packet sent before that comes 0.1 ms after it.
            let bits = [(0, i % 2 == 0), (100_000, i % 2 != 0), (200_000, i % 2 == 0)];
            for (later, bit) in bits.into_iter().take(if i == 0 { 1 } else { 3 }) {
                let packet = [0x40 | u8::from(bit) << 5, 0];
                spin.datagram(&mut meter.state, 1, &packet, i * 40_000_000 + later);
            }
        }
        let rtt = &meter.state.hosts.all[1].stats(Protocol::Quic).rtt;
        assert_eq!((rtt.min(), rtt.max()), (40e6, 40e6));
    }
}
