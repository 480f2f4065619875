//! What a format tells of the next record of its file.

/// Largest captured length that is believed; tcpdump's own limit is 262144.
pub(super) const LONGEST_FRAME: usize = 1 << 20;

/// A frame of `len` bytes at `at` of the window.
pub(crate) struct Place {
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) time_ns: i64,
    pub(crate) link: u16,
    pub(crate) wire_len: u32,
    pub(crate) dropped: bool,
    pub(crate) interface: Option<u32>,
}

/// How the framing of a file ended or went on.
pub(crate) enum Step {
    /// A frame.
    Frame(Place),
    /// The file is at its end, between records.
    End,
    /// The file cannot be read on; the text goes on from "record 12 of FILE".
    Damaged { what: String, cut_short: bool },
}
