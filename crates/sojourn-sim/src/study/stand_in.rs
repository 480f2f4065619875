//! Keys of the path that a study gives by an axis alone: `[sweep] "path.queue" = […]` needs no `queue` under `[path]`.
//!
//! A study is checked, and its points begin, with the first value of such an axis in the key's place.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;

/// Puts the first value of every axis of the path in its place, where a document has nothing there.
pub(super) fn take(document: &mut Value) {
    let Some(sweep) = document.get("sweep").and_then(Value::as_object).cloned() else { return };
    for (axis, values) in sweep.iter().filter(|(axis, _)| axis.starts_with("path.")) {
        let key = keys::split(axis);
        if let (false, Some(first)) = (keys::has(document, &key), values.get(0)) {
            // What cannot be put there is told of when the axis is read.
            let _ = keys::put(document, &key, first.clone());
        }
    }
}

/// Gives the queue of a direction that names no discipline the keys of the path's: `queue = { kind = "codel" }` under
/// `[path]` and `path.down.queue.limit` alone.
pub(super) fn share(document: &mut Value) {
    let Some(shared) = document.pointer("/path/queue").and_then(Value::as_object).cloned() else { return };
    let hops = document.pointer("/path/hop").and_then(Value::as_array).map_or(0, Vec::len);
    let places = std::iter::once("/path".to_owned()).chain((0..hops).map(|hop| format!("/path/hop/{hop}")));
    let links: Vec<_> = places.flat_map(|place| ["down", "up"].map(|way| format!("{place}/{way}/queue"))).collect();
    for link in links {
        let Some(own) = document.pointer_mut(&link).and_then(Value::as_object_mut) else { continue };
        if !own.contains_key("kind") {
            for (key, value) in &shared {
                own.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
}

/// Both in a file, for errors that name the line.
pub(super) fn take_in_file<'t>(file: &mut DeTable<'t>) {
    let mut axes = Vec::new();
    if let Some(DeValue::Table(sweep)) = file.get("sweep").map(|value| value.get_ref().clone()) {
        collect(&mut Vec::new(), sweep, &mut axes);
    }
    for (key, first) in axes {
        if key.first().is_some_and(|root| root == "path") {
            put(file, &key, first);
        }
    }
    let path = file.iter_mut().find(|(name, _)| name.get_ref() == "path").map(|(_, path)| path.get_mut());
    let Some(DeValue::Table(path)) = path else { return };
    let Some(DeValue::Table(shared)) = path.get("queue").map(|queue| queue.get_ref().clone()) else { return };
    for link in links(path) {
        let queue = link.iter_mut().find(|(name, _)| name.get_ref() == "queue").map(|(_, queue)| queue.get_mut());
        let Some(DeValue::Table(own)) = queue.filter(|queue| queue.get("kind").is_none()) else { continue };
        for (key, value) in &shared {
            if !own.contains_key(key) {
                own.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The tables `down` and `up` of a path and of its hops.
fn links<'p, 't>(path: &'p mut DeTable<'t>) -> Vec<&'p mut DeTable<'t>> {
    let mut found = Vec::new();
    for (name, place) in path.iter_mut() {
        match (name.get_ref().as_ref(), place.get_mut()) {
            ("down" | "up", DeValue::Table(link)) => found.push(link),
            ("hop", DeValue::Array(hops)) => {
                for hop in hops.iter_mut() {
                    if let DeValue::Table(hop) = hop.get_mut() {
                        found.extend(links(hop));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Every axis with its first value; dots in its name, and tables, part the names on its way.
fn collect<'t>(at: &mut Vec<String>, table: DeTable<'t>, axes: &mut Vec<(Vec<String>, Spanned<DeValue<'t>>)>) {
    for (name, value) in table {
        let depth = at.len();
        at.extend(keys::split(name.get_ref()));
        match value.into_inner() {
            DeValue::Table(inner) => collect(at, inner, axes),
            DeValue::Array(values) => axes.extend(values.into_iter().next().map(|first| (at.clone(), first))),
            _ => {}
        }
        at.truncate(depth);
    }
}

fn put<'t>(table: &mut DeTable<'t>, key: &[String], first: Spanned<DeValue<'t>>) {
    let [name, rest @ ..] = key else { return };
    let span = first.span();
    let found = table.iter_mut().find(|(known, _)| known.get_ref() == name);
    match (rest, found) {
        ([], Some(_)) => {}
        ([], None) => drop(table.insert(Spanned::new(span, name.clone().into()), first)),
        (_, Some((_, place))) => {
            if let DeValue::Table(inner) = place.get_mut() {
                put(inner, rest, first);
            }
        }
        (_, None) => {
            let mut inner = DeTable::new();
            put(&mut inner, rest, first);
            let value = Spanned::new(span.clone(), DeValue::Table(inner));
            table.insert(Spanned::new(span, name.clone().into()), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::study::{Point, StudyText, parse, points};

    const STUDY: &str =
        "name = 'own'\nduration = '9s'\n[path]\nrtt = '50ms'\ndown.rate = '2mbit'\nup.rate = '1Mbit/s'\n";

    fn expand(more: &str) -> Result<Vec<Point>, String> {
        let text = format!("{STUDY}{more}");
        let document = parse(&[StudyText { name: "own.toml", text: &text }], &[]).map_err(|error| error.to_string())?;
        let texts = points(&document).map_err(|error| error.to_string())?;
        Ok(texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect())
    }

    fn queues(more: &str) -> Vec<[String; 2]> {
        let one = |queue: &crate::scenario::QueueSpec| format!("{} {}", queue.kind(), queue.limit());
        let point =
            |point: &Point| [one(&point.document.path.hops[0].down.queue), one(&point.document.path.hops[0].up.queue)];
        expand(more).unwrap().iter().map(point).collect()
    }

    #[test]
    fn both_directions_take_the_queue_of_the_path_unless_they_have_one() {
        assert_eq!(queues("queue = { kind = 'pfifo', limit = '9p' }"), [["fifo 9pkt", "fifo 9pkt"]]);
        let own = "queue = { kind = 'codel' }\nup.queue = { kind = 'fifo', limit = '3pkt' }";
        assert_eq!(queues(own), [["codel 1000pkt", "fifo 3pkt"]]);
        let error = expand("down.queue = { kind = 'codel' }").unwrap_err();
        assert!(error.contains("missing field `queue`: path.up has none, and path has none for all"), "{error}");
    }

    #[test]
    fn links_of_hops_take_the_queue_of_the_path_too() {
        let study = "name = 'own'\nduration = '9s'\n[path]\nrtt = '50ms'\nqueue = { kind = 'codel', limit = '9pkt' }\n\
                     [[path.hop]]\nname = 'a'\nup.rate = '1mbit'\ndown = { rate = '1mbit', queue.limit = '7pkt' }\n";
        let document = parse(&[StudyText { name: "own.toml", text: study }], &[]).unwrap();
        let point: Point = serde_json::from_str(&points(&document).unwrap()[0]).unwrap();
        let hop = &point.document.path.hops[0];
        let one = |queue: &crate::scenario::QueueSpec| format!("{} {}", queue.kind(), queue.limit());
        assert_eq!([&hop.up, &hop.down].map(|link| one(&link.queue)), ["codel 9pkt", "codel 7pkt"]);
    }

    #[test]
    fn an_axis_changes_the_queue_of_both() {
        let limits = "queue = { kind = 'fifo', limit = '9pkt' }\n[sweep]\n'path.queue.limit' = ['3pkt', '4pkt']";
        assert_eq!(queues(limits), [["fifo 3pkt", "fifo 3pkt"], ["fifo 4pkt", "fifo 4pkt"]]);
        let own = format!("up.queue = {{ kind = 'fifo', limit = '7pkt' }}\n{limits}");
        assert_eq!(queues(&own), [["fifo 3pkt", "fifo 7pkt"], ["fifo 4pkt", "fifo 7pkt"]], "its own goes before");
    }

    #[test]
    fn a_direction_may_change_one_key_of_the_shared_queue() {
        let one = "queue = { kind = 'codel', target = '7ms' }\ndown.queue.limit = '64p'";
        assert_eq!(queues(one), [["codel 64pkt", "codel 1000pkt"]]);
        let axis = "queue = { kind = 'fifo', limit = '9pkt' }\n[sweep]\n'path.queue' = [{ kind = 'codel' }, { kind = 'pie' }]\n\
                    'path.down.queue.limit' = ['64pkt', '8pkt']";
        let found = queues(axis);
        assert_eq!(
            found[1..3],
            [["codel 8pkt", "codel 1000pkt"], ["pie 64pkt", "pie 1000pkt"]],
            "as each point has it"
        );
    }

    #[test]
    fn what_an_axis_gives_need_not_stand_under_the_path() {
        let queue = "[sweep]\n'path.queue' = [{ kind = 'fifo', limit = '9pkt' }, { kind = 'fq_codel' }]";
        assert_eq!(queues(queue), [["fifo 9pkt", "fifo 9pkt"], ["fq-codel 10240pkt", "fq-codel 10240pkt"]]);
        let nested = "[sweep]\npath.queue = [{ kind = 'fifo', limit = '9pkt' }]\npath.up.queue = [{ kind = 'pie' }]";
        assert_eq!(queues(nested), [["fifo 9pkt", "pie 1000pkt"]]);
        let limit = "queue.kind = 'fifo'\n[sweep]\n'path.queue.limit' = ['3pkt', '4pkt']";
        assert_eq!(queues(limit).len(), 2);
        let wrong =
            expand("[sweep]\n'path.queue' = [{ kind = 'fifo', limit = '9pkt' }, { kind = 'fifo' }]").unwrap_err();
        assert!(wrong.contains("own.toml:8:52: sweep.path.queue.1: missing field `limit`"), "{wrong}");
        let first = expand("[sweep]\n'path.queue' = [{ kind = 'fiffo', limit = '9pkt' }]").unwrap_err();
        assert!(first.contains("own.toml:8:"), "the error is shown at the axis: {first}");
    }

    #[test]
    fn what_stands_under_a_hop_is_not_given_by_an_axis() {
        let text = "name = 'own'\nduration = '9s'\n[path]\nrtt = '50ms'\nqueue = { kind = 'codel' }\n[[path.hop]]\n\
                    name = 'a'\nup.rate = '1mbit'\ndown = { rate = '1mbit', queue = { kind = 'pie' } }\n\
                    [sweep]\n'path.hop.a.down.queue' = [{ limit = 'many' }, { kind = 'pie' }]";
        let document = parse(&[StudyText { name: "own.toml", text }], &[]);
        let error = document.and_then(|document| points(&document)).unwrap_err().to_string();
        assert!(error.contains("own.toml:11:") && error.contains("sweep.path.hop.a.down.queue.0"), "{error}");
    }
}
