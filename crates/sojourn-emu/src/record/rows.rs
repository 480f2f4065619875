//! Rows of the packet log as bytes of fixed size, in the machine's byte order: what Python reads as one array.

use sojourn_sim::stats::Log;
use std::io::{self, Write};

/// Bytes of a row: arrival, departure (ns; −1: none) and sequence number (8 each), packet, flow, size, packets and
/// bytes waiting, journey (4 each), link, kind, cause of the drop, and a byte of nothing.
pub const ROW: usize = 3 * 8 + 6 * 4 + 4;

/// Writes the rows of a link, the first of which has the number `first`.
///
/// # Errors
/// Writing failed.
pub fn write(out: &mut impl Write, link: u8, first: u32, log: &Log) -> io::Result<()> {
    for place in 0..log.flow.len() {
        let mut row = [0; ROW];
        row[..8].copy_from_slice(&log.arrive_ns[place].to_ne_bytes());
        row[8..16].copy_from_slice(&log.depart_ns[place].to_ne_bytes());
        row[16..24].copy_from_slice(&log.seq[place].to_ne_bytes());
        let small = [
            first.wrapping_add(place as u32),
            log.flow[place],
            log.size_bytes[place],
            log.backlog_pkts[place],
            log.backlog_bytes[place],
            log.journey[place],
        ];
        for (to, number) in row[24..48].chunks_mut(4).zip(small) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        (row[48], row[49], row[50]) = (link, log.kind[place], log.drop_cause[place]);
        out.write_all(&row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_its_place_in_a_row_and_rows_are_numbered_on() {
        let log = Log {
            arrive_ns: vec![1, u64::MAX - 1],
            depart_ns: vec![2, -1],
            seq: vec![3, u64::MAX - 3],
            flow: vec![5, 15],
            size_bytes: vec![6, 16],
            backlog_pkts: vec![7, 17],
            backlog_bytes: vec![8, 18],
            journey: vec![9, 19],
            kind: vec![11, 21],
            drop_cause: vec![12, 255],
        };
        let mut bytes = Vec::new();
        write(&mut bytes, 10, u32::MAX, &log).unwrap();
        let [first, second] = [&bytes[..ROW], &bytes[ROW..]];
        let long = |row: &[u8], at: usize| u64::from_ne_bytes(row[at..at + 8].try_into().unwrap());
        let number = |row: &[u8], at: usize| u32::from_ne_bytes(row[at..at + 4].try_into().unwrap());
        assert_eq!([0, 8, 16].map(|at| long(first, at)), [1, 2, 3]);
        assert_eq!([0, 8, 16].map(|at| long(second, at)), [u64::MAX - 1, u64::MAX, u64::MAX - 3]);
        assert_eq!([24, 28, 32, 36, 40, 44].map(|at| number(first, at)), [u32::MAX, 5, 6, 7, 8, 9]);
        assert_eq!([24, 28, 32, 36, 40, 44].map(|at| number(second, at)), [0, 15, 16, 17, 18, 19]);
        assert_eq!((&first[48..], &second[48..]), (&[10, 11, 12, 0][..], &[10, 21, 255, 0][..]));
    }
}
