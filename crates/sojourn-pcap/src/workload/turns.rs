//! What a workload is made of.

/// Bytes that one end sends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// True if it is the turn of the end that accepted the connection (b), false of the one that opened it (a).
    pub accepted: bool,
    /// Payload bytes.
    pub bytes: u64,
    /// What the end waited before: in a connection by turns, since it had all that came before; in a concurrent one,
    /// since it had `heard` so much of the other, or its own last turn was acknowledged; with datagrams, since the
    /// flow's last one; before a `streamed` one, since that end began its turn before.
    pub wait_ns: u64,
    /// In a concurrent connection, bytes of the other end that it had before it waited; none if it waited for its own
    /// last turn.
    pub heard: u64,
    /// So many pieces, each too short to be one that TCP cut, were written at once; one if any was longer.
    pub writes: u32,
    /// Its end had sent all of its turn before, and wrote this one when it was time, whatever had been acknowledged.
    pub streamed: bool,
}

/// One connection, or one flow of datagrams.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Its number, unique in the workload.
    pub number: u32,
    /// What it was opened after, if its opener waits for such.
    pub after: Option<super::After>,
    /// TCP, or UDP.
    pub tcp: bool,
    /// QUIC over UDP.
    pub quic: bool,
    /// Who opened it, or sent first: address and port.
    pub opener: (crate::decode::Address, u16),
    /// The other end.
    pub acceptor: (crate::decode::Address, u16),
    /// The opener is one of the clients.
    pub client_opens: bool,
    /// First packet, since the first of the capture.
    pub start_ns: u64,
    /// Last packet, since its first.
    pub duration_ns: u64,
    /// Both ends send at once.
    pub concurrent: bool,
    /// No SYN was seen: it began before the capture.
    pub began_before: bool,
    /// Neither both FINs nor an RST were seen: it goes on after the capture.
    pub cut: bool,
    /// By end: the capture ended in its last turn, so that it had more to send.
    pub goes_on: [bool; 2],
    /// By end: it closed first, and the other when it had heard of that.
    pub closes_first: [bool; 2],
    /// Its datagrams have the times at which they were sent, also those that waited in front of the capture.
    pub as_sent: bool,
    /// Datagrams of RTP that did not come to the capture, by end: their numbers tell, and they are among the turns.
    pub missing_pkts: [u64; 2],
    /// Packets of the opener, and of the other end, were seen.
    pub seen: [bool; 2],
    /// Round-trip time without queues, if anything was answered.
    pub rtt_ns: Option<u64>,
    /// Of it, the part between the place of the capture and the opener, and the other end.
    pub parts_ns: [Option<u64>; 2],
    /// Largest segment that either end takes, as its SYN offers it; of QUIC, the longest datagram that came to it.
    pub mss: [Option<u16>; 2],
    /// Initial window of either end in segments, as most of its connections show it.
    pub initial_window: [Option<u8>; 2],
    /// By end: it is BBR's, as it shows itself at losses, or most of its host's connections do.
    pub bbr: [bool; 2],
    /// Largest receive window of either end, in bytes.
    pub window: [Option<u32>; 2],
    /// By end: most of what it sends may be marked (ECN).
    pub ecn: [bool; 2],
    /// Payload bytes by end.
    pub bytes: [u64; 2],
    /// Segments with payload that were seen, by end, or QUIC's datagrams; of a frame that has several all.
    pub data_pkts: [u64; 2],
    /// Of them those that begin below what had passed before: sent again, or overtaken.
    pub again_pkts: [u64; 2],
    /// Of those, the ones that are known to have been sent in vain.
    pub vain_pkts: [u64; 2],
    /// In order of time.
    pub turns: Vec<Turn>,
}

/// The traffic of a capture.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// In order of their first packets.
    pub connections: Vec<Recorded>,
    /// From the first frame to the last.
    pub length_ns: u64,
    /// Frames, and those that are neither TCP nor UDP or cannot be read.
    pub frames: u64,
    /// Frames that are neither TCP nor UDP, or cannot be read.
    pub other_frames: u64,
    /// Packets that the capture had on another interface before.
    pub copies: u64,
    /// Packets of connections beyond the bound on memory.
    pub beyond_bound: u64,
    /// Hosts of both sides were told apart by hop limits or times of answers, rather than by who opens.
    pub sides_by_ttl: bool,
    /// The capture was taken beside the clients; of use only if the sides were told apart.
    pub near_are_clients: bool,
    /// Bytes of IP packets towards the clients, and from them, bytes of payload sent away from the capture whose
    /// acknowledgement came, and of datagrams sent that way, in bins of 100 ms that are not empty.
    pub busy: Vec<(u64, [u64; 4])>,
    /// What stood in the queues towards the clients and from them.
    pub stood: [super::Stood; 2],
}
