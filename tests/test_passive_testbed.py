"""The passive testbed of benches/passive: what its observer sees, and what is true of it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benches.passive.observed import frames, observe, ports

HIDDEN = 8002


def ethernet(source: int, target: int) -> bytes:
    """Return a frame with a TCP header between these ports."""
    ip = bytes([0x45]) + bytes(8) + bytes([6]) + bytes(10)
    return bytes(12) + b"\x08\x00" + ip + struct.pack(">HH", source, target) + bytes(16)


def block(interface: int, size: int, data: bytes, comment: str = "") -> bytes:
    padded = data + bytes(-len(data) % 4)
    text = comment.encode()
    options = struct.pack("<HH", 1, len(text)) + text + bytes(-len(text) % 4 + 4) if comment else b""
    length = 32 + len(padded) + len(options)
    head = struct.pack("<IIIIIII", 6, length, interface, 0, 0, len(data), size + 14)
    return head + padded + options + struct.pack("<I", length)


def test_the_observer_sees_what_left_and_what_it_sent(tmp_path: Path) -> None:
    seen, hidden, own = ethernet(8001, 5), ethernet(HIDDEN, 6), ethernet(5, 8001)
    pcapng = b"".join(
        [
            struct.pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4D) + bytes(12) + struct.pack("<I", 28),
            block(0, 1500, seen),
            block(0, 700, hidden),
            block(1, 52, own, "marked"),
            block(0, 1400, seen, "dropped: full"),
            block(0, 90, seen),
        ]
    )
    (tmp_path / "run.pcapng").write_bytes(pcapng)
    rows = {
        "link": ["down", "down", "down", "down", "up", "down"],
        "arrive_ns": [100, 200, 250, 300, 1_500_000, 400],
        "depart_ns": [100, 1_000_200, None, 2_000_300, 9_000_000, 3_000_000],
        "size_bytes": [1500, 700, 1400, 90, 52, 1500],
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "run.parquet")
    assert ports(seen) == (8001, 5)
    assert [frame.comment for frame in frames(pcapng)] == ["", "", "marked", "dropped: full", ""]
    capture = tmp_path / "observer.pcap"
    truth = observe(tmp_path / "run.pcapng", tmp_path / "run.parquet", HIDDEN, capture)
    # What A sent is seen when it was sent; the last packet was still in the queue.
    assert np.array_equal(truth, [0.0, np.nan, 2.0], equal_nan=True)
    at, found = 24, []
    data = capture.read_bytes()
    while at < len(data):
        seconds, nanoseconds, kept, size = struct.unpack_from("<IIII", data, at)
        found.append(((seconds - 10**9) * 10**9 + nanoseconds, size, data[at + 16 : at + 16 + kept]))
        at += 16 + kept
    assert found == [(100, 1514, seen), (1_500_000, 66, own), (2_000_300, 104, seen)]


def test_a_log_of_another_run_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "run.pcapng").write_bytes(block(0, 1500, ethernet(1, 2)))
    rows = {"link": ["down"], "arrive_ns": [1], "depart_ns": [2], "size_bytes": [40]}
    pl.DataFrame(rows).write_parquet(tmp_path / "run.parquet")
    with pytest.raises(ValueError, match="the packets of the link down differ"):
        observe(tmp_path / "run.pcapng", tmp_path / "run.parquet", HIDDEN, tmp_path / "out.pcap")
