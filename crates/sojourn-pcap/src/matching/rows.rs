//! The packet log of a comparison, handed out in pieces, and the question whether to go on.

use crate::read::{Frame, ReadError};

/// Frames of a capture between two questions whether to go on: a fraction of a second, and none of its cost.
const LOOK: u64 = 1 << 16;

/// Why two captures could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// A capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// They do not belong together, or not in this order: one sentence.
    #[error("{0}")]
    Misfit(String),
    /// Whoever takes the rows does not want more.
    #[error("stopped")]
    Stopped,
}

/// Rows of the packet log, in columns, in order of arrival.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the columns of the packet log")]
pub struct Rows {
    pub packet: Vec<u32>,
    pub flow: Vec<u32>,
    pub kind: Vec<u8>,
    pub size_bytes: Vec<u32>,
    pub arrive_ns: Vec<u64>,
    pub depart_ns: Vec<i64>,
    pub drop_cause: Vec<u8>,
    pub backlog_pkts: Vec<u32>,
    pub backlog_bytes: Vec<u32>,
    pub seq: Vec<u64>,
}

/// What is given the packet log in pieces, see [`super::match_captures`].
pub(super) type Take<'a> = &'a mut dyn FnMut(Rows) -> bool;

/// Asks from time to time whether to go on: what is read before there are rows takes as long as the matching.
pub(super) fn look(frame: &Frame<'_>, take: Take<'_>) -> Result<(), MatchError> {
    if frame.number.is_multiple_of(LOOK) && !take(Rows::default()) { Err(MatchError::Stopped) } else { Ok(()) }
}
