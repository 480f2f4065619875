//! DCTCP: Reno that gives up only as much of its window as was marked.
//!
//! How it works: A queue marks (CE) every packet above a shallow threshold, and the receiver echoes each mark.
//! - At the end of each window the share of marked bytes F moves the average: α ← (1 − g)·α + g·F, with g = 1/16.
//! - A window with marks is reduced by the factor 1 − α/2, once: by half if all was marked, hardly if little was.
//! - Growth, and the halving after a loss, are Reno's.
//!
//! The reduction in proportion keeps the queue near the threshold with little loss of throughput.
//!
//! Use it when: you model a data centre whose queues mark at a step threshold (RED with `min` = `max`). Beside Reno
//! or CUBIC in one queue it takes nearly everything; on the Internet that is what L4S and `prague` are for.
//!
//! Source: RFC 8257 (2017) §3.3 with g = 1/16, in the integer arithmetic of Linux's `tcp_dctcp`: α in 1024ths, 1024
//! at first; at the end of each window α loses its sixteenth (or all, if that is less than one) and gains 64 × the
//! share of bytes that were marked; a mark takes α/2048 of the window, in whole segments rounded down, once a window.
//! Growth, and the halving after a loss, are [`Reno`]'s. Differences: a timeout halves ssthresh as a loss does (RFC
//! 8257 §3.5; Linux applies α); the share of marks is one of bytes, where Linux counts packets.

use super::control::{Ack, Congestion, CongestionControl, Round, Window};
use super::reno::{Counting, Reno};
use super::variables::Variables;
use crate::Time;

/// α is in these parts.
const SCALE: u64 = 1024;
/// log₂ of 1/g.
const SHIFT_G: u32 = 4;

/// DCTCP congestion control.
pub struct Dctcp {
    reno: Reno,
    alpha: u64,
    round: Round,
    /// Bytes delivered, and of them marked, in this round.
    delivered: u64,
    marked: u64,
}

impl Dctcp {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64) -> Self {
        let reno = Reno::new(mss, initial, Counting::Bytes);
        Self { reno, alpha: SCALE, round: Round::default(), delivered: 0, marked: 0 }
    }

    fn end_round(&mut self) {
        let decay = self.alpha >> SHIFT_G;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        self.alpha += (self.marked * (SCALE >> SHIFT_G)).checked_div(self.delivered).unwrap_or_default();
        self.alpha = self.alpha.min(SCALE);
        (self.delivered, self.marked) = (0, 0);
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.delivered += ack.delivered;
        self.marked += ack.ce_bytes;
        if self.round.ends(ack) {
            self.end_round();
        }
        self.reno.on_ack(now, ack);
    }

    fn on_congestion(&mut self, now: Time, what: Congestion, in_flight: u64) {
        match what {
            Congestion::Mark => {
                let mss = self.reno.mss;
                self.reno.reduce(|cwnd| cwnd - cwnd / mss * self.alpha / (2 * SCALE) * mss);
            }
            Congestion::Loss | Congestion::Timeout => self.reno.on_congestion(now, what, in_flight),
        }
    }

    fn on_idle(&mut self, now: Time, restart: u64) {
        self.reno.on_idle(now, restart);
    }

    fn window(&self) -> Window {
        self.reno.window()
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        self.reno.variables(show);
        if let Some(alpha) = show.changed("alpha", self.alpha as f64) {
            self.alpha = (alpha as u64).min(SCALE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const MSS: u64 = 1000;

    #[test]
    fn alpha_and_the_window_of_linux() {
        let mut dctcp = Dctcp::new(MSS, 100 * MSS);
        let mut una = 0;
        let rounds = [(10, 10), (5, 10), (0, 10), (0, 10), (1, 10), (10, 10)].map(|(marked, delivered)| {
            una += 200 * MSS;
            let ack = Ack {
                una,
                next: una,
                ce_bytes: marked * MSS,
                recovering: true,
                ..Ack::of(delivered * MSS, Span::ZERO)
            };
            dctcp.on_ack(Time::ZERO, &ack);
            let mut reduced = Dctcp::new(MSS, 100 * MSS);
            reduced.alpha = dctcp.alpha;
            reduced.on_congestion(Time::ZERO, Congestion::Mark, 0);
            (dctcp.alpha, reduced.window().cwnd / MSS)
        });
        assert_eq!(rounds, [(1024, 50), (992, 52), (930, 55), (872, 58), (824, 60), (837, 60)]);
    }

    #[test]
    fn alpha_vanishes_once_its_sixteenth_is_less_than_one() {
        let mut dctcp = Dctcp::new(MSS, 10 * MSS);
        dctcp.alpha = 16;
        dctcp.end_round();
        assert_eq!(dctcp.alpha, 15);
        dctcp.end_round();
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn a_loss_halves_whatever_alpha() {
        let mut dctcp = Dctcp::new(MSS, 100 * MSS);
        dctcp.alpha = 0;
        dctcp.on_congestion(Time::ZERO, Congestion::Mark, 0);
        assert_eq!(dctcp.window().cwnd, 100 * MSS);
        dctcp.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!(dctcp.window().cwnd, 50 * MSS);
    }
}
