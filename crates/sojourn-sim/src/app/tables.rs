//! The tables that applications leave behind. In all of them, `user` counts over all users of the scenario.

use crate::stats::table::table;

/// Delay of a datagram that was dropped.
pub(crate) const LOST: i64 = -1;
/// Delay of a datagram that had neither arrived nor been dropped when the run ended.
pub(crate) const UNDER_WAY: i64 = -2;

table! {
    /// One row per packet of the calls that were complete when the run ended and had begun after the warm-up.
    VoiceTable of VoiceRow {
        /// The user.
        user: u32,
        /// The user's call.
        call: u32,
        /// 0: from the user (talks, up); 1: to the user (listens, down).
        direction: u8,
        /// Number of the packet in its call and direction.
        seq: u16,
        /// When it was sent.
        sent_ns: u64,
        /// One-way network delay; −1 if it was dropped.
        delay_ns: i64,
    }
}

table! {
    /// One row per packet of the showings that were complete when the run ended and had begun after the warm-up.
    VideoTable of VideoRow {
        /// The user.
        user: u32,
        /// The user's showing.
        showing: u32,
        /// Which of the user's clips was shown.
        clip: u8,
        /// Number of the packet in its clip.
        seq: u32,
        /// When it was sent.
        sent_ns: u64,
        /// One-way network delay; −1 if it was dropped.
        delay_ns: i64,
    }
}

table! {
    /// One row per page load that began after the warm-up.
    WebTable of WebRow {
        /// The user.
        user: u32,
        /// When the load began.
        start_ns: u64,
        /// From the SYN to the last byte; time so far if it was not complete when the run ended.
        plt_ns: u64,
        /// All objects arrived.
        complete: bool,
        /// Mean round-trip time that the server measured during the load.
        rtt_ns: u64,
        /// Time that retransmissions were waited for, at either end.
        repair_ns: u64,
        /// Segments sent again, at either end.
        retransmits: u32,
    }
}

table! {
    /// One row per page load of those who browse that began after the warm-up.
    BrowserTable of BrowserRow {
        /// The user.
        user: u32,
        /// Number of the page in the set.
        page: u32,
        /// Bytes of all objects.
        bytes: u64,
        /// When the load began.
        start_ns: u64,
        /// From the SYN to the last byte, or time so far.
        plt_ns: u64,
        /// How it ended: a `Fate`.
        fate: u8,
    }
}

table! {
    /// One row per segment of adaptive video that was asked for. Times are of the run; those of a segment that had not
    /// arrived are −1.
    AdaptiveTable of AdaptiveRow {
        /// The user.
        user: u32,
        /// Number of the segment, from 1.
        segment: u32,
        /// Its level, from 1.
        level: u16,
        /// Nominal rate of the level.
        rate_kbps: f64,
        /// Size.
        bytes: u64,
        /// When the request left.
        request_ns: i64,
        /// When the first byte came.
        first_byte_ns: i64,
        /// When the last byte came.
        arrive_ns: i64,
        /// Seconds of video in the buffer when the request left.
        before_s: f64,
        /// Seconds of video in the buffer, the segment included.
        after_s: f64,
        /// The throughput in kb/s that the choice went by; NaN if it did not.
        estimate_kbps: f64,
        /// How often it was given up and asked for again.
        given_up: u32,
    }
}

table! {
    /// One row per viewer of adaptive video.
    ViewerTable of ViewerRow {
        /// The user.
        user: u32,
        /// When its connection was asked for.
        opened_ns: i64,
        /// When the session began, which is when the connection stood; −1 if it never did.
        start_ns: i64,
        /// When playing began; −1 if it did not.
        play_ns: i64,
        /// When the last segment of the clip came; −1 if it did not.
        end_ns: i64,
        /// Number of segments in the clip.
        segments: u32,
        /// Seconds of video in a segment.
        segment_s: f64,
    }
}

table! {
    /// One row per stall of adaptive video.
    StallTable of StallRow {
        /// The user.
        user: u32,
        /// When playing stopped.
        from_ns: i64,
        /// When it went on, or the run ended.
        to_ns: i64,
    }
}

table! {
    /// One row per look, every 250 ms, at a viewer of a live stream who has begun to watch.
    LiveTable of LiveRow {
        /// The user.
        user: u32,
        /// When.
        time_ns: i64,
        /// Time since the picture shown was taken.
        latency_s: f64,
        /// The playback rate since the row before; 0 in a stall.
        rate: f64,
        /// Seconds of video in the buffer.
        buffer_s: f64,
        /// Seconds of video that playback jumped over now.
        jumped_s: f64,
    }
}

table! {
    /// One row per probe of the tests of responsiveness that began after the warm-up and were complete. Times that did
    /// not come are −1.
    ProbeTable of ProbeRow {
        /// The user.
        user: u32,
        /// The user's test, from 1.
        test: u32,
        /// On a connection of its own; else on a load connection.
        foreign: bool,
        /// When it was sent.
        start_ns: u64,
        /// From the SYN to the SYN-ACK, of foreign ones.
        tcp_ns: i64,
        /// The TLS handshake, a round trip, of foreign ones.
        tls_ns: i64,
        /// From the request to the response.
        http_ns: i64,
        /// The flow that it went over.
        flow: u32,
    }
}

table! {
    /// One row per frame of a video call that was captured after the warm-up, but for those of the last second that
    /// were not shown.
    CallTable of CallRow {
        /// The user.
        user: u32,
        /// 0: from the user (talks, up); 1: to the user (listens, down).
        direction: u8,
        /// Number of the frame in its direction.
        frame: u32,
        /// When it was captured.
        captured_ns: u64,
        /// From its capture to its showing; −1 if it was not shown.
        delay_ns: i64,
        /// Payload of its packets.
        bytes: u32,
        /// Lines of the picture.
        height: u16,
        /// It needs no frame before it.
        key: bool,
        /// Time between the showing of the frame before it and its own; −1 for the first, and if it was not shown.
        gap_ns: i64,
        /// The picture was frozen in that time.
        frozen: bool,
    }
}

table! {
    /// One row per interval of those tests.
    IntervalTable of IntervalRow {
        /// The user.
        user: u32,
        /// The user's test, from 1.
        test: u32,
        /// When it ended.
        end_ns: u64,
        /// Goodput of all load connections.
        goodput_bps: f64,
        /// Load connections, all ways.
        connections: u32,
        /// Goodput has been stable, now or before.
        stable: bool,
    }
}

table! {
    /// One row for each direction of a video call every 200 ms.
    CallRateTable of CallRateRow {
        /// The user.
        user: u32,
        /// As in [`CallTable`].
        direction: u8,
        /// When the 200 ms ended.
        time_ns: u64,
        /// What the sender aims at then.
        target_bps: f64,
        /// Bytes at IP that were sent in them …
        sent_bytes: u64,
        /// … and that arrived.
        received_bytes: u64,
    }
}

table! {
    /// One row per packet of a game that was sent after the warm-up and had arrived or been dropped when the run ended.
    GameTable of GameRow {
        /// The user.
        user: u32,
        /// 0: from the player (up); 1: to the player (down).
        direction: u8,
        /// Number of the tick, picture or input in its direction.
        message: u32,
        /// When it was sent.
        sent_ns: u64,
        /// One-way network delay; −1 if it was dropped.
        delay_ns: i64,
    }
}

table! {
    /// One row per load of a page of today that began after the warm-up. Times are from the load's beginning.
    PageTable of PageRow {
        /// The user.
        user: u32,
        /// When the load began.
        start_ns: u64,
        /// To the last byte of the last object, or time so far.
        load_ns: u64,
        /// How it ended: a `Fate`.
        fate: u8,
        /// Until all that blocks painting was here; −1 if it was not.
        first_paint_ns: i64,
        /// Until the largest picture was here besides; −1 if it was not.
        largest_paint_ns: i64,
        /// Objects asked for.
        requests: u32,
        /// Connections opened.
        connections: u32,
        /// Bytes of the objects that came.
        bytes: u64,
        /// Packets that servers sent again.
        retransmits: u32,
    }
}

/// Table rows that applications leave behind.
#[derive(Default)]
pub struct Tables {
    /// One row per video packet.
    pub video: VideoTable,
    /// One row per voice packet.
    pub voice: VoiceTable,
    /// One row per page load.
    pub web: WebTable,
    /// One row per segment of adaptive video.
    pub adaptive: AdaptiveTable,
    /// One row per viewer of adaptive video.
    pub viewers: ViewerTable,
    /// One row per stall of adaptive video.
    pub stalls: StallTable,
    /// One row per look at a viewer of a live stream.
    pub live: LiveTable,
    /// One row per page load of those who browse.
    pub browser: BrowserTable,
    /// One row per probe of responsiveness.
    pub probes: ProbeTable,
    /// One row per interval of a test of responsiveness.
    pub intervals: IntervalTable,
    /// One row per frame of a video call.
    pub call: CallTable,
    /// Rates of video calls.
    pub call_rates: CallRateTable,
    /// One row per packet of a game.
    pub game: GameTable,
    /// One row per load of a page of today.
    pub page: PageTable,
}
