//! What could not be read, in one sentence.

use std::path::Path;

/// What could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("{}: {}", .0, without_number(.1))]
    Io(String, std::io::Error),
    /// It could be read, and is not taken.
    #[error("{0} {1}")]
    Refused(String, &'static str),
    /// It is no capture.
    #[error(
        "{0} is no capture: it begins with {1}; expected a pcap or pcapng file (µs or ns, either byte order), plain, gzip or zstd"
    )]
    Unknown(String, String),
}

pub(crate) fn io_error(path: &Path, error: std::io::Error) -> ReadError {
    ReadError::Io(name_of(path), error)
}

/// The system's words, without the number of its error that Rust adds to them.
fn without_number(error: &std::io::Error) -> String {
    let words = error.to_string();
    words.split_once(" (os error ").map_or(words.clone(), |(words, _)| words.to_owned())
}

/// A path on one line.
pub(crate) fn name_of(path: &Path) -> String {
    let plain = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    path.to_string_lossy().chars().map(plain).collect()
}
