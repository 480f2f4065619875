//! From the tables of a run to the scores in its result, by formulas alone.

use serde_json::{Map, Value};
use sojourn_net::Span;
use sojourn_qoe::calls::Packet;
use sojourn_qoe::method::Method;
use sojourn_qoe::{voice, web};
use sojourn_sim::app::Tables;
use sojourn_sim::scenario::{Scenario, ScoreMethod, Users};

/// How one entry of users is scored, and the numbers of its first user and the one after its last.
pub(crate) struct Entry {
    users: (u32, u32),
    by: By,
}

enum By {
    Voice(Method),
    Web(web::Scale),
}

/// How the users of a scenario are scored; a sentence if one cannot be by formulas.
pub(crate) fn methods(scenario: &Scenario) -> Result<Vec<Entry>, String> {
    let mut first = 0;
    scenario
        .users
        .iter()
        .enumerate()
        .map(|(place, users)| {
            let by = match users {
                Users::Voice(user) if user.pauses() => {
                    return Err(format!(
                        "users.{place} sends no pauses, which takes the speech itself, and a page has none: leave out dtx"
                    ));
                }
                Users::Voice(user) if user.score == ScoreMethod::Emodel => By::Voice(Method::of(user)),
                Users::Voice(_) => {
                    return Err(format!(
                        "users.{place} is to be scored by PESQ, which is not in a page: set score = \"emodel\""
                    ));
                }
                Users::Web(user) => By::Web(web::Scale {
                    best_s: seconds(user.plt_min),
                    worst_s: seconds(user.plt_max),
                    round_trips: f64::from(user.round_trips),
                }),
                _ => return Err(format!("users.{place} cannot be scored in a page; voice and web users can")),
            };
            let start = first;
            first += users.count();
            Ok(Entry { users: (start, first), by })
        })
        .collect()
}

fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e9
}

/// The keys of a result that have scores: `voice` and `web`, as far as there is something to score.
pub(crate) fn score(entries: &[Entry], tables: &Tables) -> Result<Map<String, Value>, String> {
    let (mut calls, mut loads) = (Vec::new(), Vec::new());
    for Entry { users: (first, last), by } in entries {
        let mine = |user: u32| (*first..*last).contains(&user);
        match by {
            By::Voice(method) => calls.extend(voice::calls(packets(tables, mine), method)?),
            By::Web(scale) => loads.push((*scale, of_table(tables, mine))),
        }
    }
    let mut found = Map::new();
    let mut add = |name: &str, scores: Option<serde_json::Result<Value>>| {
        found.extend(scores.and_then(Result::ok).map(|scores| (name.to_owned(), scores)));
    };
    add("voice", (!calls.is_empty()).then(|| serde_json::to_value(voice::summary(&calls))));
    add("web", web::summary(&loads).map(serde_json::to_value));
    Ok(found)
}

fn packets(tables: &Tables, mine: impl Fn(u32) -> bool) -> Vec<Packet> {
    let table = &tables.voice;
    let row = |i: usize| Packet {
        direction: table.direction[i],
        user: table.user[i],
        call: table.call[i],
        seq: table.seq[i],
        sent_ns: table.sent_ns[i],
        delay_ns: table.delay_ns[i],
    };
    (0..table.user.len()).filter(|i| mine(table.user[*i])).map(row).collect()
}

fn of_table(tables: &Tables, mine: impl Fn(u32) -> bool) -> Vec<web::Load> {
    let table = &tables.web;
    let row = |i: usize| web::Load {
        plt_s: table.plt_ns[i] as f64 / 1e9,
        complete: table.complete[i],
        rtt_s: table.rtt_ns[i] as f64 / 1e9,
        repair_s: table.repair_ns[i] as f64 / 1e9,
    };
    (0..table.user.len()).filter(|i| mine(table.user[*i])).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_judged_by_the_times_and_round_trips_of_their_readers() {
        let scenario = r#"{"duration": "9s", "path": {"rtt": "40ms",
            "down": {"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}},
            "up": {"rate": "1Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}},
            "users": [{"kind": "web", "count": 3},
                      {"kind": "web", "count": 2, "plt-min": "100ms", "plt-max": "9s", "round-trips": 5}]}"#;
        let found = methods(&serde_json::from_str(scenario).unwrap()).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|Entry { users, by }| match by {
                By::Web(scale) => (*users, scale.best_s, scale.worst_s, scale.round_trips),
                By::Voice(_) => panic!("nobody calls"),
            })
            .collect();
        assert_eq!(told, [((0, 3), 0.56, 6.0, 14.0), ((3, 5), 0.1, 9.0, 5.0)]);
    }
}
