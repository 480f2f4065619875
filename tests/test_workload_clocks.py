"""Captures whose clock was set, in one direction, or with empty datagrams: workloads that a study takes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from sojourn.capture.workload import read
from sojourn.errors import SojournError
from sojourn.study.inputs.recorded import text_of

A_YEAR_S = 366 * 86400
SYN, ACK = 2, 16


def packet(by_opener: bool, protocol: int, transport: bytes) -> bytes:
    """Return a packet at IP of either of two hosts, the opener near the capture."""
    ends = [b"\x0a\0\0\x01", b"\xc0\0\x02\x09"][:: 1 if by_opener else -1]
    size, hops = 20 + len(transport), 64 if by_opener else 55
    return struct.pack(">BBHHHBBH", 0x45, 0, size, 7, 0, hops, protocol, 0) + b"".join(ends) + transport


def segment(by_opener: bool, flags: int, seq: int, ack: int, payload: int = 0) -> bytes:
    """Return a segment of TCP."""
    ports = (5000, 443) if by_opener else (443, 5000)
    return packet(
        by_opener, 6, struct.pack(">HHIIBBHHH", *ports, seq, ack, 80, flags, 999, 0, 0) + bytes(payload)
    )


def datagram(payload: int) -> bytes:
    """Return a datagram of the opener."""
    return packet(True, 17, struct.pack(">HHHH", 5000, 6000, 8 + payload, 0) + bytes(payload))


@pytest.fixture
def capture(tmp_path: Path):
    """Write packets, each with its time in ms, as a capture."""

    def write(*packets: tuple[int, bytes], since_s: int = 1_700_000_000) -> Path:
        head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)
        records = [
            struct.pack("<IIII", since_s + ms // 1000, ms % 1000 * 1000, len(data), len(data)) + data
            for ms, data in packets
        ]
        path = tmp_path / "c.pcap"
        path.write_bytes(head + b"".join(records))
        return path

    return write


def again(found, tmp_path: Path) -> str:
    """Return the text that the engine reads of a workload that was written."""
    found.connections.write_parquet(tmp_path / "w.parquet")
    return text_of(tmp_path / "w.parquet")


def handshake(answered_ms: int) -> list[tuple[int, bytes]]:
    return [(0, segment(True, SYN, 9, 0)), (answered_ms, segment(False, SYN | ACK, 99, 10))]


def test_of_one_direction_nobody_waits_since_1970(capture, tmp_path):
    # The opener sends twice before it has heard all; of the other end only acknowledgements tell.
    sent = [
        (40, segment(True, ACK, 10, 100, 600)),
        (85, segment(True, ACK, 610, 3000, 680)),
        (105, segment(True, ACK, 1290, 3000, 300)),
        (150, segment(True, ACK, 1590, 8200, 70)),
        (400, segment(True, ACK, 1660, 8300, 70)),
    ]
    found = read([capture((0, segment(True, SYN, 9, 0)), *sent)])
    [row] = found.connections.to_dicts()
    assert row["a_bytes"] == 1720 and not row["b_seen"]
    assert all(turn["wait_ns"] <= row["duration_ns"] for turn in row["turns"]), row["turns"]


def test_datagrams_without_payload_are_no_part_of_a_replay(capture, tmp_path):
    sent = [(0, datagram(0)), (5, datagram(100)), (12, datagram(0)), (30, datagram(60)), (40, datagram(0))]
    found = read([capture(*sent)])
    [row] = found.connections.to_dicts()
    assert [(turn["bytes"], turn["wait_ns"]) for turn in row["turns"]] == [(100, 5_000_000), (60, 25_000_000)]
    assert again(found, tmp_path).splitlines()[1].endswith(" a100+5000000 a60+25000000")
    # None carries anything: a row of the table, and nothing to replay.
    found = read([capture((0, datagram(0)), (7, datagram(0)))])
    assert found.connections.height == 1
    assert again(found, tmp_path) == "length 0"


@pytest.mark.parametrize(("answered_ms", "rtt"), [(59_999, 59_999_000_000), (60_000, None)])
def test_what_takes_a_minute_is_no_round_trip(capture, answered_ms, rtt):
    [row] = read([capture(*handshake(answered_ms))]).connections.to_dicts()
    assert row["rtt_ns"] == rtt


def test_captures_over_which_a_clock_was_set_by_decades_are_refused(capture):
    path = capture((0, datagram(9)), (36 * A_YEAR_S * 1000, datagram(9)), since_s=0)
    assert read([path]).length_ns == 36 * A_YEAR_S * 10**9
    path = capture((0, datagram(9)), (50 * A_YEAR_S * 1000, datagram(9)), since_s=0)
    with pytest.raises(
        SojournError, match=r"first frame is 50 years before the last, .* of 37 years at most"
    ):
        read([path])


def test_a_study_lasts_a_year_at_most(capture, sojourn):
    words = ("workload", "c.pcap", "-o", "w.parquet", "--study", "w.toml")
    page = [*handshake(40), (40, segment(True, ACK, 10, 100, 60)), (80, segment(False, ACK, 100, 70, 500))]
    capture(*page, (A_YEAR_S * 1000, segment(True, ACK, 70, 600)))
    sojourn(*words)
    sojourn("run", "w.toml", "--dry-run")
    for path in sojourn.cwd.glob("w*"):
        path.unlink()
    capture(*page, (A_YEAR_S * 1000 + 1000, segment(True, ACK, 70, 600)))
    said = sojourn(*words, code=2).stderr
    assert "first frame is 366 days before the last" in said and said.count("\n") == 1
    assert not list(sojourn.cwd.glob("w*"))
