//! Queue disciplines, links, TCP and congestion control: state that is told the time.
