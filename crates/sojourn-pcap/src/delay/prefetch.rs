//! Memory that is asked for soon, fetched while there is other work.
//!
//! Between two packets of a flow come those of all others, and what it reads and writes next lies in lines of the cache
//! that were never there or have left: the next place of its track in the log, the next stamp that it waits for. Where
//! these are is known when the packet before passes. Asked for then, they are at hand when they are needed; asked for
//! when they are needed, they keep all that follows waiting. (To look ahead for the *state* of the next packets' flows
//! gains nothing: that is at hand.)

/// Entries that a pass over the log asks for ahead of the one that it looks at: 1 KiB, which it takes some 500 ns to
/// come to.
pub(crate) const ENTRIES_AHEAD: usize = 32;

/// Ask for the line of what lies so many places behind this one in memory, if anything does.
#[inline(always)]
pub(crate) fn behind<T>(this: &T, places: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = std::ptr::from_ref(this).wrapping_add(places);
        // SAFETY: a hint to the processor. It reads nothing that the program sees, whatever lies at the place, and is
        // dropped where nothing does.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (this, places);
}
