//! Video streams: the packets of real encoded clips, sent once per showing, one showing after another.
//!
//! Sizes and send times are those of the clip's RTP packets (RTP over UDP, RFC 3550; seven MPEG-2 TS packets in each,
//! RFC 2250), which are given from outside, since the engine holds no media. It carries the packets; what was seen is
//! judged from their fates.

use super::source::{Source, User};
use super::tables::{LOST, Tables, UNDER_WAY, VideoRow};
use crate::engine::{Direction, Event, Kind, Network};
use crate::scenario;
use sojourn_net::{Span, Time};

/// The packets of one clip: when each is sent, counted from the showing's beginning and never falling, and its bytes at
/// IP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    send: Vec<Span>,
    size: Vec<u16>,
}

impl Schedule {
    /// The packets of a clip; an error says what is wrong with them.
    pub fn new(send: Vec<Span>, size: Vec<u16>) -> Result<Self, String> {
        if send.is_empty() || send.len() != size.len() {
            return Err(format!(
                "{} send times and {} sizes: expected as many, and at least one",
                send.len(),
                size.len()
            ));
        }
        if let Some(i) = (1..send.len()).find(|i| send[*i] < send[*i - 1]) {
            return Err(format!("packet {i} is sent before packet {}", i - 1));
        }
        Ok(Self { send, size })
    }

    /// Bytes of the packet that is sent at this time, if one is.
    pub fn at(&self, send: Span) -> Option<u16> {
        self.send.binary_search(&send).ok().map(|place| self.size[place])
    }

    /// Number of packets.
    pub fn packets(&self) -> usize {
        self.send.len()
    }
}

/// One viewer, to whom clips are sent in turn.
pub struct Video {
    /// Who it is.
    pub who: User,
    /// What it asks for, with the packets of its clips.
    pub settings: scenario::Video,
    /// Where it stands.
    pub shown: Shown,
}

/// Token of a wake-up that begins a showing, and of one for the next packet of the present showing, which may be its
/// first.
const BEGIN: u64 = 0;
const GO_ON: u64 = 1;

/// Showings so far.
#[derive(Default)]
pub struct Shown {
    sent_ns: Vec<u64>,
    delay_ns: Vec<i64>,
    /// The present showing, when it began, and its next packet.
    showing: u32,
    began: Time,
    next: usize,
    flow: u32,
}

impl Video {
    fn clip(&self, showing: u32) -> usize {
        showing as usize % self.settings.schedules.len()
    }

    /// Sends every packet that is due, and asks to be woken for the next one.
    fn send(&mut self, network: &mut Network) {
        let schedule = &self.settings.schedules[self.clip(self.shown.showing)];
        let shown = &mut self.shown;
        while let Some(offset) = schedule.send.get(shown.next) {
            let due = shown.began + *offset;
            if due > network.now() {
                network.wake_at(due, self.who.source, GO_ON);
                return;
            }
            // The row travels as the packet's number, with the source's own number.
            let row = shown.delay_ns.len() as u64;
            shown.sent_ns.push(network.now().0);
            shown.delay_ns.push(UNDER_WAY);
            let size = schedule.size[shown.next];
            network.datagram(&self.who.datagram(Direction::Down, Kind::Video, shown.flow, row, size));
            shown.next += 1;
        }
        shown.next = 0;
        shown.showing += 1;
        network.wake_at(network.now() + self.settings.gap, self.who.source, BEGIN);
    }
}

impl Source for Video {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start if !self.settings.schedules.is_empty() => {
                self.shown.flow = network.new_flow(self.who.group);
                self.who.start_within(self.settings.start_within, BEGIN, network);
            }
            Event::Wake(token) => {
                if token == BEGIN {
                    self.shown.began = network.now();
                }
                self.send(network);
            }
            Event::Datagram { packet, delay } => self.shown.delay_ns[packet.seq as usize] = delay.0 as i64,
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        for row in network.lost(self.who.source) {
            self.shown.delay_ns[row as usize] = LOST;
        }
        let shown = &self.shown;
        let mut first = 0;
        for showing in 0..shown.showing {
            let clip = self.clip(showing);
            let range = first..first + self.settings.schedules[clip].packets();
            first = range.end;
            let complete = shown.delay_ns[range.clone()].iter().all(|delay| *delay != UNDER_WAY);
            if complete && shown.sent_ns[range.start] >= self.who.warmup.0 {
                for (seq, place) in range.enumerate() {
                    let (sent_ns, delay_ns) = (shown.sent_ns[place], shown.delay_ns[place]);
                    let (user, clip, seq) = (self.who.number, clip as u8, seq as u32);
                    tables.video.push(VideoRow { user, showing, clip, seq, sent_ns, delay_ns });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_in_order_and_whole() {
        let ms = Span::from_millis;
        let whole = Schedule::new(vec![ms(0), ms(0), ms(3)], vec![100, 1356, 44]);
        let whole = whole.expect("in order");
        assert_eq!((whole.packets(), whole.at(ms(3)), whole.at(ms(2))), (3, Some(44), None));
        assert!(Schedule::new(vec![], vec![]).is_err());
        assert!(Schedule::new(vec![ms(0)], vec![1, 2]).is_err());
        let back = Schedule::new(vec![ms(0), ms(5), ms(4)], vec![1, 2, 3]);
        assert_eq!(back, Err("packet 2 is sent before packet 1".to_owned()));
    }
}
