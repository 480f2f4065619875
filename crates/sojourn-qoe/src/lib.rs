//! Measures of pictures that every pixel enters, and that must be fast and the same on every machine.

pub mod picture;
