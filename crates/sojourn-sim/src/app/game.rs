//! Players of games: messages at a fixed pace in both directions, each of one or more datagrams.
//!
//! An online game sends a tick either way at its tick rate; a game that is streamed sends the packets of a picture at
//! once at its frame rate, and takes input at another. The engine carries the packets; whether they were in time is
//! judged from their fates. In the packet log they are video: both are streams of moments that come too late or not.

use super::source::{Source, User, uniform};
use super::tables::{GameRow, GameTable, LOST, Tables, UNDER_WAY};
use crate::engine::{Direction, Event, Kind, Network};
use sojourn_net::{Span, Time};

/// What a player sends or is sent: messages at a fixed pace.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Messages a second.
    pub per_second: u32,
    /// Sizes at IP of the datagrams of a message.
    pub sizes: Vec<u16>,
}

/// One player.
pub struct Game {
    /// Who it is.
    pub who: User,
    /// To the player, and from it.
    pub paces: [(Direction, Pace); 2],
    /// Playing starts within this time.
    pub start_within: Span,
    /// What was sent so far.
    pub played: Played,
}

/// What was sent so far.
#[derive(Default)]
pub struct Played {
    rows: GameTable,
    flows: [u32; 2],
    messages: [u32; 2],
    start: [u64; 2],
}

impl Game {
    fn send(&mut self, way: usize, network: &mut Network) {
        let (direction, pace) = &self.paces[way];
        let played = &mut self.played;
        for size in &pace.sizes {
            let row = played.rows.user.len() as u64;
            played.rows.push(GameRow {
                user: self.who.number,
                direction: u8::from(*direction == Direction::Down),
                message: played.messages[way],
                sent_ns: network.now().0,
                delay_ns: UNDER_WAY,
            });
            network.datagram(&self.who.datagram(*direction, Kind::Video, played.flows[way], row, *size));
        }
        played.messages[way] += 1;
        // From the beginning, so that the pace is exact.
        let next = u64::from(played.messages[way]) * 1_000_000_000 / u64::from(pace.per_second);
        network.wake_at(Time(played.start[way] + next), self.who.source, way as u64);
    }
}

impl Source for Game {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                for way in 0..2 {
                    self.played.flows[way] = network.new_flow(self.who.group);
                    let start = (uniform(&mut self.who.rng) * self.start_within.0 as f64) as u64;
                    self.played.start[way] = start;
                    network.wake_at(Time(start), self.who.source, way as u64);
                }
            }
            Event::Wake(way) => self.send(way as usize, network),
            Event::Datagram { packet, delay } => self.played.rows.delay_ns[packet.seq as usize] = delay.0 as i64,
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        for row in network.lost(self.who.source) {
            self.played.rows.delay_ns[row as usize] = LOST;
        }
        let rows = &self.played.rows;
        for place in 0..rows.user.len() {
            if rows.sent_ns[place] >= self.who.warmup.0 && rows.delay_ns[place] != UNDER_WAY {
                tables.game.push(rows.row(place));
            }
        }
    }
}
