//! Nanoseconds per packet through a queue: 8 flows, 40 packets of 1500 bytes waiting, 4.8 ms at 100 Mbit/s.
//!
//! `cargo bench -p sojourn-net` prints the best of nine runs of each discipline and its ratio to FIFO.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use rand::SeedableRng;
use sojourn_net::queue::{Cobalt, Codel, Cx, DropFrom, Fifo, FqCodel, QueueDiscipline, cobalt, codel, fq_codel};
use sojourn_net::{Packet, Time};
use std::time::Instant;

/// As large as the simulator's.
struct Frame {
    flow: u32,
    _headers: [u64; 6],
}

impl Packet for Frame {
    fn size(&self) -> u32 {
        1500
    }
    fn flow(&self) -> u32 {
        self.flow
    }
}

fn nanoseconds(queue: &mut dyn QueueDiscipline<Frame>) -> f64 {
    const PACKETS: u64 = 2_000_000;
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    let mut cx = Cx { now: Time(0), rng: &mut rng, probe: &mut () };
    let begun = Instant::now();
    for i in 0..PACKETS {
        cx.now = Time(i * 120_000);
        queue.enqueue(Frame { flow: (i % 8) as u32, _headers: [i; 6] }, &mut cx);
        if queue.backlog().packets > 40 {
            std::hint::black_box(queue.dequeue(&mut cx));
        }
    }
    begun.elapsed().as_nanos() as f64 / PACKETS as f64
}

fn main() {
    let codel = codel::Config::default;
    type Make = Box<dyn Fn() -> Box<dyn QueueDiscipline<Frame>>>;
    let disciplines: [(&str, Make); 5] = [
        ("fifo", Box::new(|| Box::new(Fifo::new(1000, u64::MAX, DropFrom::Tail)))),
        ("codel", Box::new(move || Box::new(Codel::new(1000, u64::MAX, &codel())))),
        (
            "codel-linux",
            Box::new(move || {
                Box::new(Codel::new(1000, u64::MAX, &codel::Config { variant: codel::Variant::Linux, ..codel() }))
            }),
        ),
        ("fq-codel", Box::new(|| Box::new(FqCodel::new(1000, u64::MAX, &fq_codel::Config::default())))),
        ("cobalt", Box::new(|| Box::new(Cobalt::new(1000, u64::MAX, &cobalt::Config::default())))),
    ];
    let mut best = [f64::INFINITY; 5];
    for _ in 0..9 {
        for (best, (_, make)) in best.iter_mut().zip(&disciplines) {
            *best = best.min(nanoseconds(&mut *make()));
        }
    }
    for (ns, (name, _)) in best.iter().zip(&disciplines) {
        println!("{name:12} {ns:6.1} ns per packet, {:.2} of fifo", ns / best[0]);
    }
}
