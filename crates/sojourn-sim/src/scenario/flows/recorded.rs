//! Recorded traffic in study files: a workload that `sojourn workload` took from a capture.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::refuse_if;

use crate::app::Recording;
use crate::scenario::Invalid;
use crate::scenario::content::filled_in;
use crate::scenario::defaults::{keys, number};

keys! {
    /// The connections of a capture, each with its turns, waits and round-trip time. The group's `direction` is the one
    /// towards the clients of the recording: `up` puts them where the servers are. `start-within` does not apply.
    /// Connections of QUIC are QUIC's here, with the group's controller and `hystart`, but with none of what `stack`
    /// says. ECN is as it was recorded, unless the group's `ecn` says otherwise.
    #[schemars(rename = "Recorded")]
    pub struct Recorded {
        /// A file of `sojourn workload`. Relative to the study's file.
        pub file: String,
        /// Times the connections: the i-th appears ⌊(i + 1)·scale + u⌋ − ⌊i·scale + u⌋ times, u drawn once.
        pub scale: f64 = "number::<1, f64>",
        /// Whose initial window connections have.
        #[serde(default, skip_serializing_if = "is_default")]
        pub initial_window: Whose,
        /// Whose congestion control connections have: the one that the capture shows is BBR, in groups of CUBIC or
        /// Reno.
        #[serde(default, skip_serializing_if = "is_default")]
        pub transport: Whose,
        /// SHA-256 of the file, in hexadecimal: filled in when the study is read, and part of what names a result.
        sha256: Option<String>,
        /// The connections as text: filled in when the point is run.
        #[serde(default, skip_serializing, deserialize_with = "filled_in")]
        #[schemars(skip)]
        content: Option<Arc<Recording>>,
    }
}

/// What the connections of a recording have: their own, or all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// What the capture shows, the group's where it shows nothing.
    #[default]
    Recorded,
    /// The group's.
    Group,
}

fn is_default(whose: &Whose) -> bool {
    *whose == Whose::default()
}

impl Recorded {
    /// The recording; of no connections if its file was not filled in.
    pub(crate) fn recording(&self) -> Arc<Recording> {
        let none = || Arc::new(Recording { length: sojourn_net::Span::ZERO, connections: Vec::new() });
        self.content.as_ref().map_or_else(none, Arc::clone)
    }

    /// The file whose content must be filled in before a run, if it is not.
    pub(super) fn missing(&self) -> Option<&str> {
        self.content.is_none().then_some(self.file.as_str())
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let scale = self.scale;
        let known = (0.001..=1000.0).contains(&scale);
        refuse_if!(!known, "source.scale", "{scale} times the connections; write 0.001 to 1000");
        Ok(())
    }
}
