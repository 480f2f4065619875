//! Work on many things that do not wait for each other, shared between threads.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

/// A thread takes so many times less than its part of the rest.
const SHARES: usize = 8;

/// A thing, how long it may take beside others, and its index.
type Weighed<'a, T> = (usize, usize, &'a mut T);

/// Do `work` on each thing of a slice, given its index; `weight` is how long it may take, beside others. Where every
/// thing is worked on by itself, the result is the same for any number of threads.
pub(crate) fn for_each<T: Send>(
    threads: usize,
    things: &mut [T],
    weight: impl Fn(usize, &T) -> usize,
    work: impl Fn(usize, &mut T) + Sync,
) {
    if threads < 2 || things.len() < 2 {
        return things.iter_mut().enumerate().for_each(|(i, thing)| work(i, thing));
    }
    let weighed = things.iter_mut().enumerate().map(|(i, thing)| (1 + weight(i, thing), i, thing));
    let mut weighed: Vec<Weighed<'_, T>> = weighed.collect();
    weighed.sort_by_key(|(weight, ..)| Reverse(*weight));
    let rest = Mutex::new((weighed.iter().map(|(weight, ..)| weight).sum(), weighed.as_mut_slice()));
    let go_on = || loop {
        let Some(share) = share(threads, &mut rest.lock().unwrap_or_else(PoisonError::into_inner)) else { return };
        share.iter_mut().for_each(|(_, i, thing)| work(*i, thing));
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(go_on)));
        go_on();
    });
}

/// Take the next share of the rest, whose weight is known. The heaviest come first, and shares become lighter: at the
/// end, all threads end together.
fn share<'a, 'b, T>(
    threads: usize,
    (weight, things): &mut (usize, &'a mut [Weighed<'b, T>]),
) -> Option<&'a mut [Weighed<'b, T>]> {
    let (most, mut taken) = (*weight / (SHARES * threads), 0);
    let fits = |(weight, ..): &&Weighed<'b, T>| {
        taken += weight;
        taken <= most
    };
    let count = things.iter().take_while(fits).count().max(1);
    let share = things.split_off_mut(..count)?;
    *weight -= share.iter().map(|(weight, ..)| weight).sum::<usize>();
    Some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_worked_on_once_and_knows_its_place() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (3, 1000), (8, 17)] {
            let mut things = vec![0; count];
            for_each(threads, &mut things, |i, _| i * i % 7, |i, thing| *thing += i + 1);
            assert!(things.iter().enumerate().all(|(i, &thing)| thing == i + 1));
        }
    }

    #[test]
    fn the_heaviest_is_taken_alone_and_the_last_one_by_one() {
        let mut things = [(); 200];
        let mut weighed: Vec<Weighed<'_, ()>> = things.iter_mut().enumerate().map(|(i, thing)| (1, i, thing)).collect();
        weighed[0].0 = 1000;
        let mut rest = (1199, weighed.as_mut_slice());
        let shares: Vec<usize> = std::iter::from_fn(|| share(2, &mut rest)).map(|share| share.len()).collect();
        assert_eq!((shares[0], shares[1], rest.0), (1, 12, 0));
        assert!(shares[1..].is_sorted_by(|a, b| a >= b) && shares.ends_with(&[1; 8]), "{shares:?}");
        assert_eq!(shares.iter().sum::<usize>(), 200);
    }
}
