//! Loads that studies may name without declaring them: `workload = "household-evening"`, or labels of the axis
//! `workload`.
//!
//! They are data (`data/loads.toml`), each with its source, and with what has none. A workload of the study's own goes
//! before one of the same name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde_json::Value;
use sojourn_net::read_as;

use crate::document;
use crate::scenario::{Flows, Provenance};

/// One load.
#[derive(Deserialize)]
struct Load {
    #[serde(flatten)]
    provenance: Provenance,
    /// Loads whose flows it has too.
    #[serde(default)]
    with: Vec<String>,
    /// Its flows, as a study file writes them.
    #[serde(default)]
    flows: Vec<Value>,
}

static LOADS: LazyLock<BTreeMap<String, Load>> =
    LazyLock::new(|| document::shipped(include_str!("../../data/loads.toml")));

/// All loads by name, and where each comes from.
pub fn loads() -> impl Iterator<Item = (&'static str, &'static Provenance)> {
    LOADS.iter().map(|(name, load)| (name.as_str(), &load.provenance))
}

/// The groups of flows of a load, as JSON; none if no load has this name.
pub(super) fn flows(name: &str) -> Option<Vec<Value>> {
    let load = LOADS.get(name)?;
    let others = load.with.iter().filter_map(|name| flows(name)).flatten();
    Some(others.chain(load.flows.iter().cloned()).collect())
}

/// The names of all loads, for a sentence.
pub(super) fn listed() -> String {
    LOADS.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The key `workload` of a study: one load in every point, or sets of flows that the axis `workload` switches between.
pub(super) enum Workloads {
    /// A load that ships.
    Load(String),
    /// Sets of the study's own.
    Sets(BTreeMap<String, Vec<Flows>>),
}

impl Default for Workloads {
    fn default() -> Self {
        Self::Sets(BTreeMap::new())
    }
}

impl Workloads {
    /// The study's own sets.
    pub(super) fn sets(&self) -> impl Iterator<Item = (&String, &Vec<Flows>)> {
        let sets = if let Self::Sets(sets) = self { Some(sets) } else { None };
        sets.into_iter().flatten()
    }
}

read_as! {
    Workloads, "the name of a load, or entries [[workload.NAME]]";

    fn visit_str<E: Error>(self, name: &str) -> Result<Workloads, E> {
        Ok(Workloads::Load(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Workloads, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Workloads::Sets)
    }
}

impl JsonSchema for Workloads {
    fn schema_name() -> Cow<'static, str> {
        "Workloads".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let sets = generator.subschema_for::<BTreeMap<String, Vec<Flows>>>();
        json_schema!({ "anyOf": [{ "enum": LOADS.keys().collect::<Vec<_>>() }, sets] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Point, StudyText, parse, points};

    const STUDY: &str = "name = 'own'\nduration = '9s'\n";
    const PATH: &str = "[path]\nrtt = '20ms'\nqueue = { kind = 'codel' }\ndown.rate = '500Mbit'\nup.rate = '50Mbit'\n";

    fn read(text: &str) -> Result<Vec<Point>, String> {
        let document = parse(&[StudyText { name: "own.toml", text }], &[]).map_err(|error| error.to_string())?;
        let texts = points(&document).map_err(|error| error.to_string())?;
        Ok(texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect())
    }

    fn names(point: &Point) -> Vec<String> {
        point.document.flows.iter().map(|group| group.name.clone().unwrap()).collect()
    }

    #[test]
    fn every_load_is_a_set_of_flows_that_a_study_may_have() {
        let labels: Vec<_> = LOADS.keys().map(|name| format!("'{name}'")).collect();
        let points = read(&format!("{STUDY}{PATH}[sweep]\nworkload = [{}]\n", labels.join(", "))).unwrap();
        assert_eq!(points.len(), LOADS.len());
        for (point, name) in points.iter().zip(LOADS.keys()) {
            assert!(!point.document.flows.is_empty(), "{name}");
        }
        assert_eq!(
            names(&points[1]),
            ["cloud-backup", "update-cubic", "update-bbr"],
            "a load takes over others' flows"
        );
    }

    #[test]
    fn every_load_it_takes_over_is_there() {
        for load in LOADS.values() {
            assert!(load.with.iter().all(|name| LOADS.contains_key(name)));
        }
    }

    #[test]
    fn the_key_is_in_every_point_and_the_axis_names_loads_beside_one_s_own() {
        let found = read(&format!("{STUDY}workload = 'video-upload'\n{PATH}[sweep]\nseed = [1, 2]\n")).unwrap();
        assert_eq!(found.iter().map(names).collect::<Vec<_>>(), [["video-upload"], ["video-upload"]]);
        let own = "[[workload.torrent]]\nsource.kind = 'bulk'\ntransport = 'reno'\ndirection = 'up'\n\
                   [sweep]\nworkload = ['none', 'torrent', 'video-upload']\n";
        let found = read(&format!("{STUDY}{PATH}{own}")).unwrap();
        assert_eq!(found.iter().map(names).collect::<Vec<_>>(), [vec![], vec!["workload-0"], vec!["video-upload"]]);
    }

    #[test]
    fn what_no_load_is_called_is_refused_with_those_that_there_are() {
        let error = read(&format!("{STUDY}workload = 'video-uplod'\n{PATH}")).unwrap_err();
        assert!(
            error
                .contains("own.toml:3:12: workload: \"video-uplod\" is not a load that ships; those are cloud-backup,"),
            "{error}"
        );
        let error = read(&format!("{STUDY}{PATH}[sweep]\nworkload = ['evening']\n")).unwrap_err();
        assert!(error.contains("is not a workload; this study has none; loads that ship are cloud-backup,"), "{error}");
        let both = read(&format!("{STUDY}workload = 'torrent'\n{PATH}[sweep]\nworkload = ['none', 'torrent']\n"));
        assert!(both.unwrap_err().contains("workload: is an axis already"));
    }
}
