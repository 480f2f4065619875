//! What can be set of a measurement.

use crate::delay::host::Prefixes;
use sojourn_net::with_defaults;

/// Which estimator is to be used for TCP and uTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The observer's clock where the receiver is near, the receiver's reports where it is not.
    #[default]
    Auto,
    /// The observer's clock only.
    Observer,
    /// The receiver's reports only: the method as published.
    Reported,
}

with_defaults! {
    /// What can be set.
    #[derive(Debug, Clone)]
    pub struct Options {
        /// Which estimator.
        pub estimator: Choice,
        /// Addresses that are local; empty: find out.
        pub local: Prefixes,
        /// Flows that are told apart at a time.
        pub most_flows: usize = 1 << 16,
        /// Packets that are kept before they are finalized; some 50 bytes each.
        pub log_packets: usize = 1 << 22,
        /// Threads that finalize. What is found is the same.
        pub threads: usize = 1,
        /// What was sent again is taken to be acknowledged at once, although a receiver may delay that, and connections
        /// to be ended at once, although an application may: of some short ones nothing else tells. `workload` asks so.
        pub prompt: bool,
    }
}
