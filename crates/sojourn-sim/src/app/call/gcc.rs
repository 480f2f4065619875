//! Google's congestion control as libwebrtc ships it, at the sender: delay, loss, probes, one file per algorithm.
//!
//! Source: libwebrtc of January 2026, `modules/congestion_controller/goog_cc`; each file names its own.

mod aimd;
mod alr;
mod congestion_window;
mod delay_based;
mod feedback;
mod inter_arrival;
mod link_capacity;
mod loss_based;
mod network_control;
mod probe_controller;
mod probe_estimator;
mod throughput;
mod trendline;

pub(super) use feedback::{PacketResult, Probe};
pub(super) use network_control::{GoogCc, Limits};
