//! The capture of a run (pcapng): packets as they leave a link or are dropped, with what happened to them in comments.

use crate::event::{SNAPSHOT, Snapshot};
use crate::frame;
use rtrb::Consumer;
use sojourn_net::Time;
use sojourn_net::probe::DropCause;
use sojourn_pcap::write::Pcapng;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

/// What takes a record.
pub(crate) type Output = Box<dyn Write + Send>;

/// What a capture is made of.
pub(crate) struct Capture {
    out: Pcapng<BufWriter<Output>>,
    /// The wall clock's time (ns since 1970) at the beginning.
    wall: u64,
    snapshots: Option<Consumer<Snapshot>>,
    /// The first bytes of packets that are on their way, by the number of their journey.
    heads: BTreeMap<u32, [u8; SNAPSHOT]>,
}

/// A packet whose fate at a link is known.
pub(crate) struct Captured {
    pub(crate) journey: u32,
    pub(crate) size: u32,
    pub(crate) marked: bool,
    /// Why it was dropped, if it was.
    pub(crate) cause: Option<DropCause>,
}

impl Capture {
    /// Begins one whose interfaces are links of these names.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn new(
        (out, wall): (Output, u64),
        links: &[&str],
        snapshots: Option<Consumer<Snapshot>>,
    ) -> io::Result<Self> {
        Ok(Self { out: Pcapng::new(BufWriter::new(out), links)?, wall, snapshots, heads: BTreeMap::new() })
    }

    /// Writes a packet at a link; `is_last`: it comes to no other.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn packet(&mut self, link: u8, at: Time, packet: &Captured, is_last: bool) -> io::Result<()> {
        while let Some((journey, head)) = self.snapshots.as_mut().and_then(|ring| ring.pop().ok()) {
            self.heads.insert(journey, head);
        }
        let ends = packet.cause.is_some() || is_last;
        let head = if ends { self.heads.remove(&packet.journey) } else { self.heads.get(&packet.journey).copied() };
        let Some(head) = head else { return Ok(()) };
        let comment = match (packet.cause, packet.marked) {
            (Some(cause), _) => format!("dropped: {}", told(cause)),
            (None, true) => "marked: congestion experienced".to_owned(),
            _ => String::new(),
        };
        // TUN has no link layer; this one is made up, as most programs expect one.
        let kind: [u8; 2] = if head[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, kind[0], kind[1]];
        bytes.extend(&head[..SNAPSHOT.min(packet.size as usize)]);
        if packet.marked {
            frame::mark(&mut bytes[14..]);
        }
        self.out.frame(u32::from(link), self.wall + at.0, (&bytes, packet.size + 14), &comment)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.finish().map(drop)
    }
}

/// The name of a cause, as packet logs have it, with words where only who knows the queues would understand it.
fn told(cause: DropCause) -> String {
    let words = match cause {
        DropCause::Early => " (before the queue was full)",
        DropCause::Sojourn => " (waited too long)",
        DropCause::Forced => " (average queue too long)",
        DropCause::Blue => " (at random after overflows)",
        _ => "",
    };
    cause.name().to_owned() + words
}
