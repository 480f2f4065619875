//! Telephone calls: a packet every 20 ms in each direction, one call after another.
//!
//! In RTP, 50 packets/s of 160 bytes of G.711 or 20 bytes of G.729 and 40 bytes of headers (RFC 3551). The engine
//! carries the packets; what was heard is judged from their fates. With talk spurts a direction sends only while
//! somebody speaks: speech and silence are exponential times (ITU-T P.59's means), independent in the two directions,
//! which P.59's are not. With schedules the packets are those of real speech, coded with discontinuous transmission:
//! given from outside, as those of clips are, one schedule for each sample; both directions send the same sample.

use super::source::{Source, User, uniform};
use super::tables::{LOST, Tables, UNDER_WAY, VoiceRow, VoiceTable};
use crate::engine::{Direction, Event, Kind, Network};
use crate::scenario;
use sojourn_net::{Span, Time};

/// Time between packets of a call in one direction.
pub const INTERVAL: Span = Span::from_millis(20);

/// One caller.
pub struct Voice {
    /// Who it is.
    pub who: User,
    /// How it calls.
    pub settings: scenario::Voice,
    /// The directions that speech goes in.
    pub directions: &'static [Direction],
    /// Packets of a call in each direction, those of silence counted.
    pub packets: u16,
    /// Bytes of a packet at IP.
    pub size: u16,
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
    /// In each direction, whether somebody speaks and until when.
    speech: [(bool, Time); 2],
}

impl Voice {
    /// Whether a direction has speech to send now.
    fn speaks(&mut self, direction: Direction, now: Time) -> bool {
        let Some(spurts) = &self.settings.talk_spurts else { return true };
        let (speaks, until) = &mut self.calls.speech[direction as usize];
        while *until <= now {
            *speaks = !*speaks;
            let mean = if *speaks { spurts.talk } else { spurts.silence };
            *until += Span((-libm::log(uniform(&mut self.who.rng)) * mean.0 as f64) as u64 + 1);
        }
        *speaks
    }

    /// Bytes of the present packet; none where the codec sends nothing.
    fn size(&self) -> Option<u16> {
        if self.settings.schedules.is_empty() {
            return Some(self.size);
        }
        let sample = (u64::from(self.calls.call) + u64::from(self.who.number)) % self.settings.schedules.len() as u64;
        self.settings.schedules[sample as usize].at(INTERVAL * u64::from(self.calls.next))
    }

    fn speak(&mut self, network: &mut Network) {
        let size = self.size();
        for i in 0..self.directions.len() {
            let direction = self.directions[i];
            let Some(size) = size.filter(|_| self.speaks(direction, network.now())) else { continue };
            let calls = &mut self.calls;
            // The row travels as the packet's number, with the source's own number.
            let row = calls.rows.user.len() as u64;
            let to_user = u8::from(direction == Direction::Down);
            calls.rows.push(VoiceRow {
                user: self.who.number,
                call: calls.call,
                direction: to_user,
                seq: calls.next,
                sent_ns: network.now().0,
                delay_ns: UNDER_WAY,
            });
            let flow = calls.flows[direction as usize];
            network.datagram(&self.who.datagram(direction, Kind::Voice, flow, row, size));
        }
        let calls = &mut self.calls;
        calls.next += 1;
        let mut pause = INTERVAL;
        if calls.next == self.packets {
            calls.next = 0;
            calls.call += 1;
            pause = pause + self.settings.gap;
        }
        network.wake_at(network.now() + pause, self.who.source, 0);
    }
}

impl Source for Voice {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                self.calls.flows = [network.new_flow(self.who.group), network.new_flow(self.who.group)];
                self.who.start_within(self.settings.start_within, 0, network);
            }
            Event::Wake(_) => self.speak(network),
            Event::Datagram { packet, delay } => self.calls.rows.delay_ns[packet.seq as usize] = delay.0 as i64,
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        for row in network.lost(self.who.source) {
            self.calls.rows.delay_ns[row as usize] = LOST;
        }
        let rows = &self.calls.rows;
        let mut end = 0;
        // The call that was going on when the run ended is left out.
        for call in 0..self.calls.call {
            let range = end..end + rows.call[end..].iter().take_while(|of| **of == call).count();
            end = range.end;
            if range.is_empty() {
                continue;
            }
            let complete = rows.delay_ns[range.clone()].iter().all(|delay| *delay != UNDER_WAY);
            if complete && rows.sent_ns[range.start] >= self.who.warmup.0 {
                range.for_each(|place| tables.voice.push(rows.row(place)));
            }
        }
    }
}
