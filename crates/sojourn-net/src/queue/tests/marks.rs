//! What every discipline keeps alike: how packets are let in, marked, dropped and handed out.

use super::check::{self, Fates, Numbered, packet};
use crate::queue::discipline::Cx;
use crate::{Ecn, Time};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// Sends packets with these ECN bits, sizes and times in between (in tenths of ms) through a queue that is asked for a
/// packet every ms. Returns the fates, and the packets that left with CE.
fn run(queue: &mut dyn crate::queue::QueueDiscipline<Numbered>, arrivals: &[(Ecn, u32, u64)]) -> (Fates, Vec<usize>) {
    let (mut fates, mut left_ce) = (Fates::default(), Vec::new());
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let (mut now, mut asks) = (Time::ZERO, 1_000_000);
    for (number, (ecn, size, gap)) in arrivals.iter().enumerate() {
        let at = Time(now.0 + gap * 100_000);
        while asks <= at.0 {
            let mut cx = Cx { now: Time(asks), rng: &mut rng, probe: &mut fates };
            while queue.wake_at().is_some_and(|due| due <= cx.now) {
                queue.wake(&mut cx);
            }
            left_ce.extend(queue.dequeue(&mut cx).filter(Numbered::leaves_ce).map(|packet| packet.number));
            asks += 1_000_000;
        }
        now = at;
        let mut cx = Cx { now, rng: &mut rng, probe: &mut fates };
        queue.enqueue(packet(number, *size).with_flow(number as u32 % 3).with_ecn(*ecn), &mut cx);
    }
    (fates, left_ce)
}

proptest! {
    #[test]
    fn marks_are_counted_alike_by_every_discipline(
        arrivals in prop::collection::vec((0usize..4, 100u32..1500, 0u64..16), 0..400),
    ) {
        let codes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let arrivals: Vec<_> = arrivals.into_iter().map(|(ecn, size, gap)| (codes[ecn], size, gap)).collect();
        for (name, mut queue) in check::all() {
            let (fates, left_ce) = run(&mut *queue, &arrivals);
            let arrived_ce = |number: &usize| arrivals[*number].0 == Ecn::Ce;
            prop_assert!(!fates.marked.iter().any(arrived_ce), "{}: marked what arrived with CE", name);
            let mut expected: Vec<_> = left_ce.into_iter().filter(|number| !arrived_ce(number)).collect();
            let mut marked: Vec<_> = fates.marked.iter().filter(|n| fates.dequeued.contains(n)).copied().collect();
            marked.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(marked, expected, "{}", name);
        }
    }
}

#[test]
fn disciplines_that_can_mark_do_and_ce_packets_are_not_counted() {
    let load = |ecn| (0..2000).map(|n| (ecn, 1000, 3 + n % 3)).collect::<Vec<_>>();
    for (name, _) in check::all() {
        let fates = |ecn| {
            let (_, mut queue) = check::all().into_iter().find(|(other, _)| *other == name).expect("it is there");
            run(&mut *queue, &load(ecn)).0
        };
        assert!(fates(Ecn::Ce).marked.is_empty(), "{name}");
        let marks = ["fifo", "netem", "sfq"].iter().all(|kind| !name.contains(kind));
        let capable = if name.contains("l4s\": true") { Ecn::Ect1 } else { Ecn::Ect0 };
        assert_eq!(!fates(capable).marked.is_empty(), marks, "{name}");
    }
}
