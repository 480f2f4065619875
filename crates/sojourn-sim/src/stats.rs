//! What happened at the links, to connections and at hosts: summaries always, tables and logs on demand.

pub(crate) mod bins;
pub(crate) mod digits;
pub(crate) mod flow_record;
pub(crate) mod group_record;
pub(crate) mod group_summary;
pub(crate) mod histogram;
pub(crate) mod hop_tap;
pub(crate) mod host_tap;
pub(crate) mod link_record;
pub(crate) mod packet_log;
pub(crate) mod series;
pub(crate) mod summary;
pub(crate) mod table;

pub use bins::Bins;
pub use flow_record::{FlowRecord, FlowTable};
pub use histogram::Histogram;
pub use host_tap::Captured;
pub(crate) use host_tap::HostTap;
pub use link_record::LinkRecord;
pub use packet_log::Log;
pub use series::{FlowSeries, QueueSeries};
pub use summary::{LinkSummary, Summary};
pub use table::Column;
