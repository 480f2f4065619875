//! The axes of a sweep and the scenarios that their combinations make.

use serde_json::{Map, Value};
use sojourn_net::quote::{quoted, short};
use sojourn_net::refuse_if;

use super::loads::{self, Workloads};
use super::schema::StudyFile;
use super::{keys, stand_in};
use crate::document;
use crate::scenario::{Invalid, Scenario, Users};

/// The label of the axis `workload` for the scenario without any.
pub(super) const NO_WORKLOAD: &str = "none";

/// Keys of a study that make up a scenario.
const SCENARIO: [&str; 6] = ["duration", "warmup", "path", "flows", "users", "record"];

/// The axes of a study over its document.
pub(super) struct Expansion<'s> {
    axes: Vec<Axis<'s>>,
    /// What axes may change: the keys of the scenario, the workloads and the seed.
    base: Value,
}

/// One axis: its values, their labels, and what is tied to it.
struct Axis<'s> {
    name: &'s str,
    values: &'s [Value],
    labels: Vec<String>,
    /// Where the tie stands in the document, its key, and its values.
    ties: Vec<(String, &'s str, &'s [Value])>,
}

/// For some axes (by place), the value chosen (by place).
pub(super) type Choice = Vec<(usize, usize)>;

/// The values of an axis or of a tied key: an array with something in it.
fn values_of(key: String, value: &Value) -> Result<&[Value], Invalid> {
    match value {
        Value::Array(values) if values.is_empty() => {
            Err(Invalid::new(key, "has no values; an axis needs at least one"))
        }
        Value::Array(values) => Ok(values),
        _ => Err(Invalid::new(key, "must be an array of values, as in [\"8pkt\", \"64pkt\"]")),
    }
}

/// What a value is called: its text in the file; a table by its `kind`, and where tables have the same one, by the keys
/// in which these differ besides (`red rate=500kbit`), if that tells the tables of the axis apart.
fn labels_of(key: &str, values: &[Value]) -> Result<Vec<String>, Invalid> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let kinds: Option<Vec<(&str, &Map<String, Value>)>> =
        values.iter().map(|value| Some((value.get("kind")?.as_str()?, value.as_object()?))).collect();
    let of_kind = |kinds: &[(&str, &Map<String, Value>)], (kind, table): (&str, &Map<String, Value>)| {
        let alike: Vec<&Map<String, Value>> =
            kinds.iter().filter(|other| other.0 == kind).map(|other| other.1).collect();
        let differs = |name: &str| alike.iter().any(|other| other.get(name) != table.get(name));
        let own = table.iter().filter(|(name, _)| differs(name));
        own.fold(kind.to_owned(), |label, (name, value)| format!("{label} {name}={}", text(value)))
    };
    let distinct = |labels: &Vec<String>| (1..labels.len()).all(|i| !labels[..i].contains(&labels[i]));
    let by_kind = kinds.map(|kinds| kinds.iter().map(|entry| of_kind(&kinds, *entry)).collect::<Vec<_>>());
    let labels = by_kind.filter(distinct).unwrap_or_else(|| values.iter().map(text).collect());
    match (1..labels.len()).find(|i| labels[..*i].contains(&labels[*i])) {
        Some(i) => Err(Invalid::new(format!("{key}.{i}"), format!("{} is in the axis twice", short(&labels[i])))),
        None => Ok(labels),
    }
}

/// Says that a name is not among those of the axes.
pub(super) fn no_axis(name: &str, axes: &[&str]) -> String {
    let has = if axes.is_empty() { "has no axes".to_owned() } else { format!("has the axes {}", axes.join(", ")) };
    format!("{} is not an axis; the sweep {has}", quoted(name))
}

impl<'s> Expansion<'s> {
    /// Reads axes and ties.
    pub(super) fn new(study: &'s StudyFile, document: &Value) -> Result<Self, Invalid> {
        let mut axes = Vec::new();
        if let Workloads::Load(name) = &study.workload {
            check_load(name, study)?;
        }
        for (name, values) in &study.sweep {
            let key = format!("sweep.{name}");
            let root = name.split('.').next().unwrap_or_default();
            let allowed = SCENARIO.contains(&root) || root == "seed" || root == "workload";
            if !allowed {
                let message = format!(
                    "no axis can change {}; an axis is workload, seed, or a key under {}",
                    quoted(root),
                    SCENARIO.join(", ")
                );
                return Err(Invalid::new(key, message));
            }
            let values = values_of(key.clone(), values)?;
            let labels = labels_of(&key, values)?;
            if name == "workload" {
                check_workloads(&key, study, values)?;
            }
            axes.push(Axis { name, values, labels, ties: Vec::new() });
        }
        for (i, tie) in study.tie.iter().enumerate() {
            let names: Vec<_> = axes.iter().map(|axis| axis.name).collect();
            let Some(axis) = axes.iter_mut().find(|axis| axis.name == tie.with) else {
                return Err(Invalid::new(format!("tie.{i}.with"), no_axis(&tie.with, &names)));
            };
            for (name, values) in &tie.set {
                let key = format!("tie.{i}.set.{name}");
                let values = values_of(key.clone(), values)?;
                let (found, name_of_axis, has) = (values.len(), axis.name, axis.values.len());
                refuse_if!(
                    found != has,
                    key,
                    "{found} values are tied to the axis {name_of_axis}, which has {has}; give one for each"
                );
                refuse_if!(study.sweep.contains_key(name), key, "is an axis itself, so it cannot be tied to another");
                axis.ties.push((key, name, values));
            }
        }
        let root = |key: &&str| document.get(*key).map(|value| ((*key).to_owned(), value.clone()));
        let base = SCENARIO.iter().chain(&["seed", "workload"]).filter_map(root).collect();
        Ok(Self { axes, base: Value::Object(base) })
    }

    /// Number of combinations.
    pub(super) fn len(&self) -> usize {
        self.axes.iter().fold(1, |product: usize, axis| product.saturating_mul(axis.values.len()))
    }

    /// Every combination of the values of all axes, the first axis slowest.
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice> + '_ {
        (0..self.len()).map(|mut index| {
            let digits = self.axes.iter().enumerate().rev().map(|(a, axis)| {
                let digit = index % axis.values.len();
                index /= axis.values.len();
                (a, digit)
            });
            let mut choice: Choice = digits.collect();
            choice.reverse();
            choice
        })
    }

    /// The labels of a choice.
    pub(super) fn labels(&self, choice: &Choice) -> Map<String, Value> {
        let label = |(a, v): &(usize, usize)| (self.axes[*a].name.to_owned(), self.axes[*a].labels[*v].clone().into());
        choice.iter().map(label).collect()
    }

    /// The labels of an axis, if there is such an axis.
    pub(super) fn axis(&self, name: &str) -> Option<&[String]> {
        self.axes.iter().find(|axis| axis.name == name).map(|axis| axis.labels.as_slice())
    }

    /// The names of all axes.
    pub(super) fn names(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.name).collect()
    }

    /// The seed and the complete scenario of a choice.
    pub(super) fn scenario(&self, choice: &Choice) -> Result<(u64, Scenario), Invalid> {
        let mut document = self.base.clone();
        let mut workload = NO_WORKLOAD;
        for (a, v) in choice {
            let axis = &self.axes[*a];
            if axis.name == "workload" {
                workload = axis.values[*v].as_str().unwrap_or(NO_WORKLOAD);
            } else {
                set(&mut document, axis.name, &axis.values[*v])?;
            }
            for (_, key, values) in &axis.ties {
                set(&mut document, key, &values[*v])?;
            }
        }
        complete(document, workload)
    }

    /// Makes every scenario, and says which value of which axis is to blame if one is wrong.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        self.scenario(&Choice::new())?;
        for (a, axis) in self.axes.iter().enumerate() {
            for v in 0..axis.values.len() {
                if let Err(invalid) = self.scenario(&vec![(a, v)]) {
                    return Err(self.blame(a, v, invalid));
                }
            }
        }
        if self.axes.len() > 1 {
            for choice in self.choices() {
                self.scenario(&choice).map_err(|invalid| {
                    let labels = self.labels(&choice);
                    let named: Vec<String> =
                        labels.iter().map(|(axis, label)| short(&format!("{axis} = {label}"))).collect();
                    Invalid::new("sweep", format!("at {}: {}", named.join(", "), invalid.sentence()))
                })?;
            }
        }
        Ok(())
    }

    /// Puts an error of one value of one axis where the file has that value, or the first value tied to it with which
    /// the scenario is wrong.
    fn blame(&self, a: usize, v: usize, invalid: Invalid) -> Invalid {
        let axis = &self.axes[a];
        let workload = if axis.name == "workload" { axis.values[v].as_str() } else { None };
        let mut document = self.base.clone();
        let mut wrong_with = |name: &str, values: &[Value]| {
            let put = if name == "workload" { Ok(()) } else { set(&mut document, name, &values[v]) };
            put.and_then(|()| complete(document.clone(), workload.unwrap_or(NO_WORKLOAD))).err()
        };
        let own = format!("sweep.{}", axis.name);
        let (key, invalid) = match wrong_with(axis.name, axis.values) {
            Some(invalid) => (&own, invalid),
            None => {
                let mut ties = axis.ties.iter();
                let wrong = ties.find_map(|(key, name, values)| Some((key, wrong_with(name, values)?)));
                wrong.unwrap_or((&own, invalid))
            }
        };
        Invalid::new(format!("{key}.{v}"), invalid.sentence())
    }
}

/// Refuses a load of all points that does not ship, or stands beside an axis of workloads.
fn check_load(name: &str, study: &StudyFile) -> Result<(), Invalid> {
    let known = name == NO_WORKLOAD || loads::flows(name).is_some();
    refuse_if!(!known, "workload", "{} is not a load that ships; those are {}", quoted(name), loads::listed());
    let twice = study.sweep.contains_key("workload");
    refuse_if!(twice, "workload", "is an axis already: put the load among its values, or leave the axis out");
    Ok(())
}

/// Refuses values of the axis `workload` that name none.
fn check_workloads(key: &str, study: &StudyFile, values: &[Value]) -> Result<(), Invalid> {
    for (i, value) in values.iter().enumerate() {
        let own = |name: &str| study.workload.sets().any(|(own, _)| own == name);
        let known = |name: &str| name == NO_WORKLOAD || own(name) || loads::flows(name).is_some();
        if !value.as_str().is_some_and(known) {
            let names: Vec<&str> = study.workload.sets().map(|(name, _)| name.as_str()).chain([NO_WORKLOAD]).collect();
            let message = format!(
                "{} is not a workload; this study has {}; loads that ship are {}",
                short(&value.to_string()),
                names.join(", "),
                loads::listed()
            );
            return Err(Invalid::new(format!("{key}.{i}"), message));
        }
    }
    Ok(())
}

/// Puts a value of an axis in its place.
fn set(document: &mut Value, key: &str, value: &Value) -> Result<(), Invalid> {
    keys::put(document, &keys::split(key), value.clone()).map_err(|message| Invalid::new("", message))
}

/// The flows that a point has besides its own: of the load that the key `workload` names, or of the label `workload` of
/// the axis, the study's own set before one that ships.
fn groups_of(declared: Option<Value>, workload: &str) -> Option<Value> {
    match declared {
        Some(Value::String(load)) => loads::flows(&load).map(Value::Array),
        Some(Value::Object(mut sets)) if sets.contains_key(workload) => sets.shift_remove(workload),
        _ => loads::flows(workload).map(Value::Array),
    }
}

/// Reads the scenario out of a document, adds the workload's flows, fills in names and checks the whole.
fn complete(mut document: Value, workload: &str) -> Result<(u64, Scenario), Invalid> {
    let wrong = |invalid: Invalid| Invalid::new("", invalid.message);
    let mut take = |key: &str| document.as_object_mut().and_then(|table| table.shift_remove(key));
    let seed = take("seed").map_or(Ok(1), |seed| document::read(&seed).map_err(wrong))?;
    let groups = groups_of(take("workload"), workload);
    stand_in::share(&mut document);
    let mut scenario = document::read::<Scenario>(&document).map_err(wrong)?;
    for (i, group) in scenario.flows.iter_mut().enumerate() {
        group.name.get_or_insert_with(|| format!("flows-{i}"));
    }
    let own = scenario.flows.len();
    scenario.flows.extend(groups.map_or(Ok(Vec::new()), |groups| document::read(&groups).map_err(wrong))?);
    for (i, group) in scenario.flows[own..].iter_mut().enumerate() {
        group.name.get_or_insert_with(|| format!("workload-{i}"));
    }
    scenario.check()?;
    scenario.users = scenario.users.into_iter().flat_map(Users::members).collect();
    for (i, user) in scenario.users.iter_mut().enumerate() {
        user.name_mut().get_or_insert_with(|| format!("users-{i}"));
        user.settle();
    }
    let names = scenario.flows.iter().map(|group| group.name.as_deref());
    let mut names: Vec<_> = names.chain(scenario.users.iter().map(|user| user.name())).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let name = pair[0].unwrap_or_default();
        let message = format!("two groups of flows or users are named {}; names must differ", quoted(name));
        return Err(Invalid::new("", message));
    }
    Ok((seed, scenario))
}

#[cfg(test)]
mod tests {
    use crate::study::{Point, StudyText, parse, points};

    const STUDY: &str = r#"name = "own"
duration = "9s"
repeat = 2
[path]
rtt = "50ms"
down = { rate = "2Mbit", queue = { kind = "fifo", limit = "9pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "up"
[[workload.two]]
source = { kind = "bulk" }
transport = "reno"
direction = "down"
[[workload.two]]
source = { kind = "bulk" }
transport = "reno"
direction = "up"
[[users]]
kind = "web"
[[users]]
kind = "voice"
codec = "g711a"
"#;

    fn expand(more: &str) -> Result<Vec<Point>, String> {
        let text = format!("{STUDY}{more}");
        let document = parse(&[StudyText { name: "own.toml", text: &text }], &[]).map_err(|error| error.to_string())?;
        let texts = points(&document).map_err(|error| error.to_string())?;
        Ok(texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect())
    }

    #[test]
    fn groups_are_named_by_their_places_among_their_own() {
        let points = expand("[sweep]\nworkload = ['two', 'none']\n").unwrap();
        let names = |point: &Point| {
            let flows = point.document.flows.iter().map(|group| group.name.clone().unwrap());
            flows.chain(point.document.users.iter().map(|user| user.name().unwrap().to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(names(&points[0]), ["flows-0", "flows-1", "workload-0", "workload-1", "users-0", "users-1"]);
        assert_eq!(names(&points[2]), ["flows-0", "flows-1", "users-0", "users-1"], "none adds nothing");
        assert_eq!(names(&expand("").unwrap()[0]), ["flows-0", "flows-1", "users-0", "users-1"]);
    }

    #[test]
    fn the_seed_is_the_study_s_or_the_axis_s_and_replications_share_it() {
        let of = |points: Vec<Point>| points.iter().map(|point| (point.seed, point.replication)).collect::<Vec<_>>();
        assert_eq!(of(expand("").unwrap()), [(1, 0), (1, 1)]);
        assert_eq!(of(expand("[sweep]\nseed = [7, 3]\n").unwrap()), [(7, 0), (7, 1), (3, 0), (3, 1)]);
    }

    #[test]
    fn an_axis_changes_what_those_before_it_have_put() {
        let more = "[sweep]\n'path.down.queue' = [{ kind = 'codel', limit = '5pkt' }, { kind = 'pie', limit = '6pkt' }]\n\
                    'path.down.queue.limit' = ['7pkt', '8pkt']\n\
                    [[tie]]\nwith = 'path.down.queue.limit'\nset = { 'path.up.queue.limit' = ['3pkt', '4pkt'], 'flows.1.count' = [5, 6] }\n";
        let found: Vec<_> = expand(more)
            .unwrap()
            .iter()
            .filter(|point| point.replication == 0)
            .map(|point| {
                let path = &point.document.path;
                let limits = (path.hops[0].down.queue.limit().to_string(), path.hops[0].up.queue.limit().to_string());
                let labels: Vec<_> = point.point.values().map(|label| label.as_str().unwrap().to_owned()).collect();
                (labels.join(" "), limits.0, limits.1, point.document.flows[1].count)
            })
            .collect();
        let row =
            |labels: &str, down: &str, up: &str, count| (labels.to_owned(), down.to_owned(), up.to_owned(), count);
        assert_eq!(
            found,
            [
                row("codel 7pkt", "7pkt", "3pkt", 5),
                row("codel 8pkt", "8pkt", "4pkt", 6),
                row("pie 7pkt", "7pkt", "3pkt", 5),
                row("pie 8pkt", "8pkt", "4pkt", 6)
            ]
        );
    }

    #[test]
    fn labels_tell_tables_of_one_kind_apart_by_what_differs() {
        let more = "[sweep]\n'path.down.queue' = [{ kind = 'fifo', limit = '5pkt' }, { kind = 'codel', limit = '5pkt', target = '1ms' }, \
                    { kind = 'codel', limit = '5pkt', target = '2ms' }, { kind = 'codel', limit = '5pkt' }]\n";
        let labels: Vec<_> =
            expand(more).unwrap().iter().step_by(2).map(|point| point.point["path.down.queue"].clone()).collect();
        assert_eq!(labels, ["fifo", "codel target=1ms", "codel target=2ms", "codel"]);
    }

    #[test]
    fn of_an_axis_and_its_ties_the_first_that_is_wrong_is_to_blame() {
        let error = |axis: &str, ties: [&str; 2]| {
            let of = |tie| format!("[[tie]]\nwith = '{axis}'\nset = {{ {tie} }}\n");
            let values = if axis == "workload" { "['none', 'two']" } else { "['1Mbit', '2Mbit']" };
            expand(&format!("[sweep]\n'{axis}' = {values}\n{}{}", of(ties[0]), of(ties[1]))).unwrap_err()
        };
        let right = "'path.up.rate' = ['1Mbit', '2Mbit']";
        for axis in ["path.down.rate", "workload"] {
            let wrong = error(axis, [right, "'path.rtt' = ['1ms', 'x']"]);
            assert!(wrong.contains("tie.1.set.path.rtt.1: \"x\" is not a time"), "{wrong}");
            let wrong = error(axis, ["'path.rt' = ['1ms', '2ms']", "'path.rtt' = ['1ms', 'x']"]);
            assert!(wrong.contains("tie.0.set.path.rt.0: unknown field `rt`"), "{wrong}");
        }
        let wrong = error("path.down.rat", [right, "'path.rtt' = ['1ms', '2ms']"]);
        assert!(wrong.contains("own.toml:30:20: unknown field `rat`"), "{wrong}");
    }

    #[test]
    fn combinations_that_only_together_are_wrong_are_named() {
        let more = "[sweep]\n'path.up.rate' = ['1Mbit', 'unlimited']\n'path.up.queue.limit' = ['9pkt', '2BDP']\n";
        let error = expand(more).unwrap_err();
        assert!(
            error.contains(
                "sweep: at path.up.rate = \"unlimited\", path.up.queue.limit = \"2BDP\": path.up.queue.limit: a limit of"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_round_trip_is_split_between_the_sides() {
        let delays = |from: &str| {
            let text = STUDY.replace("rtt = \"50ms\"", from);
            let document =
                parse(&[StudyText { name: "own.toml", text: &text }], &[]).map_err(|error| error.to_string())?;
            let point: Point = serde_json::from_str(&points(&document).unwrap()[0]).unwrap();
            Ok((point.document.path.client_delay.as_millis(), point.document.path.server_delay.as_millis()))
        };
        assert_eq!(delays("rtt = '50ms'"), Ok((12.5, 12.5)));
        assert_eq!(delays("rtt = '50ms'\nclient-delay = '5ms'"), Ok((5.0, 20.0)));
        assert_eq!(delays("rtt = '50ms'\nserver-delay = '5ms'"), Ok((20.0, 5.0)));
        assert_eq!(delays("client-delay = '5ms'\nserver-delay = '1ms'"), Ok((5.0, 1.0)));
        let refused: Result<(f64, f64), String> = delays("rtt = '50ms'\nserver-delay = '26ms'");
        assert!(refused.unwrap_err().contains("does not fit"));
    }
}
