"""Captures on several interfaces at once have packets more than once: each counts once, and that is said."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from conftest import Command

STUDY = """
name = "twice"
duration = "6s"
[path]
rtt  = "40ms"
down = { rate = "10Mbit", queue = { kind = "fifo", limit = "80pkt" } }
up   = { rate = "2Mbit", queue = { kind = "fifo", limit = "40pkt" } }
[[flows]]
source    = { kind = "bulk" }
transport = "cubic"
direction = "down"
[[flows]]
source    = { kind = "bulk" }
transport = "cubic"
direction = "up"
"""
Frame = tuple[int, int, bytes]


def frames(capture: Path) -> Iterator[Frame]:
    """Time, length on the wire and bytes of each frame of a pcapng file."""
    data, at = capture.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            _, high, low, kept, wire = struct.unpack_from("<5I", data, at + 8)
            yield high << 32 | low, wire, data[at + 28 : at + 28 + kept]
        at += length


def bridged(given: list[Frame]) -> Iterator[tuple[int, Frame]]:
    """Bursts of eight frames as a port of a bridge has them, and then as the bridge has them."""
    for first in range(0, len(given), 8):
        burst = given[first : first + 8]
        yield from ((0, frame) for frame in burst)
        last = burst[-1][0]
        yield from ((1, (last + 1000 * k, *frame[1:])) for k, frame in enumerate(burst, 1))


def pcapng(seen: Iterator[tuple[int, Frame]]) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    nanoseconds = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    made = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    made += block(1, struct.pack("<HHI", 1, 0, 262_144) + nanoseconds) * 2
    for interface, (time, wire, data) in seen:
        head = struct.pack("<5I", interface, time >> 32, time & 0xFFFFFFFF, len(data), wire)
        made += block(6, head + data + bytes(-len(data) % 4))
    return made


def cooked(seen: Iterator[tuple[int, Frame]]) -> bytes:
    """As `tcpdump -i any` writes them: Linux cooked v2."""
    made = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 276)
    for interface, (time, wire, data) in seen:
        link = data[12:14] + struct.pack(">2xIHBB", interface + 2, 1, 0, 6) + data[6:12] + bytes(2)
        both = link + data[14:]
        made += struct.pack("<4I", time // 10**9, time % 10**9, len(both), wire + 6) + both
    return made


@pytest.mark.parametrize("form", [pcapng, cooked])
def test_a_packet_that_two_interfaces_saw_counts_once(sojourn: Command, form) -> None:
    folder = sojourn.cwd
    (folder / "twice.toml").write_text(STUDY)
    sojourn("export", "twice.toml", "once.pcapng")
    given = list(frames(folder / "once.pcapng"))
    (folder / "twice.pcap").write_bytes(form(bridged(given)))
    (folder / "one.pcap").write_bytes(form((0, frame) for frame in given))
    once, twice = (sojourn("measure", name, "--json") for name in ("one.pcap", "twice.pcap"))
    assert once.stdout.count("\n") == 2 and once.stdout == twice.stdout
    assert "interface" not in once.stderr
    count = f"{len(given):,} of {2 * len(given):,} frames skipped: captured on another interface before"
    assert f"note: {count.replace(',', ' ')}\n" in twice.stderr
    tables = []
    for name in ("one", "twice"):
        done = sojourn("workload", f"{name}.pcap", "-o", f"{name}.parquet")
        tables.append(pl.read_parquet(folder / f"{name}.parquet").drop("length_ns"))
    assert tables[0].equals(tables[1])
    assert f"note: {len(given)} frames left out: the capture is of several interfaces" in done.stderr


def test_two_captures_of_which_one_is_of_two_interfaces_are_compared_as_if_it_were_of_one(
    sojourn: Command,
) -> None:
    folder = sojourn.cwd
    (folder / "twice.toml").write_text(STUDY)
    sojourn("export", "twice.toml", "front.pcapng", "--at", "servers")
    sojourn("export", "twice.toml", "behind.pcapng")
    for name in ("front", "behind"):
        given = list(frames(folder / f"{name}.pcapng"))
        (folder / "twice.pcap").write_bytes(pcapng(bridged(given)))
        pair = [f"{one}.pcapng" if one != name else "twice.pcap" for one in ("front", "behind")]
        once, twice = (
            sojourn("losses", *files, "--json") for files in (("front.pcapng", "behind.pcapng"), pair)
        )
        said = (
            f"{len(given)} frames left out: twice.pcap is of several interfaces, and had their packets before"
        )
        assert f"note: {said}\n" in twice.stderr
        told = [json.loads(done.stdout) for done in (once, twice)]
        assert [found["capture"].pop("damage") for found in told] == [[], [said]]
        assert told[0] == told[1] and told[0]["lost_pkts"] > 0
