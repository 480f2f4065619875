//! Timers that are due: of sources, of retransmissions, of paced sending, of delayed acknowledgements.

use super::Network;
use crate::engine::direction::End;
use crate::engine::event::Event;
use crate::engine::event_queue::Timer;
use sojourn_net::Time;

impl Network {
    /// The earliest entry of the heap is due.
    pub(super) fn on_timer(&mut self) {
        match self.event_queue.pop() {
            Some(Timer::Source { source, token }) => self.notices.push_back((source, Event::Wake(token))),
            Some(Timer::Retransmission { slot, flow, side }) => {
                let connection = &mut self.connections[slot as usize];
                // An entry that an earlier one has overtaken is void.
                if connection.flow != flow || connection.armed[side as usize] != self.now {
                    return;
                }
                connection.armed[side as usize] = Time::NEVER;
                connection.ends[side as usize].on_timeout(self.now);
                self.flush(slot as usize, if side == 0 { End::Client } else { End::Server });
            }
            Some(Timer::Pacing { slot, flow, side }) => {
                let connection = &mut self.connections[slot as usize];
                if connection.flow == flow && connection.send_armed[side as usize] == self.now {
                    connection.send_armed[side as usize] = Time::NEVER;
                    self.flush(slot as usize, if side == 0 { End::Client } else { End::Server });
                }
            }
            Some(Timer::DelayedAck { slot, flow, side }) => self.acknowledge_late(slot, flow, side),
            None => {}
        }
    }

    /// The first delayed acknowledgement of a line is due.
    pub(super) fn on_ack_timer(&mut self, line: u16) {
        let line = &mut self.ack_timers[line as usize];
        let Some((_, slot, flow, side)) = line.timers.pop_front() else { return };
        self.event_queue.set(line.stream, line.timers.front().map_or(Time::NEVER, |t| t.0));
        self.acknowledge_late(slot, flow, side);
    }

    fn acknowledge_late(&mut self, slot: u32, flow: u32, side: u8) {
        let connection = &mut self.connections[slot as usize];
        if connection.flow != flow {
            return;
        }
        connection.ack_armed[side as usize] = false;
        connection.ends[side as usize].on_timeout(self.now);
        self.flush(slot as usize, if side == 0 { End::Client } else { End::Server });
    }
}
