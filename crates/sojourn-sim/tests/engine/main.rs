//! The whole engine from outside. One program: in a program each, the engine's generic code would be compiled twelve
//! times.

mod call;
mod controllers;
mod dumbbell;
mod groups;
mod hops;
mod losses;
mod names;
mod page;
mod period;
mod sources;
mod study;
mod transport;
mod users;
