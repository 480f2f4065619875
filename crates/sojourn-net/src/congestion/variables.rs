//! The named variables of a controller, for published vectors: told after every event, and set before the first.
//! Windows are in segments, times in seconds, rates in bit/s.

use crate::Span;
use crate::queue::inspect::Variable;

/// Goes through the variables of a controller: tells each, and sets the one that is asked for.
pub struct Variables<'a> {
    tell: &'a mut dyn FnMut(&'static str, f64),
    asked: Option<(&'a str, f64)>,
    pub(super) found: bool,
}

impl<'a> Variables<'a> {
    pub(super) fn new(tell: &'a mut dyn FnMut(&'static str, f64), asked: Option<(&'a str, f64)>) -> Self {
        Self { tell, asked, found: false }
    }

    /// Shows a value that follows from others and cannot be set.
    pub(super) fn tell(&mut self, name: &'static str, value: f64) {
        (self.tell)(name, value);
    }

    /// What the variable of this name is to be, if it is the one to be set.
    pub(super) fn asked(&mut self, name: &str) -> Option<f64> {
        let (_, value) = self.asked.filter(|(asked, _)| *asked == name)?;
        self.found = true;
        Some(value)
    }

    /// Shows a value; returns the new one if it is to be set.
    pub(super) fn changed(&mut self, name: &'static str, value: f64) -> Option<f64> {
        self.tell(name, value);
        self.asked(name)
    }

    /// Shows a number.
    pub(super) fn see<V: Variable>(&mut self, name: &'static str, variable: &mut V) {
        if let Some(new) = self.changed(name, variable.shown()) {
            *variable = V::from_shown(new);
        }
    }

    /// Shows bytes as segments.
    pub(super) fn window(&mut self, name: &'static str, bytes: &mut u64, mss: u64) {
        if let Some(new) = self.changed(name, segments(*bytes, mss)) {
            *bytes = self::bytes(new, mss);
        }
    }

    /// The same of bytes with fractions.
    pub(super) fn fractional(&mut self, name: &'static str, bytes: &mut f64, mss: u64) {
        if let Some(new) = self.changed(name, *bytes / mss as f64) {
            *bytes = new * mss as f64;
        }
    }

    /// Shows a time, which is `unknown` at first.
    pub(super) fn time(&mut self, name: &'static str, time: &mut Span, unknown: Span) {
        if let Some(new) = self.changed(name, if *time == unknown { f64::NAN } else { time.as_secs() }) {
            *time = Span::from_secs_f64(new);
        }
    }
}

/// Bytes in segments; no bound is infinite.
pub(super) fn segments(bytes: u64, mss: u64) -> f64 {
    if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 / mss as f64 }
}

/// Segments in bytes, rounded to the nearest.
pub(super) fn bytes(segments: f64, mss: u64) -> u64 {
    let bytes = segments * mss as f64 + 0.5;
    if bytes >= u64::MAX as f64 { u64::MAX } else { bytes as u64 }
}
