//! What was found of each remote host, as the objects that `sojourn measure --json` prints.
//!
//! The statistics of each host become an object, which is written as a line by [`python_json`].

mod python_json;

use crate::decode::{Address, Skip};
use crate::delay::discard::Discard;
use crate::delay::host::Host;
use crate::delay::host::statistics::{DirectionStats, Stats};
use crate::delay::meter::Meter;
use crate::delay::parallel::for_each;
use crate::delay::protocol::Protocol;
use crate::delay::stats::quantiles::Quantiles;
use crate::delay::stats::series::Series;
use crate::delay::summary::python_json::{float, line};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Totals of a capture and the object of each remote host and protocol with at least `min_samples` samples, or with as
/// many packets of which none could give one. Those are lines of JSON, for they are nearly all of it; `not_measured`
/// has the places of hosts of which nothing was told.
pub fn summary(meter: &Meter, min_samples: u64) -> Value {
    let mut shown = Vec::new();
    let mut below = 0;
    for host in meter
        .hosts()
        .all
        .iter()
        .filter(|host| !host.near() || host.stats.iter().flatten().any(|s| s.from.samples + s.to.samples > 0))
    {
        for protocol in Protocol::ALL {
            let Some(stats) = &host.stats[protocol as usize] else { continue };
            let samples = stats.from.samples.max(stats.to.samples);
            let unseen = samples == 0 && host.packets[protocol as usize] >= min_samples.max(1);
            if samples >= min_samples.max(1) || unseen {
                shown.push((host, protocol, stats, String::new()));
            } else if samples > 0 {
                below += 1;
            }
        }
    }
    // Of two ends neither of which is near, the way from each is seen up to here alone.
    let remotes: BTreeSet<(Address, usize)> = shown
        .iter()
        .filter(|(.., stats, _)| stats.from.samples > 0)
        .map(|(host, protocol, ..)| (host.address, *protocol as usize))
        .collect();
    let amid: Vec<(String, String)> = shown
        .iter()
        .filter_map(|(host, protocol, stats, _)| {
            Some((host, *protocol as usize, stats.local.filter(|(_, more)| !more)?.0))
        })
        .filter(|(host, protocol, local)| {
            host.address < *local && [host.address, *local].iter().all(|end| remotes.contains(&(*end, *protocol)))
        })
        .map(|(host, _, local)| (host.address.to_string(), local.to_string()))
        .collect();
    let rule = Rule { min_samples, out_of_order: meter.out_of_order };
    for_each(
        meter.state.options.threads,
        &mut shown,
        |_, _| 0,
        |_, (host, protocol, stats, text)| {
            *text = with_rows(&object(host, *protocol, stats, rule), &stats.series);
        },
    );
    // Round trips stand for delays where a protocol shows nothing else.
    let told = |protocol: Protocol, stats: &Stats| {
        stats.from.samples + stats.to.samples > 0 || (protocol == Protocol::Quic && stats.rtt.count() > 0)
    };
    let not_measured: Vec<usize> = (0..shown.len()).filter(|&at| !told(shown[at].1, shown[at].2)).collect();
    let hosts: Vec<Value> = shown.into_iter().map(|(.., text)| text.into()).collect();
    let skipped = counts(Skip::ALL.iter().map(|skip| (skip.name(), meter.skipped[*skip as usize])));
    let discarded = counts(Discard::ALL.iter().map(|why| (why.name(), meter.state.discarded[*why as usize])));
    let mut summary = json!({
        "packets": meter.frames, "skipped": skipped, "discarded": discarded, "hosts_below_min_samples": below,
        "packets_between_local_hosts": meter.state.between_local,
        "start_s": meter.start_ns.map(|ns| ns as f64 / 1e9), "hosts": hosts, "not_measured": not_measured,
    });
    if meter.hosts().nobody_local() {
        summary["nobody_local"] = true.into();
    }
    if !amid.is_empty() {
        summary["amid"] = json!(amid);
    }
    summary
}

fn counts<'a>(named: impl Iterator<Item = (&'a str, u64)>) -> Value {
    Value::Object(named.filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count.into())).collect())
}

/// What makes a delay a lower bound, whatever its packets tell.
#[derive(Clone, Copy)]
struct Rule {
    min_samples: u64,
    out_of_order: bool,
}

fn object(host: &Host, protocol: Protocol, stats: &Stats, rule: Rule) -> Value {
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    set("remote", host.address.to_string().into());
    let local = match stats.local {
        Some((address, false)) => address.to_string(),
        Some((_, true)) => "several local hosts".to_owned(),
        None => "the observer".to_owned(),
    };
    set("local", local.clone().into());
    set("direction", format!("{} → {local}", host.address).into());
    set("protocol", protocol.name().into());
    set("samples", stats.from.samples.into());
    for (name, value) in way(&stats.from, rule) {
        set(name, value);
    }
    set("base_drift_ppm", stats.skew.map_or(Value::Null, |skew| rounded(skew.ppm)));
    let tick = match protocol {
        Protocol::Tcp => stats.tick_ns(),
        Protocol::Utp => Some(1000.0),
        Protocol::Quic => None,
    };
    set("tick_ms", tick.map_or(Value::Null, ms));
    set("discarded", counts(Discard::ALL.iter().map(|why| (why.name(), stats.discarded[*why as usize]))));
    let [observer, reported] = stats.by_estimator;
    let estimator = match (observer, reported) {
        (0, 0) => "none",
        (_, 0) => "observer_clock",
        (0, _) => "receiver_reports",
        _ => "both",
    };
    set("estimator", estimator.into());
    set("packets", host.packets[protocol as usize].into());
    set("flows", stats.flows.into());
    set("bases_taken_over", stats.bases_taken_over.into());
    set("route_changes", stats.route_changes.into());
    set("clock_steps", stats.clock_steps.into());
    set("to_remote", toward(protocol, stats, format!("{local} → {}", host.address), rule));
    set("from_remote", from(protocol, stats).into());
    set("rtt_ms", if stats.rtt.count() > 0 { rtt(&stats.rtt) } else { Value::Null });
    set("series", json!({ "bin_s": stats.series.width_s(), "rows": [] }));
    Value::Object(object)
}

/// The line of a host's object, which ends with the rows of its series: start (s), mean and maximum (ms) of each bin.
/// They are most of it, and are not made values first.
fn with_rows(object: &Value, series: &Series) -> String {
    let mut text = line(object);
    text.truncate(text.len() - "]}}".len());
    for (i, [at, mean, max]) in series.rows().into_iter().enumerate() {
        let mut before = if i > 0 { ", [" } else { "[" };
        for value in [at, round6(mean), round6(max)] {
            text.extend_from_slice(std::mem::replace(&mut before, ", ").as_bytes());
            // Writing to memory does not fail.
            float(&mut text, value).ok();
        }
        text.push(b']');
    }
    text.extend_from_slice(b"]}}");
    String::from_utf8(text).unwrap_or_default()
}

/// The keys of one direction. A few packets, such as those of handshakes, do not stand for all: what they tell is a
/// lower bound, and so is what captures in a wrong order tell.
fn way(way: &DirectionStats, rule: Rule) -> Vec<(&'static str, Value)> {
    let count = way.samples;
    let mut keys = delays(&way.delay).to_vec();
    let known = |value: Value| if count > 0 { value } else { Value::Null };
    keys.push(("uncertainty_ms", known(ms(way.uncertainty.ns() / count as f64))));
    let few = count < rule.min_samples;
    let bound = few || rule.out_of_order || way.lower_bound();
    keys.push(("lower_bound", known(bound.into())));
    let certainty = match way.lower_bound() {
        _ if rule.out_of_order => "captures not in order of time",
        _ if few => "only a few packets could be timed",
        true if way.many_untold() => "nothing tells what many packets waited",
        true => "lower bound",
        false => "base seen with an empty queue",
    };
    keys.push(("certainty", known(certainty.into())));
    // How much more it may be: nothing bounds it where null.
    let missing = way.missing().filter(|_| !few && !rule.out_of_order && bound);
    keys.push(("missing_at_most_ms", missing.map_or(Value::Null, ms)));
    keys
}

fn delays(all: &Quantiles) -> [(&'static str, Value); 5] {
    let of = |value: f64| if all.count() > 0 { ms(value) } else { Value::Null };
    [
        ("mean_ms", of(all.mean())),
        ("p50_ms", of(all.quantile(0.5))),
        ("p95_ms", of(all.quantile(0.95))),
        ("p99_ms", of(all.quantile(0.99))),
        ("max_ms", of(all.max())),
    ]
}

/// What could be seen of the way from the host, in words.
fn from(protocol: Protocol, stats: &Stats) -> &'static str {
    match (protocol, stats.by_estimator) {
        (Protocol::Quic, _) => "not seen: QUIC shows round trips only",
        (_, [0, 0]) if stats.discarded[Discard::NoTimestamps as usize] > 0 => "not seen: no TCP timestamps",
        (_, [0, 0]) if stats.discarded[Discard::TickUnknown as usize] > 0 => {
            "not seen: the tick of its clock is unknown"
        }
        (_, [0, 0]) => "not seen: no packets that could be timed",
        (_, [_, 0]) => "seen from the host to the observer",
        (_, [0, _]) => "seen from the host to its receiver",
        _ => "seen; some flows to the observer, some to the receiver",
    }
}

/// What could be seen of the way to the host.
fn toward(protocol: Protocol, stats: &Stats, direction: String, rule: Rule) -> Value {
    let samples = stats.to.samples;
    if samples > 0 {
        let mut object = Map::new();
        object.insert("direction".to_owned(), direction.into());
        object.insert("samples".to_owned(), samples.into());
        object.extend(way(&stats.to, rule).into_iter().map(|(name, value)| (name.to_owned(), value)));
        let discarded = Discard::ALL.iter().map(|why| (why.name(), stats.to.discarded[*why as usize]));
        object.insert("discarded".to_owned(), counts(discarded));
        return Value::Object(object);
    }
    let why = match protocol {
        Protocol::Quic => "not seen: QUIC shows round trips only",
        Protocol::Utp => "not seen: the host reported on no packets",
        Protocol::Tcp if stats.discarded[Discard::NoTimestamps as usize] > 0 => "not seen: no TCP timestamps",
        Protocol::Tcp => "not seen: the host acknowledged no data that the observer saw",
    };
    why.into()
}

fn rtt(all: &Quantiles) -> Value {
    json!({ "samples": all.count(), "min": ms(all.min()), "p50": ms(all.quantile(0.5)), "p95": ms(all.quantile(0.95)) })
}

fn ms(ns: f64) -> Value {
    json!(round6(ns / 1e6))
}

fn rounded(value: f64) -> Value {
    json!(libm::round(value * 1000.0) / 1000.0)
}

fn round6(value: f64) -> f64 {
    libm::round(value * 1e6) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_series_stand_last_in_a_line() {
        let object = json!({ "remote": "r", "series": { "bin_s": 0.1, "rows": [] } });
        let mut series = Series::default();
        assert_eq!(with_rows(&object, &series), r#"{"remote": "r", "series": {"bin_s": 0.1, "rows": []}}"#);
        for (time, ns) in [(0, 0.0), (100_000_000, 20.0), (200_000_000, 1.5e6), (300_000_000, 99.0)] {
            series.add(time, ns);
        }
        let rows = "[[0.0, 0.0, 0.0], [0.1, 2e-05, 2e-05], [0.2, 1.5, 1.5], [0.3, 9.9e-05, 9.9e-05]]";
        let expected = format!(r#"{{"remote": "r", "series": {{"bin_s": 0.1, "rows": {rows}}}}}"#);
        assert_eq!(with_rows(&object, &series), expected);
    }
}
