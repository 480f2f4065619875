//! What is known of the two ends of a connection when the capture is over.

use super::datagrams::Datagrams;
use super::entry::{Entry, Kept};
use super::first_flight::{full_segment, may_be_full, one_segment};
use super::quic;
use super::raw_turn::NEAR_NS;
use super::sides::Hosts;
use super::waits::{Host as Waited, Waits};
use super::way::Answer;
use std::collections::BTreeMap;

/// What is known of the ends of each entry.
pub(super) fn of<'a>(entries: &'a [Entry], waits: &'a Waits) -> Vec<Ends<'a>> {
    let ways = Ways::of(entries);
    let of_entry = |entry: &Entry| {
        let ends = [entry.hosts(), (entry.acceptor.0, entry.opener.0)];
        let waited = ends.map(|(host, _)| waits.of(host));
        let parts = ends.map(|pair| Some(waits.of(pair.0).round(ways.quickest.get(&pair)?)));
        let cuts = ends.map(|pair| ways.cuts.get(&pair).copied().unwrap_or_default());
        let full = cuts.map(|[longest, cut]| if longest == cut { cut } else { 0 });
        let longest = [0, 1].map(|end| match &entry.kept {
            Kept::Tcp(connection) if may_be_full(cuts[end][0], connection.ways[1 - end].mss) => cuts[end][0],
            _ => 0,
        });
        Ends { parts, waits: waited, full, longest }
    };
    entries.iter().map(of_entry).collect()
}

/// What connections tell of the ways between two hosts, from one to the other.
#[derive(Debug, Default)]
struct Ways {
    /// The way is the same: the quickest answer of all their connections.
    quickest: BTreeMap<Hosts, Answer>,
    /// All that one sends to the other is cut alike: the longest segments, and where they are known to be full.
    cuts: BTreeMap<Hosts, [u32; 2]>,
}

impl Ways {
    fn of(entries: &[Entry]) -> Self {
        let mut ways = Self::default();
        for entry in entries {
            let both = [(entry.opener, entry.acceptor), (entry.acceptor, entry.opener)];
            let answers = match &entry.kept {
                // What the other end sends is answered by this one.
                Kept::Tcp(connection) => [1, 0].map(|way| connection.ways[way].answered),
                Kept::Udp(datagrams) => quic_answers(datagrams),
            };
            for ((host, peer), answer) in both.into_iter().zip(answers) {
                if let Some(answer) = answer {
                    let slot = ways.quickest.entry((host.0, peer.0)).or_insert(answer);
                    *slot = std::cmp::min_by_key(*slot, answer, Answer::took);
                }
            }
            let Kept::Tcp(connection) = &entry.kept else { continue };
            for ((host, peer), way) in both.into_iter().zip([1, 0]) {
                // Its own are in the way of the other index.
                let own = &connection.ways[1 - way];
                let [longest, cut] = ways.cuts.entry((host.0, peer.0)).or_default();
                *longest = (*longest).max(one_segment(own.longest, connection.ways[way].mss));
                *cut = (*cut).max(full_segment(own.cut, connection.ways[way].mss));
            }
        }
        ways
    }
}

/// When the ends of a connection of QUIC answered its handshake.
pub(super) fn quic_answers(datagrams: &Datagrams) -> [Option<Answer>; 2] {
    if datagrams.looks.opens() { quic::answers(datagrams.first_ns, &datagrams.turns) } else { [None; 2] }
}

/// What is known of the two ends: their parts of the round trip, what their packets waited, and the segments they fill.
pub(super) struct Ends<'a> {
    pub(super) parts: [Option<i64>; 2],
    pub(super) waits: [Waited<'a>; 2],
    pub(super) full: [u32; 2],
    /// The longest, if they may be full.
    pub(super) longest: [u32; 2],
}

impl Ends<'_> {
    /// When the opener sent what was seen first: its way to the capture, and queues on it, are no part of the workload.
    pub(super) fn began(&self, entry: &Entry) -> i64 {
        let (first_ns, by_opener, as_sent) = match &entry.kept {
            Kept::Tcp(connection) => (connection.first_ns, connection.by_opener, false),
            Kept::Udp(datagrams) => (datagrams.first_ns, true, datagrams.as_sent),
        };
        match self.parts[0].filter(|part| by_opener && *part >= NEAR_NS) {
            Some(part) if as_sent => first_ns.saturating_sub(part / 2),
            Some(part) => self.waits[0].went(first_ns, 0).saturating_sub(part / 2),
            None => first_ns,
        }
    }
}
