//! The ways between the hosts of a group: which links its packets cross, one after another, and the delay lines
//! between.

use crate::engine::direction::{Direction, End};
use sojourn_net::Span;
use std::ops::RangeInclusive;

/// How the hosts of a group reach one another.
#[derive(Clone, Debug)]
pub struct Way {
    /// One-way delay between a client and the first hop that it crosses, or its access link.
    pub client_delay: Span,
    /// One-way delay between the last hop, or the server's access link, and the server.
    pub server_delay: Span,
    /// The hops crossed, by place from the clients to the servers.
    pub hops: RangeInclusive<usize>,
    /// The access link of the host at one end.
    pub access: Option<AccessAt>,
}

/// The access link of a host.
#[derive(Clone, Copy, Debug)]
pub struct AccessAt {
    /// Whose it is.
    pub end: End,
    /// Its number.
    pub number: u16,
    /// One-way delay behind it.
    pub delay: Span,
}

impl Way {
    /// The links crossed in a direction, in order.
    pub(crate) fn links(&self, direction: Direction) -> impl Iterator<Item = u16> {
        let (first, last) = (*self.hops.start(), *self.hops.end());
        (first..=last).map(move |hop| match direction {
            Direction::Up => link(hop, direction),
            Direction::Down => link(first + last - hop, direction),
        })
    }

    /// The distance of the host at an end.
    pub(super) fn distance(&self, end: End) -> Span {
        match end {
            End::Client => self.client_delay,
            End::Server => self.server_delay,
        }
    }

    /// The delay of the access link at an end.
    pub(super) fn access_delay(&self, end: End) -> Span {
        self.access.filter(|access| access.end == end).map_or(Span::ZERO, |access| access.delay)
    }
}

/// The link of a hop: its place in the list of all.
pub(super) fn link(hop: usize, direction: Direction) -> u16 {
    (hop * 2 + direction as usize) as u16
}

/// The direction of a link.
pub(super) fn direction(link: u16) -> Direction {
    Direction::BOTH[usize::from(link) % 2]
}

/// The hop that a link belongs to.
pub(super) fn hop(link: u16) -> usize {
    usize::from(link) / 2
}
