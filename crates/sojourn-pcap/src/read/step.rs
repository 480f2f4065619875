//! What a format tells of the next record of its file.

/// Largest captured length that is believed; tcpdump's own limit is 262144.
pub(super) const LONGEST_FRAME: usize = 1 << 20;

/// How the framing of a file ended or went on; offsets are into the window.
pub(crate) enum Step {
    /// A frame of `len` bytes at `at` of the window.
    Frame { at: usize, len: usize, time_ns: i64, link: u16, wire_len: u32 },
    /// The file is at its end, between records.
    End,
    /// The file cannot be read on; the text goes on from "record 12 of FILE".
    Damaged { what: String, cut_short: bool },
}
