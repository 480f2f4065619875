//! What the disciplines that keep flows apart are made of: a queue for each flow, a hash, and deficit round robin.

pub(super) mod drr;
pub(super) mod flow_hash;
pub(super) mod flow_queues;
pub(super) mod flows;
