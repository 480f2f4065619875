//! Protocols that a queue can be measured by.

use sojourn_net::named;

named! {
    /// Protocols that carry stamps, or a spin bit.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Protocol {
        /// TCP with or without timestamps.
        #[default]
        Tcp = "tcp",
        /// uTP.
        Utp = "utp",
        /// QUIC, of which only the spin bit is read.
        Quic = "quic",
    }
}
