//! Captures in, a workload out.

use std::net::IpAddr;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_pcap::decode::Address;
use sojourn_pcap::read::{Capture, copies_left_out};
use sojourn_pcap::workload::{Extractor, Options, Recorded, Stood};

use crate::columns::columns;
use crate::error::CaptureError;

/// Frames between two looks at signals.
const SLICE: u64 = 1 << 16;

/// Read captures as one stream and return the workload in them: a dict with `connections` (columns, a row for each),
/// `turns` (columns, a row for each turn: `accepted`, `bytes`, `wait_ns`, `heard`, `writes`, `streamed`; `connections`
/// has the number of them), and what was found of the capture as a whole. `clients` are addresses of clients; without
/// them hop limits and who opens connections decide.
#[pyfunction]
pub(crate) fn workload<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    clients: Vec<(IpAddr, u8)>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| -> PyResult<_> {
        let bad = |error: sojourn_pcap::read::ReadError| CaptureError::new_err(error.to_string());
        let mut capture = Capture::open(&paths).map_err(bad)?;
        let mut extractor = Extractor::new(Options::default());
        let mut frames = 0u64;
        while let Some(frame) = capture.next_frame().map_err(bad)? {
            extractor.frame(&frame);
            frames += 1;
            if frames.is_multiple_of(SLICE) {
                Python::attach(|py| py.check_signals())?;
            }
        }
        let is_client = |address: Address| {
            (!clients.is_empty()).then(|| clients.iter().any(|(network, length)| within(address, *network, *length)))
        };
        let workload = extractor.finish(&is_client);
        let mut damage: Vec<String> = capture.damage().iter().map(|damage| damage.sentence.clone()).collect();
        damage.extend_from_slice(capture.out_of_order());
        damage.extend(copies_left_out(workload.copies, "the capture"));
        Ok((workload, damage))
    })?;
    let (workload, damage) = found;
    let result = PyDict::new(py);
    result.set_item("connections", connections(py, &workload.connections)?)?;
    let turns = || workload.connections.iter().flat_map(|connection| &connection.turns);
    let turns = columns!(py, of turns(), {
        accepted: |turn| turn.accepted, bytes: |turn| turn.bytes, wait_ns: |turn| turn.wait_ns,
        heard: |turn| turn.heard, writes: |turn| turn.writes, streamed: |turn| turn.streamed,
    })?;
    result.set_item("turns", turns)?;
    result.set_item("length_ns", workload.length_ns)?;
    result.set_item("frames", workload.frames)?;
    result.set_item("other_frames", workload.other_frames)?;
    result.set_item("beyond_bound", workload.beyond_bound)?;
    result.set_item("sides_by_ttl", workload.sides_by_ttl)?;
    result.set_item("near_are_clients", workload.near_are_clients)?;
    let busy = columns!(py, of workload.busy.iter(), {
        bin: |(bin, _)| *bin, down: |(_, bytes)| bytes[0], up: |(_, bytes)| bytes[1],
        acknowledged: |(_, bytes)| bytes[2], datagrams: |(_, bytes)| bytes[3],
    })?;
    result.set_item("busy", busy)?;
    for (link, stood) in ["down", "up"].into_iter().zip(workload.stood) {
        let Stood { pairs, time_ns, bytes, longest_ns } = stood;
        result.set_item(format!("stood_{link}"), (pairs, time_ns, bytes, longest_ns))?;
    }
    result.set_item("damage", damage)?;
    Ok(result)
}

fn connections<'py>(py: Python<'py>, rows: &[Recorded]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let number = |value: Option<u64>| value.map_or(-1, |value| value as i64);
    table.set_item("opener", rows.iter().map(|row| row.opener.0.to_string()).collect::<Vec<_>>())?;
    table.set_item("acceptor", rows.iter().map(|row| row.acceptor.0.to_string()).collect::<Vec<_>>())?;
    let numbers = columns!(py, of rows.iter(), {
        number: |row| row.number,
        after: |row| number(row.after.map(|after| after.number.into())),
        after_bytes: |row| number(row.after.map(|after| after.bytes)),
        after_ns: |row| number(row.after.map(|after| after.wait_ns)),
        opener_port: |row| row.opener.1,
        acceptor_port: |row| row.acceptor.1,
        tcp: |row| row.tcp,
        quic: |row| row.quic,
        as_sent: |row| row.as_sent,
        a_missing_pkts: |row| row.missing_pkts[0],
        b_missing_pkts: |row| row.missing_pkts[1],
        client_opens: |row| row.client_opens,
        start_ns: |row| row.start_ns,
        duration_ns: |row| row.duration_ns,
        a_bytes: |row| row.bytes[0],
        b_bytes: |row| row.bytes[1],
        a_data_pkts: |row| row.data_pkts[0],
        b_data_pkts: |row| row.data_pkts[1],
        a_again_pkts: |row| row.again_pkts[0],
        b_again_pkts: |row| row.again_pkts[1],
        a_vain_pkts: |row| row.vain_pkts[0],
        b_vain_pkts: |row| row.vain_pkts[1],
        concurrent: |row| row.concurrent,
        began_before: |row| row.began_before,
        cut: |row| row.cut,
        a_goes_on: |row| row.goes_on[0],
        b_goes_on: |row| row.goes_on[1],
        a_closes_first: |row| row.closes_first[0],
        b_closes_first: |row| row.closes_first[1],
        a_seen: |row| row.seen[0],
        b_seen: |row| row.seen[1],
        rtt_ns: |row| number(row.rtt_ns),
        a_part_ns: |row| number(row.parts_ns[0]),
        b_part_ns: |row| number(row.parts_ns[1]),
        a_mss: |row| number(row.mss[0].map(u64::from)),
        b_mss: |row| number(row.mss[1].map(u64::from)),
        a_initial_window: |row| number(row.initial_window[0].map(u64::from)),
        b_initial_window: |row| number(row.initial_window[1].map(u64::from)),
        a_bbr: |row| row.bbr[0],
        b_bbr: |row| row.bbr[1],
        a_window: |row| number(row.window[0].map(u64::from)),
        b_window: |row| number(row.window[1].map(u64::from)),
        a_ecn: |row| row.ecn[0],
        b_ecn: |row| row.ecn[1],
        turns: |row| row.turns.len() as u32,
    })?;
    table.update(numbers.as_mapping())?;
    Ok(table)
}

fn within(address: Address, network: IpAddr, length: u8) -> bool {
    let bits = if network.is_ipv4() { 96 + u32::from(length.min(32)) } else { u32::from(length.min(128)) };
    let differing = address.0 ^ Address::from(network).0;
    bits == 0 || differing >> (128 - bits) == 0
}
