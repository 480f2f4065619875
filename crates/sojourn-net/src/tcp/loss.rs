//! Finding losses, repairing them, and taking back what turned out to be needless.

pub(super) mod frto;
pub(super) mod prr;
pub(super) mod rack;
pub(super) mod scoreboard;
pub(super) mod state;
pub(super) mod tlp;
pub(super) mod undo;
