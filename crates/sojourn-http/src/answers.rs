//! What is answered to a path.

use bytes::Bytes;
use http::response::Builder;
use http::{Response, StatusCode};
use std::collections::BTreeMap;
use std::error::Error;

pub(super) type Failed = Box<dyn Error + Send + Sync>;

/// By path: header fields, and the content.
pub(super) type Answers = BTreeMap<String, (Vec<(String, String)>, Bytes)>;

/// Returns the head of an answer, and its content.
pub(super) fn answer(path: &str, answers: &Answers) -> (Builder, Bytes) {
    let Some((fields, content)) = answers.get(path) else {
        return (Response::builder().status(StatusCode::NOT_FOUND), Bytes::new());
    };
    let head = fields.iter().fold(Response::builder(), |head, (name, value)| head.header(name, value));
    (head, content.clone())
}
