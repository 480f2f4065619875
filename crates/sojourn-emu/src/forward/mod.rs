//! Forwarding: packets from one host to the other and back, through the queues, each written at the time it is due.
//!
//! A packet is read from a [`device`](crate::device) into a slot of the [`slab`]. A super-packet is cut as a network
//! card would ([`gso`]). The queues of each [`way`] see its headers alone ([`frame`](crate::frame)). What left the last
//! of them is [`due`] at a time, at which the [`forwarder`] writes it, with others that are due joined to it ([`gro`]).
//! The forwarder asks a [`clock`] for the time; [`drive`] is the thread that gives it the kernel's.

pub mod clock;
pub mod drive;
pub mod due;
pub mod forwarder;
pub mod gro;
pub mod gso;
pub mod slab;
pub mod way;
