//! Scores by formulas, told by what results have of them.

use sojourn_qoe::calls::Packet;
use sojourn_qoe::emodel;
use sojourn_qoe::method::{Buffer, Method, Scale as Band};
use sojourn_qoe::voice;
use sojourn_qoe::web::{self, Load, Scale};
use std::fmt::Debug;

const SCALE: Scale = Scale { best_s: 0.56, worst_s: 6.0, round_trips: 14.0 };

fn load(plt_s: f64) -> Load {
    Load { plt_s, complete: true, rtt_s: 0.05, repair_s: 0.0 }
}

#[track_caller]
fn says(found: impl Debug, part: &str) {
    let text = format!("{found:?}");
    assert!(text.contains(part), "{part} is not in {text}");
}

#[test]
fn a_direction_whose_other_one_was_lost_has_its_own_delay() {
    let call = |direction, delay_ns| {
        let sent = move |seq| u64::from(seq) * 20_000_000;
        (0u16..400).map(move |seq| Packet { direction, user: 0, call: 0, seq, sent_ns: sent(seq), delay_ns })
    };
    let buffer = Buffer::Fixed(60_000_000);
    let (plan, scale) = (emodel::G711_PLC, Band::Narrow);
    let method = Method { plan, scale, packetisation_ms: 20.0, buffer, half_rtt: true, frames: None };
    let found = voice::calls(call(0, 30_000_000).chain(call(1, -1)).collect(), &method).unwrap();
    let found = voice::summary(&found);
    says(found.talks, "ta_ms: Some(110.0)");
    says(found.listens, "ta_ms: None");
}

#[test]
fn only_the_median_lies_between_two_loads() {
    let found = web::summary(&[(SCALE, [1.0, 2.0, 3.0, 4.0].map(load).to_vec())]);
    says(found, "plt_s: Quantiles { median: 2.5, mean: 2.5, p5: 1.0, p25: 1.0, p75: 3.0, p95: 4.0 }");
}

#[test]
fn every_entry_of_users_has_the_round_trips_of_its_own_page() {
    let short = Scale { round_trips: 2.0, ..SCALE };
    // 14 round trips of 50 ms are most of a second, 2 are not.
    says(web::summary(&[(SCALE, vec![load(1.0)]), (short, vec![load(1.0); 3])]), "rtt_dominated: 0.25");
}
