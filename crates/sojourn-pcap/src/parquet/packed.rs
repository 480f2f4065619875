//! Indices into a dictionary: Parquet's hybrid of runs and of numbers of so many bits (Encodings.md, RLE = 3), of which
//! one run is written: of equal indices where there is one only, of packed ones otherwise.

use super::compact::varint;

/// Bits that tell so many indices apart, at least one.
pub(super) fn width(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).max(1).leading_zeros()
}

/// Append indices below `count`.
pub(super) fn pack(bytes: &mut Vec<u8>, count: usize, rows: usize, indices: impl Iterator<Item = u32>) {
    let width = width(count);
    bytes.push(width as u8);
    if count < 2 {
        varint(bytes, (rows as u64) << 1);
        return bytes.push(0);
    }
    let groups = rows.div_ceil(8);
    varint(bytes, (groups as u64) << 1 | 1);
    let until = bytes.len() + groups * width as usize;
    let (mut waiting, mut bits) = (0u64, 0);
    for index in indices {
        waiting |= u64::from(index) << bits;
        bits += width;
        if bits >= 32 {
            bytes.extend_from_slice(&(waiting as u32).to_le_bytes());
            (waiting, bits) = (waiting >> 32, bits - 32);
        }
    }
    bytes.extend_from_slice(&(waiting as u32).to_le_bytes());
    bytes.resize(until, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_come_back_from_their_bits() {
        for (count, rows) in [(2usize, 9usize), (3, 1), (5, 64), (1000, 77), (70_000, 333), (1 << 20, 40)] {
            let indices: Vec<u32> = (0..rows).map(|i| (i * 7919 % count) as u32).collect();
            let mut bytes = Vec::new();
            pack(&mut bytes, count, rows, indices.iter().copied());
            let width = usize::from(bytes[0]);
            assert!(count <= 1 << width && count > 1 << (width - 1));
            let packed = &bytes[bytes.len() - rows.div_ceil(8) * width..];
            let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
            let read = |i: usize| (0..width).map(|n| bit(i * width + n) << n).sum::<u32>();
            assert!(indices.iter().enumerate().all(|(i, &index)| read(i) == index), "{count}");
        }
        let mut same = Vec::new();
        pack(&mut same, 1, 300, std::iter::repeat_n(0, 300));
        assert_eq!(same, [1, 0xd8, 4, 0], "one run of 300 times 0");
    }
}
