//! A request of the page, and what it is answered.

use crate::{result, scores, view};
use serde::{Deserialize, Serialize};
use sojourn_sim::document;
use sojourn_sim::study::{self, Point, StudyText};

/// What the page asks for.
#[derive(Deserialize)]
struct Request {
    /// A study file, with one point.
    study: String,
    /// Version of the results format.
    format: u32,
    /// The build that results are to name.
    build: String,
    /// The link to be watched, and from which second on.
    watch: (String, f64),
}

#[derive(Serialize)]
struct Answer {
    /// The bytes that `sojourn run` would store.
    stored: String,
    view: view::View,
}

/// Runs the study of a request (JSON: `study`, `format`, `build`, `watch` of link and second). Returns JSON: `stored`,
/// the text of the result's file, and `view` of what is not in it; or `error`, one sentence.
pub fn answer(request: &str) -> String {
    let answered = run(request).and_then(|answer| serde_json::to_string(&answer).map_err(|error| error.to_string()));
    answered.unwrap_or_else(|error| serde_json::json!({ "error": error }).to_string())
}

fn run(request: &str) -> Result<Answer, String> {
    let request: Request = serde_json::from_str(request).map_err(|error| format!("this is no request: {error}"))?;
    let file = StudyText { name: "the study", text: &request.study };
    let document = study::parse(&[file], &[]).map_err(|error| error.to_string())?;
    let points = study::points(&document).map_err(|error| error.to_string())?;
    let [text] = points.as_slice() else {
        return Err(format!("the study has {} points; a page runs a study of one", points.len()));
    };
    let point: Point = document::from_json(text)?;
    let methods = scores::methods(&point.document)?;
    if let Some(file) = point.document.missing_file() {
        return Err(format!("the study names the file {file}; a page reads no files"));
    }
    let hash = result::point_hash(text, request.format, &request.build)?;
    // The packet log is kept for the view, and is no part of what was asked for: it changes no number.
    let mut scenario = point.document.clone();
    scenario.record.packets = true;
    let outcome = sojourn_sim::run(&scenario, point.seed, point.replication, &mut |_| true).ok_or("it was stopped")?;
    let scored = scores::score(&methods, &outcome.tables)?;
    let stored = result::stored(&hash, &point, &outcome.summary, scored, &request.build)?;
    let logs = outcome.logs.unwrap_or_default();
    let view = view::of(&point.document, &logs, &request.watch);
    Ok(Answer { stored, view })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const STUDY: &str = r#"
name = "x"
duration = "4s"
warmup = "1s"
path.rtt = "40ms"
path.down = { rate = "10Mbit", queue = { kind = "fifo", limit = "40pkt" } }
path.up = { rate = "1Mbit", queue = { kind = "codel" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
[[users]]
kind = "voice"
codec = "g711a"
call = "1s"
score = "emodel"
[[users]]
kind = "web"
"#;

    fn asked(study: &str) -> Value {
        let request = serde_json::json!({ "study": study, "format": 2, "build": "b", "watch": ["down", 1.0] });
        serde_json::from_str(&answer(&request.to_string())).unwrap()
    }

    #[test]
    fn a_study_is_run_and_scored() {
        let found = asked(STUDY);
        let stored: Value = serde_json::from_str(found["stored"].as_str().unwrap()).unwrap();
        let keys: Vec<_> = stored.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "hash",
            "study",
            "point",
            "replication",
            "links",
            "flows",
            "groups",
            "fairness",
            "voice",
            "web",
            "engine",
            "sha256",
        ];
        assert_eq!(keys, expected);
        assert_eq!(stored["engine"]["build"], "b");
        assert!(found["view"]["watch"]["arrive_us"].as_array().unwrap().len() > 100);
        assert_eq!(asked(STUDY), found, "it is the same again");
    }

    #[test]
    fn wide_band_speech_is_scored_and_says_what_its_model_has_from_memory() {
        let side = |study: &str| {
            let stored: Value = serde_json::from_str(asked(study)["stored"].as_str().unwrap()).unwrap();
            stored["voice"]["listens"].clone()
        };
        let (narrow, wide) = (side(STUDY), side(&STUDY.replace("g711a", "g722")));
        assert!(narrow.get("note").is_none() && wide["note"].as_str().unwrap().contains("from memory"));
        assert_ne!(narrow["z1"]["median"], wide["z1"]["median"]);
        let neteq = side(&STUDY.replace("call = \"1s\"", "call = \"1s\"\nplayout = { kind = \"neteq\" }"));
        assert_ne!(narrow["ta_ms"], neteq["ta_ms"]);
    }

    #[test]
    fn what_cannot_be_run_in_a_page_is_one_sentence() {
        for (study, says) in [
            (STUDY.replace("40pkt", "40pk"), "40pk"),
            (STUDY.replace("score = \"emodel\"", ""), "score = \"emodel\""),
            (STUDY.replace("kind = \"web\"", "kind = \"browser\""), "voice and web"),
            (STUDY.replace("g711a\"", "opus\"\nopus.dtx = true"), "sends no pauses"),
            (STUDY.replace("warmup = \"1s\"", "repeat = 3"), "3 points"),
        ] {
            let error = asked(&study)["error"].as_str().unwrap().to_owned();
            assert!(error.contains(says), "{error}");
        }
    }
}
