//! Whether the emulator did what it was told: each thing that was set, what was got, and how far they may differ.
//!
//! The limits are stated here, before any run: they are not chosen by what a run gives.

use serde::Serialize;

/// The rate got while a queue was backlogged may differ by this share.
pub const RATE: f64 = 1e-3;
/// Half of the idle round trips may be longer by this much (µs) at most.
pub const BASE_RTT_US: f64 = 200.0;
/// 99 % of the packets must be written no later than this (µs).
pub const LATENESS_US: f64 = 1000.0;

/// One thing that was held against what was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is.
    pub what: &'static str,
    /// Of which link or direction; absent if of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// What was set, in the unit of `got`.
    pub set: f64,
    /// What was got.
    pub got: f64,
    /// The unit.
    pub unit: &'static str,
    /// How much `got` may differ from `set`.
    pub limit: f64,
    /// Whether it does not differ by more.
    pub held: bool,
}

/// The rows, and what they come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Everything was within its limit.
    pub held: bool,
    /// Why not, a sentence for each row that was not, without its full stop.
    pub reasons: Vec<String>,
    /// Each row.
    pub rows: Vec<Row>,
}

impl Verdict {
    /// Nothing was held against anything yet.
    pub fn new() -> Self {
        Self { held: true, reasons: Vec::new(), rows: Vec::new() }
    }

    /// Adds a row; `reason` is said if it is not within its limit.
    fn add(
        &mut self,
        what: &'static str,
        link: Option<&str>,
        [set, got, limit]: [f64; 3],
        (unit, held): (&'static str, bool),
        reason: String,
    ) {
        if !held {
            self.held = false;
            self.reasons.push(reason);
        }
        self.rows.push(Row { what, link: link.map(str::to_owned), set, got, unit, limit, held });
    }

    /// The rate got while the queue was backlogged.
    pub fn rate(&mut self, link: &str, set_bps: f64, ratio: f64) {
        let (set, got, held) = (set_bps * 1e-6, set_bps * ratio * 1e-6, (ratio - 1.0).abs() <= RATE);
        let reason = format!("{link} was served at {got:.3} Mbit/s instead of {set:.3}");
        self.add("rate while backlogged", Some(link), [set, got, set * RATE], ("Mbit/s", held), reason);
    }

    /// The median of the idle round trips, without the time on the links.
    pub fn base_rtt(&mut self, set_ms: f64, got_ms: f64) {
        let limit = BASE_RTT_US * 1e-3;
        let held = (got_ms - set_ms).abs() <= limit;
        let reason = format!("the idle round trip was {got_ms:.3} ms instead of {set_ms:.3}");
        self.add("base round trip, p50", None, [set_ms, got_ms, limit], ("ms", held), reason);
    }

    /// How late 99 % of the packets of a direction were at most.
    pub fn lateness(&mut self, way: &str, p99_us: f64) {
        let reason = format!("one in a hundred packets {way} left {:.1} ms late or more", p99_us * 1e-3);
        let held = p99_us <= LATENESS_US;
        self.add("lateness, p99", Some(way), [0.0, p99_us, LATENESS_US], ("us", held), reason);
    }

    /// Something of which there must be none.
    pub fn none(&mut self, what: &'static str, count: u64, said: &str) {
        self.add(what, None, [0.0, count as f64, 0.0], ("packets", count == 0), format!("{count} {said}"));
    }

    /// Decisions of a link's queue that the simulator makes alike.
    pub fn replay(&mut self, link: &str, decisions: u64, equal: u64) {
        let (numbers, held) = ([decisions as f64, equal as f64, 0.0], decisions == equal);
        let missing = decisions - equal.min(decisions);
        let reason = format!("the simulator decides otherwise about {missing} of {decisions} packets of {link}");
        self.add("decisions as in the simulator's replay", Some(link), numbers, ("packets", held), reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_limit_and_its_sentence() {
        let mut good = Verdict::new();
        good.rate("down", 16e6, 1.0009);
        good.base_rtt(40.0, 40.19);
        good.lateness("down", 1000.0);
        good.none("lost outside the queue", 0, "packets were lost");
        good.replay("up", 7, 7);
        assert!(good.held && good.reasons.is_empty() && good.rows.len() == 5);
        let mut bad = Verdict::new();
        bad.rate("down", 16e6, 0.9989);
        bad.base_rtt(40.0, 40.21);
        bad.lateness("up", 1001.0);
        bad.none("lost outside the queue", 2, "packets were lost outside the queues");
        bad.replay("up", 7, 6);
        assert!(!bad.held && bad.rows.iter().all(|row| !row.held));
        assert_eq!(
            bad.reasons,
            [
                "down was served at 15.982 Mbit/s instead of 16.000",
                "the idle round trip was 40.210 ms instead of 40.000",
                "one in a hundred packets up left 1.0 ms late or more",
                "2 packets were lost outside the queues",
                "the simulator decides otherwise about 1 of 7 packets of up",
            ]
        );
        for (ratio, held) in [(1.0009, true), (1.0011, false), (0.9991, true), (0.9989, false)] {
            let mut verdict = Verdict::new();
            verdict.rate("down", 16e6, ratio);
            assert_eq!(verdict.held, held, "too fast is as wrong as too slow: {ratio}");
        }
    }
}
