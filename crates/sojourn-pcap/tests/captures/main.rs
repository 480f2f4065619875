//! Captures from outside the crate. One program: each would compile and link readers and estimators once more.

mod dropped;
mod formats;
mod handshake;
mod matching;
mod robustness;
mod standing_queue;
mod threads;
