//! A queue by itself: given arrivals in, and each packet's fate and the discipline's variables out.
//!
//! The discipline is the one that a study's link has, behind the same [`Link`] if a rate is given. Random numbers may
//! be given too, and the discipline's variables set before the first packet, so that published vectors can be held
//! against it whatever state they start from.

mod draws;
mod packet;
mod trace;

use crate::scenario::QueueSpec;
use sojourn_net::link::Link;
use sojourn_net::probe::{DropCause, Probe};
use sojourn_net::queue::inspect::{Inspector, Scope};
use sojourn_net::queue::{Cx, QueueDiscipline};
use sojourn_net::rate::RateProfile;
use sojourn_net::{Limit, Rate, Span, Time};

pub use draws::Draws;
use draws::Stream;
pub use packet::{Arrival, Replayed};
use trace::Watched;
pub use trace::{Column, Event, Trace};

/// What asks the queue for packets.
#[derive(Clone, Copy, Debug)]
pub enum Departures<'a> {
    /// A link of this rate.
    Rate(Rate),
    /// Somebody at these times, in order; packets that arrive at the same time come first.
    At(&'a [Time]),
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// When it left or was dropped; `None` if it is still waiting.
    pub at: Option<Time>,
    /// Why it was dropped, if it was.
    pub cause: Option<DropCause>,
    /// True if it was marked.
    pub marked: bool,
}

/// What came of a replay.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What became of each packet.
    pub fates: Vec<Fate>,
    /// Numbers of the packets that left, in order.
    pub left: Vec<u32>,
    /// Numbers of the packets that were dropped, in order.
    pub dropped: Vec<u32>,
    /// The discipline's variables over time, if asked for.
    pub trace: Trace,
}

/// A variable to set before the first packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name, as in the trace.
    pub name: String,
    /// The flow whose line it is set for; `None`: all flows.
    pub flow: Option<u32>,
    /// Its value.
    pub value: f64,
}

/// How a replay is done, beside the queue and the packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Chooses the queue's random stream.
    pub seed: u64,
    /// Random numbers to take instead.
    pub draws: Draws<'a>,
    /// Variables to set before the first packet.
    pub state: &'a [Setting],
    /// Whether to keep the discipline's variables after every event.
    pub trace: bool,
}

struct Fates(Outcome);

impl Probe<Replayed> for Fates {
    fn enqueued(&mut self, _: Time, _: &Replayed) {}
    fn dequeued(&mut self, now: Time, packet: &Replayed, _: Span) {
        self.0.fates[packet.number as usize].at = Some(now);
        self.0.left.push(packet.number);
    }
    fn marked(&mut self, _: Time, packet: &Replayed) {
        self.0.fates[packet.number as usize].marked = true;
    }
    fn dropped(&mut self, now: Time, packet: Replayed, cause: DropCause, _: Option<Span>) {
        let fate = &mut self.0.fates[packet.number as usize];
        (fate.at, fate.cause) = (Some(now), Some(cause));
        self.0.dropped.push(packet.number);
    }
}

/// Sends packets, in order of arrival, through a queue; returns the fate of each.
///
/// Fails with a sentence if the queue's settings are not allowed, if packets or times are out of order, if the queue
/// needs a rate or a path that is not there, if a variable that is to be set does not exist, or if random numbers run
/// out.
pub fn replay(
    queue: &QueueSpec,
    arrivals: &[Arrival],
    departures: Departures<'_>,
    options: &Options<'_>,
) -> Result<Outcome, String> {
    queue.check().map_err(|invalid| invalid.sentence())?;
    let limit = queue.limit();
    let rate = match (limit, departures) {
        (Limit::Bdp(_), _) => return Err(format!("a limit of {limit} needs a path; write packets, bytes or a time")),
        (Limit::Time(_), Departures::At(_)) => return Err(format!("a limit of {limit} needs a link's rate")),
        (_, Departures::At(_)) if queue.needs_rate() => {
            return Err(
                "RED's weight or thresholds follow from a link's rate: give rate, or weight, min and max".into()
            );
        }
        (_, Departures::Rate(rate)) => rate,
        _ => Rate(u64::MAX),
    };
    if !arrivals.is_sorted_by_key(|arrival| arrival.at) {
        return Err("packets must be in order of arrival".to_owned());
    }
    if matches!(departures, Departures::At(times) if !times.is_sorted()) {
        return Err("times of departure must be in order".to_owned());
    }
    let mut discipline = queue.build(limit.resolve(rate, Span::ZERO), rate);
    let mut flows: Vec<u32> = arrivals.iter().map(|arrival| arrival.flow).collect();
    flows.sort_unstable();
    flows.dedup();
    set(&mut *discipline, &flows, options.state)?;
    let mut stream = Stream::new(options.seed, options.draws, arrivals.len())?;
    let (watched, seen) = Watched::new(discipline, flows, options.trace, stream.arriving());
    let outcome = Outcome { fates: vec![Fate::default(); arrivals.len()], ..Outcome::default() };
    let mut fates = Fates(outcome);
    let packets = (0..).zip(arrivals).map(|(number, arrival)| Replayed { number, arrival: *arrival });
    let mut cx = Cx { now: Time::ZERO, rng: &mut stream, probe: &mut fates };
    match departures {
        Departures::Rate(rate) => {
            through_link(Link::new(Box::new(watched), RateProfile::Constant(rate), 0), packets, &mut cx);
        }
        Departures::At(times) => at_times(watched, packets, times, &mut cx),
    }
    stream.check()?;
    let mut outcome = fates.0;
    outcome.trace = seen.take()?;
    Ok(outcome)
}

/// Sets variables before the first packet.
fn set(queue: &mut dyn QueueDiscipline<Replayed>, flows: &[u32], settings: &[Setting]) -> Result<(), String> {
    let all = if flows.is_empty() { &[0][..] } else { flows };
    for Setting { name: wanted, flow: of, value } in settings {
        let (mut names, mut found, mut refused, mut unfit) = (Vec::new(), false, false, None);
        for flow in all.iter().filter(|flow| of.is_none_or(|of| of == **flow)) {
            let mut visit = |name: &'static str, scope, now| {
                names.push(name);
                let is_it = name == wanted && (scope == Scope::Flow || of.is_none());
                found |= is_it;
                if is_it { *value } else { now }
            };
            let mut inspector = Inspector::new(*flow, &mut visit);
            queue.inspect(&mut inspector);
            refused |= inspector.refused();
            unfit = unfit.or(inspector.unfit());
        }
        names.sort_unstable();
        names.dedup();
        if !found {
            let known = names.join(", ");
            return Err(match known.as_str() {
                "" => format!("the queue has no variable {wanted} before its first packet"),
                _ => format!("the queue has no variable {wanted} to set; it has {known}"),
            });
        }
        if refused {
            return Err(format!("{wanted} follows from other variables and cannot be set"));
        }
        if let Some(must) = unfit {
            return Err(format!("{wanted} = {value}: this variable must be {must}"));
        }
    }
    Ok(())
}

fn through_link(mut link: Link<Replayed>, packets: impl Iterator<Item = Replayed>, cx: &mut Cx<'_, Replayed>) {
    for packet in packets {
        cx.now = packet.arrival.at;
        while link.poll_at().is_some_and(|due| due <= cx.now) {
            link.poll(cx);
        }
        link.send(packet, cx);
    }
    while link.backlog().packets > 0 {
        let Some(due) = link.poll_at() else { break };
        cx.now = due;
        link.poll(cx);
    }
}

fn at_times(mut queue: Watched, packets: impl Iterator<Item = Replayed>, times: &[Time], cx: &mut Cx<'_, Replayed>) {
    let mut packets = packets.peekable();
    for time in times {
        while let Some(packet) = packets.next_if(|packet| packet.arrival.at <= *time) {
            wake(&mut queue, packet.arrival.at, cx);
            queue.enqueue(packet, cx);
        }
        wake(&mut queue, *time, cx);
        queue.dequeue(cx);
    }
    for packet in packets {
        wake(&mut queue, packet.arrival.at, cx);
        queue.enqueue(packet, cx);
    }
}

/// Lets the queue do what is due up to `now`.
fn wake(queue: &mut Watched, now: Time, cx: &mut Cx<'_, Replayed>) {
    while let Some(due) = queue.wake_at().filter(|due| *due <= now) {
        cx.now = due;
        queue.wake(cx);
    }
    cx.now = now;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sojourn_net::Ecn;

    fn queue(variant: &str) -> QueueSpec {
        serde_json::from_value(json!({ "kind": "codel", "limit": "1000pkt", "variant": variant })).unwrap()
    }

    fn packet(at: u64) -> Arrival {
        Arrival { at: Time(at), size: 1000, flow: 0, ecn: Ecn::NotEct }
    }

    fn dropped(fates: &[Fate]) -> Vec<usize> {
        (1..).zip(fates).filter(|(_, fate)| fate.cause.is_some()).map(|(number, _)| number).collect()
    }

    #[test]
    fn four_dequeues_of_twenty_packets() {
        let times = [10, 210, 210, 420].map(|ms| Time(ms * 1_000_000));
        for (variant, drops, last) in [("rfc8289", vec![2, 5, 6], 7), ("linux", vec![2, 5, 6, 7], 8)] {
            let fates =
                replay(&queue(variant), &[packet(0); 20], Departures::At(&times), &Options::default()).unwrap().fates;
            assert_eq!(dropped(&fates), drops);
            assert_eq!(fates[last - 1], Fate { at: Some(times[3]), ..Fate::default() });
            assert_eq!(fates[last], Fate::default());
        }
    }

    #[test]
    fn two_bursts_through_a_link() {
        let spaced = |k: u64| k * 3_213_700;
        let late = (0..160).map(|k| spaced(k) + 1_400_000_000);
        let arrivals: Vec<_> = (0..260).map(spaced).chain(late).map(packet).collect();
        let expected = [
            35, 61, 80, 96, 109, 121, 132, 143, 153, 162, 171, 180, 188, 196, 203, 211, 218, 225, 232, 239, 245, 252,
            258, 295, 302, 308, 314, 320, 326, 332, 338, 343, 349, 354, 360, 365, 370, 376, 381, 386, 391, 396, 401,
            406, 411, 415,
        ];
        let fates =
            replay(&queue("rfc8289"), &arrivals, Departures::Rate(Rate(2_000_000)), &Options::default()).unwrap().fates;
        assert_eq!(dropped(&fates), expected);
        assert!(fates.iter().all(|fate| fate.at.is_some()), "the link runs until the queue is empty");
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let limited = |limit: &str| serde_json::from_value(json!({ "kind": "fifo", "limit": limit })).unwrap();
        let fails = |queue: &QueueSpec, packets: &[Arrival]| {
            replay(queue, packets, Departures::At(&[]), &Options::default()).unwrap_err()
        };
        assert!(fails(&limited("2BDP"), &[]).contains("needs a path"));
        assert!(fails(&limited("20ms"), &[]).contains("needs a link's rate"));
        assert!(fails(&limited("2pkt"), &[packet(1), packet(0)]).contains("in order"));
    }
}
