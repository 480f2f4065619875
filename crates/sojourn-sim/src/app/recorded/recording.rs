//! A recorded workload as text: a line for each connection or flow of datagrams.
//!
//! `KIND SIDE[ENDS][/CLOSER] START[@AFTER] RTT[/WINDOW][&bbr][:DATAGRAM][!ENDS] TURN…`: KIND is `s` (by turns), `c`
//! (concurrent), `q` (of QUIC, and concurrent) or `u` (datagrams); SIDE is who opens, `c` (a client) or `s` (a server);
//! ENDS are those in whose turn the recording ended, `a`, `b` or `ab`; CLOSER, `a` or `b`, closed first, and the other
//! end when it had heard of that; START in ns from the beginning of the recording; AFTER, as `7b900+1000`, that the
//! opener waited for so many bytes of the end of that letter of the connection in that line (from 0), and then so many
//! ns; RTT in ns, `-` if unknown; WINDOW the initial window of the end that sends more, in segments, if known; `&bbr`
//! that this end is BBR's; DATAGRAM the payload of QUIC's full ones, if known; ENDS behind them those whose packets
//! may be marked (ECN); a TURN is `a` (the end that opens) or `b`, its bytes, `*` and the number of writes if there
//! are several, `+` and the ns waited before it, or `~` and the ns since its end began its turn before; and of a
//! concurrent connection `<` and the bytes that the end must have of the other first, if it waits for any. The first
//! line is `length NS`.

use sojourn_net::Span;
use std::str::FromStr;

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// One end after the other.
    Turns,
    /// Both ends as they like.
    Concurrent,
    /// Both ends as they like, over QUIC.
    Quic,
    /// Datagrams, which nothing slows down.
    Datagrams,
}

impl Manner {
    /// Each end has turns of its own.
    pub fn is_concurrent(self) -> bool {
        matches!(self, Self::Concurrent | Self::Quic)
    }
}

/// Bytes that an end sends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// By the end that accepted.
    pub accepted: bool,
    /// Payload bytes.
    pub bytes: u32,
    /// In so many writes.
    pub writes: u32,
    /// What it waits before.
    pub wait: Span,
    /// In a concurrent connection, payload bytes of the other end that it has before it waits; if none, its own last
    /// turn was acknowledged.
    pub heard: u64,
    /// It is written so long after the turn of its end before it was, whatever was acknowledged.
    pub streamed: bool,
}

/// What the opener of a connection waited for before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Index of a connection that started before.
    pub which: u32,
    /// The end that accepted it sends the bytes.
    pub accepted: bool,
    /// So many bytes.
    pub bytes: u64,
    /// And then for so long.
    pub wait: Span,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// How it goes on.
    pub manner: Manner,
    /// A client opens it.
    pub client_opens: bool,
    /// By end: the recording ended in its last turn.
    pub goes_on: [bool; 2],
    /// The end that closes first, if that is known: whether it is the one that accepted.
    pub closer: Option<bool>,
    /// When.
    pub start: Span,
    /// What its opener waited for, if that is known.
    pub after: Option<After>,
    /// Its round-trip time without queues.
    pub rtt: Option<Span>,
    /// The initial window of the end that sends more, in segments.
    pub initial_window: Option<u32>,
    /// That end is BBR's: losses do not have it send less.
    pub bbr: bool,
    /// Of QUIC, the payload of a full datagram.
    pub datagram: Option<u16>,
    /// By end: its packets may be marked.
    pub ecn: [bool; 2],
    /// Its turns.
    pub turns: Vec<Turn>,
}

/// A recorded workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// How long it is.
    pub length: Span,
    /// In order of their starts.
    pub connections: Vec<Connection>,
}

/// Payloads of QUIC's full datagrams: from what its handshake needs (RFC 9000 §14.1) to what UDP takes.
const DATAGRAMS: std::ops::RangeInclusive<u16> = 1200..=65_507;
/// Longer times and rounds are taken for damage.
const LONGEST: u64 = 1 << 60;

impl FromStr for Recording {
    type Err = String;

    /// Reads the text.
    ///
    /// # Errors
    /// One sentence: the line, what was found, what was expected.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().zip(1u64..);
        let length = lines
            .next()
            .and_then(|(line, _)| line.strip_prefix("length "))
            .and_then(time)
            .ok_or("line 1 is not `length NANOSECONDS`; expected a workload")?;
        let mut connections: Vec<Connection> = Vec::new();
        for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
            let found = connection(line).ok_or_else(|| {
                format!("line {number} is no connection: {:.60}; expected KIND SIDE START RTT TURN…", line)
            })?;
            if connections.last().is_some_and(|last| last.start > found.start) {
                return Err(format!("line {number} starts before the one above it; expected connections in order"));
            }
            if found.after.is_some_and(|after| after.which as usize >= connections.len()) {
                return Err(format!("line {number} waits for one that is not above it; expected connections in order"));
            }
            connections.push(found);
        }
        Ok(Self { length, connections })
    }
}

fn time(word: &str) -> Option<Span> {
    word.parse().ok().filter(|ns| *ns <= LONGEST).map(Span)
}

fn connection(line: &str) -> Option<Connection> {
    let mut words = line.split(' ');
    let manner = match words.next()? {
        "s" => Manner::Turns,
        "c" => Manner::Concurrent,
        "q" => Manner::Quic,
        "u" => Manner::Datagrams,
        _ => return None,
    };
    let whose = words.next()?;
    let (whose, closer) = match whose.split_once('/') {
        Some((whose, "a")) => (whose, Some(false)),
        Some((whose, "b")) => (whose, Some(true)),
        Some(_) => return None,
        None => (whose, None),
    };
    let (side, ends) = whose.split_at_checked(1)?;
    let client_opens = match side {
        "c" => true,
        "s" => false,
        _ => return None,
    };
    let goes_on = if ends.is_empty() { [false; 2] } else { self::ends(ends)? };
    let began = words.next()?;
    let (start, after) = match began.split_once('@') {
        Some((start, after)) => (time(start)?, Some(self::after(after)?)),
        None => (time(began)?, None),
    };
    let whole = words.next()?;
    let (whole, ecn) = match whole.split_once('!') {
        Some((whole, marked)) => (whole, self::ends(marked)?),
        None => (whole, [false; 2]),
    };
    let (whole, datagram) = match whole.split_once(':') {
        Some((whole, size)) => (whole, Some(size.parse().ok().filter(|size| DATAGRAMS.contains(size))?)),
        None => (whole, None),
    };
    let (whole, bbr) = match whole.strip_suffix("&bbr") {
        Some(whole) => (whole, true),
        None => (whole, false),
    };
    let (rtt, initial_window) = match whole.split_once('/') {
        Some((rtt, window)) => (rtt, Some(window.parse().ok().filter(|window| (1..=100).contains(window))?)),
        None => (whole, None),
    };
    let rtt = match rtt {
        "-" => None,
        word => Some(time(word).filter(|rtt| *rtt < Span::from_secs(60))?),
    };
    let turns: Option<Vec<Turn>> = words.map(turn).collect();
    let turns = turns.filter(|turns| !turns.is_empty())?;
    let fits = manner != Manner::Datagrams || turns.iter().all(|turn| turn.bytes <= 65_507);
    let of_quic = manner == Manner::Quic || datagram.is_none();
    let of_tcp = matches!(manner, Manner::Turns | Manner::Concurrent) || !bbr;
    (fits && of_quic && of_tcp).then_some(Connection {
        manner,
        client_opens,
        goes_on,
        closer,
        start,
        after,
        rtt,
        initial_window,
        bbr,
        datagram,
        ecn,
        turns,
    })
}

/// Which ends: `a`, `b` or both.
fn ends(word: &str) -> Option<[bool; 2]> {
    match word {
        "a" => Some([true, false]),
        "b" => Some([false, true]),
        "ab" => Some([true; 2]),
        _ => None,
    }
}

fn after(word: &str) -> Option<After> {
    let at = word.find(['a', 'b'])?;
    let (bytes, wait) = word[at + 1..].split_once('+')?;
    let (which, bytes) = (word[..at].parse().ok()?, bytes.parse().ok()?);
    Some(After { which, accepted: word.as_bytes()[at] == b'b', bytes, wait: time(wait)? })
}

fn turn(word: &str) -> Option<Turn> {
    let accepted = match word.as_bytes().first()? {
        b'a' => false,
        b'b' => true,
        _ => return None,
    };
    let word = word.get(1..)?;
    let at = word.find(['+', '~'])?;
    let (bytes, streamed, rest) = (&word[..at], word.as_bytes()[at] == b'~', &word[at + 1..]);
    let (bytes, writes) = bytes.split_once('*').unwrap_or((bytes, "1"));
    let (wait, heard) = rest.split_once('<').unwrap_or((rest, "0"));
    let bytes: u32 = bytes.parse().ok()?;
    let writes = writes.parse().ok().filter(|writes| (1..=bytes).contains(writes))?;
    Some(Turn { accepted, bytes, writes, wait: time(wait)?, heard: heard.parse().ok()?, streamed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_connections() {
        let read = "length 5000\ns cb 10 -/3 a1+0 b70000*3+20<1\nu s 11 30 a172+0\n".parse::<Recording>().unwrap();
        assert_eq!((read.length, read.connections.len()), (Span(5000), 2));
        let [first, second] = &read.connections[..] else { panic!("two") };
        assert_eq!((first.manner, first.client_opens, first.rtt), (Manner::Turns, true, None));
        assert_eq!((first.initial_window, second.initial_window), (Some(3), None));
        assert_eq!((first.goes_on, second.goes_on), ([false, true], [false; 2]));
        let expected = Turn { accepted: true, bytes: 70_000, writes: 3, wait: Span(20), heard: 1, streamed: false };
        assert_eq!(first.turns[1], expected);
        assert_eq!((first.turns[0].writes, first.turns[0].heard), (1, 0));
        assert_eq!(turn("b9~20<1"), Some(Turn { bytes: 9, writes: 1, streamed: true, ..expected }));
        assert_eq!(["c9+1", "a9", "a~1", "", "é9+1"].map(turn), [None; 5]);
        assert_eq!((second.manner, second.client_opens, second.rtt), (Manner::Datagrams, false, Some(Span(30))));
    }

    #[test]
    fn who_closed_first_stands_behind_the_side() {
        let closer =
            |side: &str| Some(format!("length 9\ns {side} 1 - a1+0").parse::<Recording>().ok()?.connections[0].closer);
        assert_eq!(["c", "c/a", "sab/b"].map(closer), [None, Some(false), Some(true)].map(Some));
        assert_eq!(["c/", "c/c", "c/ab", "/a"].map(closer), [None; 4]);
    }

    #[test]
    fn of_quic_the_payload_of_a_datagram_is_told_and_of_all_which_ends_use_ecn() {
        let read = |whole: &str| Some(format!("length 9\nq c 1 {whole} a1+0").parse::<Recording>().ok()?.connections);
        let told = |whole| read(whole).map(|found| (found[0].initial_window, found[0].datagram, found[0].ecn));
        assert_eq!(told("-"), Some((None, None, [false; 2])));
        assert_eq!(told("7/3:1350!b"), Some((Some(3), Some(1350), [false, true])));
        assert_eq!(told("7:1200!ab"), Some((None, Some(1200), [true; 2])));
        assert_eq!(["-:1199", "-:65508", "-:", "-!", "-!c", "-!ba"].map(told), [None; 6]);
        let tcp = |whole: &str| format!("length 9\ns c 1 {whole} a1+0").parse::<Recording>().ok();
        assert_eq!(tcp("7!a").map(|found| found.connections[0].ecn), Some([true, false]));
        assert!(tcp("7:1350").is_none(), "segments are the group's");
        let manner = read("-").map(|found| (found[0].manner, found[0].manner.is_concurrent()));
        assert_eq!(manner, Some((Manner::Quic, true)));
    }

    #[test]
    fn of_tcp_bbr_is_told() {
        let read = |whole: &str, kind: &str| format!("length 9\n{kind} c 1 {whole} a1+0").parse::<Recording>().ok();
        let told = |whole: &str| {
            let found = read(whole, "s")?.connections;
            Some((found[0].bbr, found[0].initial_window, found[0].ecn))
        };
        assert_eq!(told("7/3"), Some((false, Some(3), [false; 2])));
        assert_eq!(told("7/3&bbr!b"), Some((true, Some(3), [false, true])));
        assert_eq!(told("-&bbr"), Some((true, None, [false; 2])));
        assert_eq!([told("-&"), told("-&bbr/3")], [None; 2]);
        assert!(["q", "u"].iter().all(|kind| read("-&bbr", kind).is_none()));
    }

    #[test]
    fn a_connection_may_wait_for_one_above_it() {
        let read = "length 9\ns c 1 - a1+0\ns s 5@0b900+20 3 a1+0\n".parse::<Recording>().unwrap();
        assert_eq!((read.connections[0].after, read.connections[1].start), (None, Span(5)));
        let after = After { which: 0, accepted: true, bytes: 900, wait: Span(20) };
        assert_eq!(read.connections[1].after, Some(after));
    }

    #[test]
    fn what_is_no_workload_is_told_with_its_line() {
        for (text, line) in [
            ("", "line 1"),
            ("length x", "line 1"),
            ("length 9\ns c 10 -", "line 2"),
            ("length 9\ns cc 10 - a1+0", "line 2"),
            ("length 9\ns \u{e9} 10 - a1+0", "line 2"),
            ("length 9\ns c 10 - a0+0", "line 2"),
            ("length 9\ns c 10 - é1+0", "line 2"),
            ("length 9\nc c 10 - a1+0<", "line 2"),
            ("length 9\nc c 10 - a3*4+0", "line 2"),
            ("length 9\nc c 10 - a3*0+0", "line 2"),
            ("length 9\nu c 10 - a70000+0", "line 2"),
            ("length 9\ns c 10 -/0 a1+0", "line 2"),
            ("length 9\ns c 10 99999999999999999 a1+0", "line 2"),
            ("length 9\ns c 10 - a1+0\ns c 9 - a1+0", "line 3"),
            ("length 9\ns c 10@0b9+1 - a1+0", "line 2 waits"),
            ("length 9\ns c 1 - a1+0\ns c 2@1b9+1 - a1+0", "line 3 waits"),
            ("length 9\ns c 1 - a1+0\ns c 2@0c9+1 - a1+0", "line 3 is no"),
            ("length 9\ns c 1 - a1+0\ns c 2@0b9 - a1+0", "line 3 is no"),
            ("length 9\ns c 1 - a1+0\ns c 2@ - a1+0", "line 3 is no"),
        ] {
            let said = text.parse::<Recording>().unwrap_err();
            assert!(said.starts_with(line), "{said}");
        }
    }
}
