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
