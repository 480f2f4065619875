//! Work on many things that do not wait for each other, shared between threads.

use std::sync::{Mutex, PoisonError};

/// Things that a thread takes at a time.
const TAKEN: usize = 16;

/// Do `work` on each thing of a slice, given its index. Where every thing is worked on by itself, the result is the
/// same for any number of threads.
pub(crate) fn each<T: Send>(threads: usize, things: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    if threads < 2 || things.len() < 2 {
        return things.iter_mut().enumerate().for_each(|(i, thing)| work(i, thing));
    }
    let taken = TAKEN.min(things.len().div_ceil(4 * threads));
    let shares = Mutex::new(things.chunks_mut(taken).enumerate());
    let go_on = || loop {
        let share = shares.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((share, things)) = share else { return };
        things.iter_mut().enumerate().for_each(|(i, thing)| work(share * taken + i, thing));
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(go_on)));
        go_on();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_worked_on_once_and_knows_its_place() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (3, 1000), (8, 17)] {
            let mut things = vec![0; count];
            each(threads, &mut things, |i, thing| *thing += i + 1);
            assert!(things.iter().enumerate().all(|(i, &thing)| thing == i + 1));
        }
    }
}
