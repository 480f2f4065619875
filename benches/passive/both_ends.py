"""What hosts at both ends of a path capture, and how long each packet truly waited.

Of the simulator both come from `sojourn export`, of the emulator captures from `tcpdump` at its hosts, and
waits from its packet log. A packet is found again by what no router changes: addresses, identification,
length, ports, and TCP's own fields. One that cannot be told from another is of the mean, and of no sample.
"""

import struct
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps, loads
from pathlib import Path
from typing import Any

import polars as pl

from benches.command import sojourn
from benches.passive.observed import frames

SIDES = ("clients", "servers")

_TCP = 6
_HEADERS = {1: 14, 101: 0, 228: 0}
"""Bytes before the IP header, by the link type."""
_GRACE_S = 90

Way = tuple[str, str]
"""Who sends to whom."""


@dataclass(frozen=True)
class Packet:
    """What tells a packet from others, wherever it is seen."""

    way: Way
    key: bytes


@dataclass(frozen=True)
class Run:
    """A run seen from both sides.

    `frames` has, by side, the packets of the capture in order (None: not TCP); `waits` the true delays of all
    that left their queue, ms, with what tells them from others, by way; `wait` that of each packet that is
    the only one of its kind.
    """

    captures: dict[str, Path]
    frames: dict[str, list[Packet | None]]
    waits: dict[Way, list[tuple[bytes, float]]]
    wait: dict[bytes, float]
    notes: list[str]

    def waited(self, side: str, way: Way) -> list[float]:
        """Return the true delays, ms, of the packets that the capture of a side has.

        `tcpdump` on a busy machine may end up to a second before the connections do.
        """
        captured = {found.key for found in self.frames[side] if found is not None}
        return [wait_ms for key, wait_ms in self.waits.get(way, ()) if key in captured]


def simulated(study: Path, folder: Path) -> Run:
    """Simulate a study, and capture it at both sides."""
    captures, seen, true = {}, {}, []
    for side in SIDES:
        captures[side] = folder / f"{side}.pcapng"
        truth = folder / f"{side}.csv"
        sojourn("export", str(study), str(captures[side]), "--truth", str(truth), "--at", side)
        seen[side] = list(map(packet, packets(captures[side].read_bytes())))
        table = pl.read_csv(truth)
        for frame, wait_ms in zip(table["frame"], table["queue_delay_ms"], strict=True):
            if found := seen[side][frame - 1]:
                true.append((found, wait_ms))
    return seen_from_both(captures, seen, true, [])


def emulated(path: list[str], plan: list[dict[str, Any]], seconds: float, folder: Path) -> Run:
    """Run real connections over the emulator, captured at its hosts."""
    (folder / "plan.json").write_text(dumps(plan))
    hosts = [sys.executable, str(Path(__file__).with_name("loaded.py").absolute()), str(folder.absolute())]
    server, client = ([*hosts, end, str(seconds)] for end in reversed(SIDES))
    pcapng, log = folder / "run.pcapng", folder / "run.parquet"
    done = loads(
        sojourn(
            *("emulate", *path, "--no-offload", "--json", "--pcap", str(pcapng), "--log", str(log)),
            *("--server", " ".join(server), "--", *client),
            seconds=seconds + _GRACE_S,
        )
    )
    captures = {side: folder / f"{side}.pcap" for side in SIDES}
    seen = {side: list(map(packet, packets(file.read_bytes()))) for side, file in captures.items()}
    rows = pl.read_parquet(log, columns=["link", "arrive_ns", "depart_ns"]).filter(
        pl.col("depart_ns").is_not_null()
    )
    left = [frame for frame in frames(pcapng.read_bytes()) if not frame.comment.startswith("dropped")]
    true = []
    for code, link in enumerate(("down", "up")):
        # Packets still in the queue at the end have a row, and no frame.
        of_link = rows.filter(pl.col("link") == link).sort("depart_ns")
        mine = (frame for frame in left if frame.interface == code)
        waited = of_link["depart_ns"] - of_link["arrive_ns"]
        for frame, wait_ns in zip(mine, waited, strict=False):
            if found := packet(frame.data[_HEADERS[1] :]):
                true.append((found, wait_ns / 1e6))
    return seen_from_both(captures, seen, true, done["verdict"].get("reasons", []))


def seen_from_both(
    captures: dict[str, Path],
    seen: dict[str, list[Packet | None]],
    true: list[tuple[Packet, float]],
    notes: list[str],
) -> Run:
    """Return a run by its captures, the packets of each, and what each that left its queue waited, ms."""
    waits: dict[Way, list[tuple[bytes, float]]] = {}
    for found, wait_ms in true:
        waits.setdefault(found.way, []).append((found.key, wait_ms))
    times = Counter(found.key for found, _ in true)
    wait = {found.key: wait_ms for found, wait_ms in true if times[found.key] == 1}
    return Run(captures, seen, waits, wait, notes)


def packets(capture: bytes) -> Iterator[bytes]:
    """Iterate over the IP packets of a capture: pcap, or pcapng of one interface; little-endian."""
    if capture[:4] == b"\x0a\x0d\x0d\x0a":
        at, head = 0, 0
        while at + 12 <= len(capture):
            kind, length = struct.unpack_from("<II", capture, at)
            if kind == 1:
                head = _HEADERS[struct.unpack_from("<H", capture, at + 8)[0]]
            if kind == 6:
                [kept] = struct.unpack_from("<I", capture, at + 20)
                yield capture[at + 28 + head : at + 28 + kept]
            at += length
        return
    head = _HEADERS[struct.unpack_from("<I", capture, 20)[0]]
    at = 24
    while at + 16 <= len(capture):
        [kept] = struct.unpack_from("<I", capture, at + 8)
        yield capture[at + 16 + head : at + 16 + kept]
        at += 16 + kept


def packet(ip: bytes) -> Packet | None:
    """Return what tells a packet of TCP over IPv4 from others; None of any other.

    >>> header = bytes([0x45, 2, 0, 40, 7, 7, 64, 0, 63, 6, 1, 1, 10, 0, 0, 1, 10, 0, 0, 2])
    >>> packet(header + bytes(12) + b"\\x50" + bytes(7)).way
    ('10.0.0.1', '10.0.0.2')
    """
    if ip[0] >> 4 != 4 or ip[9] != _TCP:
        return None
    start = (ip[0] & 15) * 4
    length = (ip[start + 12] >> 4) * 4
    segment = ip[start : start + length]
    # Without what routers change (ECN, hop limit), and checksums, which a network card may fill in.
    key = ip[2:6] + ip[12:20] + segment[:16] + segment[18:]
    source, to = (".".join(map(str, ip[at : at + 4])) for at in (12, 16))
    return Packet((source, to), key)
