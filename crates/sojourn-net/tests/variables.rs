//! Rules that only the named variables of a queue or a controller show: what overflows, runs empty, or is alone.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use sojourn_net::congestion::{Ack, CongestionControl, Prague};
use sojourn_net::probe::{DropCause, Probe};
use sojourn_net::queue::inspect::Inspector;
use sojourn_net::queue::{Cobalt, Cx, DualPi2, FqPie, QueueDiscipline, Sfq, cobalt, dualpi2, fq_pie, sfq};
use sojourn_net::{Ecn, Packet, Span, Time};

struct Numbered {
    number: u32,
    flow: u32,
    size: u32,
    ecn: Ecn,
}

impl Packet for Numbered {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// The packets that were dropped, by number.
#[derive(Default)]
struct Dropped(Vec<u32>);

impl Probe<Numbered> for Dropped {
    fn enqueued(&mut self, _: Time, _: &Numbered) {}
    fn dequeued(&mut self, _: Time, _: &Numbered, _: Span) {}
    fn marked(&mut self, _: Time, _: &Numbered) {}
    fn dropped(&mut self, _: Time, packet: Numbered, _: DropCause, _: Option<Span>) {
        self.0.push(packet.number);
    }
}

/// A queue driven by hand.
struct Desk<Q> {
    queue: Q,
    rng: Pcg64Mcg,
    dropped: Dropped,
    arrived: u32,
}

impl<Q: QueueDiscipline<Numbered>> Desk<Q> {
    fn new(queue: Q) -> Self {
        Self { queue, rng: Pcg64Mcg::seed_from_u64(1), dropped: Dropped::default(), arrived: 0 }
    }

    fn arrive(&mut self, now: Time, flow: u32, size: u32, ecn: Ecn) {
        let packet = Numbered { number: self.arrived, flow, size, ecn };
        self.arrived += 1;
        self.queue.enqueue(packet, &mut Cx { now, rng: &mut self.rng, probe: &mut self.dropped });
    }

    fn serve(&mut self, now: Time) -> Option<u32> {
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.dropped };
        self.queue.dequeue(&mut cx).map(|packet| packet.number)
    }

    /// The variables of a flow of these names; those with a value are set to it.
    fn variables<const N: usize>(&mut self, flow: u32, names: [(&str, Option<f64>); N]) -> [f64; N] {
        let mut found = [f64::NAN; N];
        let mut visit = |name: &'static str, _, value: f64| {
            let Some(at) = names.iter().position(|(asked, _)| *asked == name) else { return value };
            found[at] = value;
            names[at].1.unwrap_or(value)
        };
        self.queue.inspect(&mut Inspector::new(flow, &mut visit));
        found
    }
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

#[test]
fn cobalt_s_drop_is_due_when_it_overflows_and_an_empty_queue_counts_one_off() {
    let mut desk = Desk::new(Cobalt::new(1, u64::MAX, &cobalt::Config::default()));
    let state = [("count", None), ("drop_next", None), ("dropping", None)];
    desk.arrive(ms(0), 0, 1000, Ecn::NotEct);
    desk.arrive(ms(50), 0, 1000, Ecn::NotEct);
    assert_eq!((desk.variables(0, state), &desk.dropped.0[..]), ([1.0, 50e6, 1.0], &[1][..]));
    let planned = [("count", Some(5.0)), ("drop_next", Some(90e6)), ("p_blue", Some(0.0))];
    desk.variables(0, planned);
    assert_eq!((desk.serve(ms(51)), desk.serve(ms(80))), (Some(0), None));
    assert_eq!(desk.variables(0, state), [5.0, 90e6, 0.0], "not due yet");
    assert_eq!(desk.serve(ms(500)), None);
    assert_eq!(desk.variables(0, state), [4.0, 140e6, 0.0], "one, and the next 100 ms / √4 later");
}

#[test]
fn in_fq_pie_the_flow_whose_packet_found_the_queue_full_accumulates_anew() {
    let mut desk = Desk::new(FqPie::new(2, u64::MAX, &fq_pie::Config::default()));
    for flow in [1, 2] {
        desk.arrive(ms(0), flow, 1000, Ecn::NotEct);
        desk.variables(flow, [("accu", Some(0.5))]);
    }
    desk.arrive(ms(0), 1, 1000, Ecn::NotEct);
    assert_eq!(desk.dropped.0, [2]);
    assert_eq!([1, 2].map(|flow| desk.variables(flow, [("accu", None)])), [[0.0], [0.5]]);
}

#[test]
fn the_longest_line_of_sfq_is_that_of_most_packets_not_of_most_bytes() {
    let mut desk = Desk::new(Sfq::new(3, u64::MAX, &sfq::Config::default()));
    for (flow, size) in [(0, 100), (0, 100), (1, 1000), (2, 100)] {
        desk.arrive(ms(0), flow, size, Ecn::NotEct);
    }
    assert_eq!(desk.dropped.0, [1]);
}

#[test]
fn dualpi2_s_classic_queue_alone_spends_no_credit() {
    let mut desk = Desk::new(DualPi2::new(100, u64::MAX, &dualpi2::Config::default()));
    let [first] = desk.variables(0, [("credit", None)]);
    for _ in 0..4 {
        desk.arrive(ms(0), 0, 1000, Ecn::NotEct);
    }
    assert_eq!([0; 2].map(|_| desk.serve(ms(0))), [Some(0), Some(1)]);
    assert_eq!(desk.variables(0, [("credit", Some(1.0))]), [first]);
    desk.arrive(ms(0), 1, 1000, Ecn::Ect1);
    assert_eq!(desk.serve(ms(0)), Some(2));
    assert_eq!(desk.variables(0, [("credit", None)]), [1.0 - 900.0 * 1000.0], "900 of 1000 are the other's");
}

#[test]
fn prague_averages_its_marks_every_25_ms_where_round_trips_are_shorter() {
    const MSS: u64 = 1000;
    let mut prague = Prague::new(MSS, 100 * MSS);
    let acknowledge = |prague: &mut Prague, round: u64, ce_bytes: u64| {
        let (una, rtt) = ((round + 1) * MSS, Span::from_millis(5));
        prague.on_ack(
            ms(5 * round),
            &Ack {
                delivered: MSS,
                in_flight: MSS,
                una,
                next: una,
                rtt: Some(rtt),
                one_way: None,
                srtt: rtt,
                min_rtt: rtt,
                app_limited: false,
                recovering: false,
                left_in_flight: 0,
                next_send: Time::ZERO,
                total_delivered: una,
                total_lost: 0,
                ce_bytes,
                sample: None,
            },
        );
    };
    let alpha = |prague: &Prague| {
        let mut found = f64::NAN;
        prague.state(&mut |name, value| found = if name == "alpha" { value } else { found });
        found
    };
    // A first mark, in slow start; from then on α falls whenever it is averaged.
    acknowledge(&mut prague, 0, MSS);
    assert!(prague.set("cwnd", 100.0) && prague.set("ssthresh", 100.0) && prague.set("rounds", 4.0));
    let mut averaged = Vec::new();
    for round in 1..=20 {
        let before = alpha(&prague);
        acknowledge(&mut prague, round, 0);
        if alpha(&prague) < before {
            averaged.push(5 * round);
        }
    }
    assert_eq!(averaged, [25, 50, 75, 100]);
}
