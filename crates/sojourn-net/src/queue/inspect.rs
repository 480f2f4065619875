//! The named variables of a discipline, for traces: read after every event of a replay, and set before its first.
//!
//! A discipline shows its variables one by one to an [`Inspector`], which may hand back another value. Nothing is
//! shown, and nothing costs anything, unless somebody asks. Times are nanoseconds, probabilities and averages as the
//! algorithm has them.

use crate::{Span, Time};

/// Whose variable it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One of the whole queue.
    Queue,
    /// One of the line that a flow waits in.
    Flow,
}

/// Goes through the variables of a discipline, as they are for one flow.
pub struct Inspector<'a> {
    flow: u32,
    scope: Scope,
    refused: bool,
    unfit: Option<&'static str>,
    visit: &'a mut dyn FnMut(&'static str, Scope, f64) -> f64,
}

impl<'a> Inspector<'a> {
    /// Calls `visit` with the name, scope and value of each variable; what it returns becomes the value.
    pub fn new(flow: u32, visit: &'a mut dyn FnMut(&'static str, Scope, f64) -> f64) -> Self {
        Self { flow, scope: Scope::Queue, refused: false, unfit: None, visit }
    }

    /// The flow whose line is looked at.
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Whether a value was handed back for a variable that follows from others and cannot be set.
    pub fn refused(&self) -> bool {
        self.refused
    }

    /// What a variable must be, if a value was handed back that it cannot have.
    pub fn unfit(&self) -> Option<&'static str> {
        self.unfit
    }

    /// From here on, variables are those of the flow's line.
    pub(super) fn of_flow(&mut self) {
        self.scope = Scope::Flow;
    }

    /// Shows a variable.
    pub(super) fn see<V: Variable>(&mut self, name: &'static str, variable: &mut V) {
        let value = variable.shown();
        if let Some(new) = self.changed(name, value) {
            if V::takes(new) {
                *variable = V::from_shown(new);
            } else {
                self.unfit = Some(V::MUST);
            }
        }
    }

    /// Shows a value that follows from others and cannot be set.
    pub(super) fn tell(&mut self, name: &'static str, value: f64) {
        self.refused |= self.changed(name, value).is_some();
    }

    /// Shows a value; returns the new one if it was set.
    pub(super) fn changed(&mut self, name: &'static str, value: f64) -> Option<f64> {
        let new = (self.visit)(name, self.scope, value);
        (new.to_bits() != value.to_bits()).then_some(new)
    }
}

/// What can be shown as a number.
pub(crate) trait Variable: Sized {
    /// What a number must be to be its value.
    const MUST: &'static str;
    fn shown(&self) -> f64;
    fn from_shown(value: f64) -> Self;
    fn takes(value: f64) -> bool {
        Self::from_shown(value).shown() == value
    }
}

macro_rules! variables {
    ($($type:ty, $must:literal: $shown:expr, $back:expr;)*) => {
        $(impl Variable for $type {
            const MUST: &'static str = $must;
            fn shown(&self) -> f64 {
                ($shown)(*self)
            }
            fn from_shown(value: f64) -> Self {
                ($back)(value)
            }
        })*
    };
}

variables! {
    f64, "a number": |x| x, |x| x;
    u16, "a whole number, 0 to 65535": f64::from, |x| x as Self;
    u32, "a whole number, 0 to 4294967295": f64::from, |x| x as Self;
    u64, "a whole number, 0 or more": |x| x as f64, |x| x as Self;
    i64, "a whole number": |x| x as f64, |x| x as Self;
    bool, "0 or 1": |x| f64::from(u8::from(x)), |x| x != 0.0;
}

/// Fractions of a nanosecond are cut off.
macro_rules! times {
    ($($type:ident),*) => {
        $(impl Variable for $type {
            const MUST: &'static str = "nanoseconds, 0 or more";
            fn shown(&self) -> f64 {
                self.0 as f64
            }
            fn from_shown(value: f64) -> Self {
                Self(value as u64)
            }
            fn takes(value: f64) -> bool {
                value >= 0.0
            }
        })*
    };
}

times! { Time, Span }

/// `None` is not a number.
impl Variable for Option<Time> {
    const MUST: &'static str = "nanoseconds, 0 or more, or NaN";
    fn shown(&self) -> f64 {
        self.map_or(f64::NAN, |time| time.0 as f64)
    }
    fn from_shown(value: f64) -> Self {
        if value.is_nan() { None } else { Some(Time(value as u64)) }
    }
    fn takes(value: f64) -> bool {
        value.is_nan() || value >= 0.0
    }
}
