//! Flows and queues over time, sampled on a fixed grid: what a picture of a sawtooth is drawn from.
//!
//! The first [`MOST_FLOWS`] connections of each group of flows are followed, or the first sources of a group of
//! datagrams. Samples are taken between events, so that a run with a series is the same run.

use super::table::table;
use crate::engine::connection::ConnectionId;
use crate::engine::direction::Direction;
use sojourn_net::{Span, Time};

/// Most flows of a group that are followed.
pub(crate) const MOST_FLOWS: u32 = 8;

table! {
    /// One row for each flow that is followed, at each instant.
    FlowSeries of FlowSample {
        /// When.
        time_ns: u64,
        /// Its group's place among the scenario's flows.
        group: u16,
        /// Its number in the group, from 0 in the order of opening.
        number: u32,
        /// The flow's number in the run; 0 for datagrams.
        flow: u32,
        /// Congestion window in segments; NaN for datagrams.
        cwnd_pkts: f64,
        /// Smoothed round-trip time; 0 without one.
        srtt_ns: u64,
        /// Payload delivered since the sample before, by time: as its sender knows by acknowledgement or SACK, or, of
        /// datagrams, as it arrived.
        rate_bps: f64,
        /// The rate at which the sender paces itself; NaN if it does not.
        pacing_bps: f64,
    }
}

table! {
    /// One row for each link, at each instant.
    QueueSeries of QueueSample {
        /// When.
        time_ns: u64,
        /// Its place among the scenario's links: 0 = down and 1 = up of the first hop.
        link: u8,
        /// Packets waiting.
        backlog_pkts: u32,
        /// Bytes waiting.
        backlog_bytes: u64,
    }
}

/// What is followed: a connection, or a source of datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Connection(ConnectionId),
    Source(u32),
}

/// A flow that is followed.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) subject: Subject,
    pub(crate) group: u16,
    pub(crate) number: u32,
    /// Payload that had been delivered at the sample before.
    pub(crate) before: u64,
}

/// The series of a run, as far as it has come.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRecord {
    pub(crate) step: Span,
    /// When the next sample is due.
    pub(crate) next: Time,
    /// Which way the data of each group goes.
    pub(crate) directions: Vec<Direction>,
    /// Connections opened in each group.
    opened: Vec<u32>,
    pub(crate) followed: Vec<Followed>,
    pub(crate) flows: FlowSeries,
    pub(crate) queues: QueueSeries,
}

impl SeriesRecord {
    /// A series of groups whose data goes these ways, with a sample at each `step`.
    pub(crate) fn new(step: Span, directions: Vec<Direction>) -> Self {
        Self {
            step,
            next: Time::ZERO + step,
            opened: vec![0; directions.len()],
            directions,
            followed: Vec::new(),
            flows: FlowSeries::default(),
            queues: QueueSeries::default(),
        }
    }

    /// A flow of a group has begun; those of users are not followed.
    pub(crate) fn follow(&mut self, group: u16, subject: Subject) {
        let Some(opened) = self.opened.get_mut(group as usize) else { return };
        if *opened < MOST_FLOWS {
            self.followed.push(Followed { subject, group, number: *opened, before: 0 });
            *opened += 1;
        }
    }
}
