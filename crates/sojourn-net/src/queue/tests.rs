//! What tests of disciplines share, and what is tested of all of them.

pub(super) mod check;
mod marks;
