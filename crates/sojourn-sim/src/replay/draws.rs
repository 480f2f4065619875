//! The random numbers of a replay: a seeded stream, or given ones.

use rand::{Rng, SeedableRng, TryRng};
use rand_pcg::Pcg64Mcg;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a queue's random numbers in [0, 1) come from. Only decisions draw them; the salt of a hash is always the
/// seed's.
#[derive(Clone, Copy, Debug, Default)]
pub enum Draws<'a> {
    /// The seeded stream.
    #[default]
    Seeded,
    /// Every draw gives this number.
    Always(f64),
    /// Draws give these numbers one after another.
    InOrder(&'a [f64]),
    /// What is drawn while packet k arrives is the k-th of these numbers.
    ByArrival(&'a [f64]),
}

/// No packet is arriving.
pub(super) const NOBODY: usize = usize::MAX;

/// The queue's random stream.
pub(super) struct Stream<'a> {
    seeded: Pcg64Mcg,
    draws: Draws<'a>,
    drawn: usize,
    arriving: Arc<AtomicUsize>,
    wrong: Option<&'static str>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(seed: u64, draws: Draws<'a>, arrivals: usize) -> Result<Self, String> {
        let given = match &draws {
            Draws::Seeded => &[][..],
            Draws::Always(number) => std::slice::from_ref(number),
            Draws::InOrder(numbers) | Draws::ByArrival(numbers) => numbers,
        };
        if let Some(number) = given.iter().find(|number| !(0.0..1.0).contains(*number)) {
            return Err(format!("{number} is not a random number; give 0 to below 1"));
        }
        if matches!(draws, Draws::ByArrival(numbers) if numbers.len() != arrivals) {
            return Err(format!("{} random numbers for {arrivals} packets; give one for each", given.len()));
        }
        let arriving = Arc::new(AtomicUsize::new(NOBODY));
        Ok(Self { seeded: Pcg64Mcg::seed_from_u64(seed), draws, drawn: 0, arriving, wrong: None })
    }

    /// Must be told which packet arrives.
    pub(super) fn arriving(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.arriving)
    }

    /// Whether all draws had a number.
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.wrong, self.draws) {
            (None, _) => Ok(()),
            (Some(_), Draws::InOrder(numbers)) => {
                Err(format!("the queue drew {} random numbers, but {} are given", self.drawn, numbers.len()))
            }
            (Some(wrong), _) => Err(wrong.to_owned()),
        }
    }

    fn number(&mut self) -> Option<f64> {
        match self.draws {
            Draws::Seeded => None,
            Draws::Always(number) => Some(number),
            Draws::InOrder(numbers) => {
                let number = numbers.get(self.drawn).copied();
                self.drawn += 1;
                if number.is_none() {
                    self.wrong = Some("too few random numbers");
                }
                number
            }
            Draws::ByArrival(numbers) => {
                let number = numbers.get(self.arriving.load(Ordering::Relaxed)).copied();
                if number.is_none() {
                    self.wrong = Some("this queue draws at departures: random numbers by packet cannot be given to it");
                }
                number
            }
        }
    }
}

impl TryRng for Stream<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.seeded.next_u32())
    }

    /// What becomes a number in [0, 1) by its first 53 bits.
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(match self.number() {
            Some(number) => ((number * (1u64 << 53) as f64) as u64) << 11,
            None => self.seeded.next_u64(),
        })
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.seeded.fill_bytes(bytes);
        Ok(())
    }
}
