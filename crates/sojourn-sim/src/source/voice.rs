//! Telephone calls: a packet every 20 ms in each direction, one call after another.
//!
//! G.711 in RTP is 160 bytes of speech and 40 of headers, G.729A 20 and 40, both 50 packets/s (RFC 3551). The engine carries the
//! packets; what was heard is judged from their fates.

use super::{Event, LOST, Source, Tables, UNDER_WAY};
use crate::network::{Datagram, Network};
use crate::packet::Kind;
use crate::wire::Way;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// Time between packets of a call in one direction.
pub const INTERVAL: Span = Span::from_millis(20);

/// One row per packet of the calls that were complete when the run ended and had begun after the warm-up.
#[derive(Clone, Debug, Default)]
pub struct VoiceTable {
    /// The user, counted over all users of the scenario.
    pub user: Vec<u32>,
    /// The user's call.
    pub call: Vec<u32>,
    /// 0: from the user (talks, up); 1: to the user (listens, down).
    pub direction: Vec<u8>,
    /// Number of the packet in its call and direction.
    pub seq: Vec<u16>,
    /// When it was sent.
    pub sent_ns: Vec<u64>,
    /// One-way network delay; −1 if it was dropped.
    pub delay_ns: Vec<i64>,
}

impl VoiceTable {
    fn push(&mut self, user: u32, call: u32, direction: u8, seq: u16, sent: u64, delay: i64) {
        self.user.push(user);
        self.call.push(call);
        self.direction.push(direction);
        self.seq.push(seq);
        self.sent_ns.push(sent);
        self.delay_ns.push(delay);
    }
}

/// One caller.
pub struct Voice {
    /// Number of this source.
    pub number: u32,
    /// Number of the user.
    pub user: u32,
    /// Its hosts.
    pub group: u16,
    /// Which ways speech goes.
    pub ways: Vec<Way>,
    /// Bytes of a packet at IP.
    pub packet: u16,
    /// Packets of a call in each direction.
    pub packets: u16,
    /// Pause between calls.
    pub gap: Span,
    /// The first call starts within this time.
    pub start_within: Span,
    /// Calls that begin earlier are not reported.
    pub warmup: Time,
    /// Its random stream.
    pub rng: Pcg64Mcg,
    /// Where it stands.
    pub calls: Calls,
}

/// Calls made so far.
#[derive(Default)]
pub struct Calls {
    /// Packets sent in all, both directions.
    rows: VoiceTable,
    /// Next packet of the present call.
    next: u16,
    call: u32,
    flows: [u32; 2],
}

impl Voice {
    fn speak(&mut self, network: &mut Network) {
        let calls = &mut self.calls;
        for way in &self.ways {
            // The row travels as the packet's number, with the source's own number.
            let row = calls.rows.user.len() as u64;
            let direction = u8::from(*way == Way::Down);
            calls.rows.push(self.user, calls.call, direction, calls.next, network.now().0, UNDER_WAY);
            network.datagram(&Datagram {
                group: self.group,
                way: *way,
                kind: Kind::Voice,
                flow: calls.flows[*way as usize],
                owner: self.number,
                seq: row,
                size: self.packet,
            });
        }
        calls.next += 1;
        let mut pause = INTERVAL;
        if calls.next == self.packets {
            calls.next = 0;
            calls.call += 1;
            pause = pause + self.gap;
        }
        network.wake_at(network.now() + pause, self.number, 0);
    }
}

impl Source for Voice {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                self.calls.flows = [network.new_flow(), network.new_flow()];
                let wait = self.rng.random::<f64>() * self.start_within.0 as f64;
                network.wake_at(Time(wait as u64), self.number, 0);
            }
            Event::Wake(_) => self.speak(network),
            Event::Datagram { packet, delay } => self.calls.rows.delay_ns[packet.seq as usize] = delay.0 as i64,
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        for row in network.lost(self.number) {
            self.calls.rows.delay_ns[row as usize] = LOST;
        }
        let rows = &self.calls.rows;
        let per_call = usize::from(self.packets) * self.ways.len();
        for call in 0..rows.user.len() / per_call.max(1) {
            let range = call * per_call..(call + 1) * per_call;
            let complete = rows.delay_ns[range.clone()].iter().all(|delay| *delay != UNDER_WAY);
            if complete && rows.sent_ns[range.start] >= self.warmup.0 {
                for i in range {
                    tables.voice.push(
                        self.user,
                        rows.call[i],
                        rows.direction[i],
                        rows.seq[i],
                        rows.sent_ns[i],
                        rows.delay_ns[i],
                    );
                }
            }
        }
    }
}
