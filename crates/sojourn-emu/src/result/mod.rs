//! What a run came to: the [`report`] that `sojourn emulate --json` prints, and the [`verdict`] on the emulator in it.

pub mod report;
pub mod verdict;
