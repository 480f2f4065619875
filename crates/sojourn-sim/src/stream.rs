//! Named random streams: every component draws from its own generator.
//!
//! A stream depends on the study's seed, the replication and the component's name, and on nothing else of the point.
//! Two points of a sweep therefore see the same arrivals, sizes and starting times under different buffers or
//! disciplines (common random numbers), and a new component never shifts the draws of another.
//!
//! Names are hashed with FNV-1a (Fowler, Noll, Vo; 64 bits) and mixed with `SplitMix64` (Steele, Lea, Flood, OOPSLA
//! 2014). Both are written out here because a standard-library hasher may change between releases; results must not.

use rand_pcg::Pcg64Mcg;

/// The random stream of the component called `name` in this replication of a study.
pub fn stream(seed: u64, replication: u32, name: &str) -> Pcg64Mcg {
    let mut state = split_mix(seed);
    state = split_mix(state ^ u64::from(replication));
    state = split_mix(state ^ fnv1a(name.as_bytes()));
    let high = split_mix(state);
    let low = split_mix(high ^ state);
    Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low))
}

/// FNV-1a over the bytes.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One step of `SplitMix64` from this state.
fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use std::collections::BTreeSet;

    #[test]
    fn the_hashes_are_the_published_ones() {
        // FNV-1a test vectors of the authors' page; SplitMix64 from state 0 (Vigna's reference code).
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(split_mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_stream_is_the_same_everywhere() {
        let mut rng = stream(1, 0, "flows-0");
        // Computed independently, in Python, from the definitions above and of PCG's `XSL RR 128/64 (MCG)`.
        assert_eq!(rng.random::<u64>(), 0x8ee1_6a54_840b_e665);
        assert_eq!(rng.random::<u64>(), 0x3333_2383_4a29_0d68);
    }

    #[test]
    fn every_name_seed_and_replication_has_its_own() {
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for replication in 0..10 {
                for name in ["flows-0", "flows-1", "users-0", "workload-0", ""] {
                    seen.insert(stream(seed, replication, name).random::<u64>());
                }
            }
        }
        assert_eq!(seen.len(), 500);
    }
}
