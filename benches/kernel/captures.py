"""What a queue did, from a capture before and one behind it.

Packets are matched by ports, IP identification, sequence and acknowledgement number, and length. Delay is
arrival to departure, thus to the start of the transmission.
"""

import struct
from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

NANOSECONDS = 0xA1B23C4D
ETHERNET = 14
Packet = tuple[int, int, bytes]
"""Time (ns), length of the frame, key."""
Passage = tuple[int, int | None, int]
"""Arrival, departure (None if dropped), length."""


def frames(capture: Path) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over the frames of a capture: time (ns), length on the wire, what was kept of its IP packet."""
    text, at = capture.read_bytes(), 24
    if struct.unpack_from("<I", text)[0] != NANOSECONDS:
        raise ValueError(f"{capture}: not a pcap file with stamps in nanoseconds")
    while at + 16 <= len(text):
        seconds, nanoseconds, kept, length = struct.unpack_from("<IIII", text, at)
        at += 16
        yield 1_000_000_000 * seconds + nanoseconds, length, text[at + ETHERNET : at + kept]
        at += kept


def packets(capture: Path, source: bytes) -> list[Packet]:
    """Return the TCP packets that come from an IPv4 address."""
    found = []
    for time, length, ip in frames(capture):
        if ip[12:16] == source:
            tcp = 4 * (ip[0] & 15)
            found.append((time, length, ip[2:6] + ip[tcp : tcp + 12]))
    return found


def match(arrivals: list[Packet], departures: list[Packet]) -> list[Passage]:
    """Return when each packet arrived and left, and its length, in the order of arrival."""
    left: dict[bytes, deque[int]] = defaultdict(deque)
    for time, _, key in departures:
        left[key].append(time)
    found = []
    for time, length, key in arrivals:
        while left[key] and left[key][0] < time:
            left[key].popleft()
        found.append((time, left[key].popleft() if left[key] else None, length))
    return found


def figures(
    passages: list[Passage], window_ns: tuple[int, int], rtt_ns: int, rate_bps: float
) -> dict[str, float]:
    """Return the columns of the measured table for a queue, within a window."""
    begin, end = window_ns
    inside = [passage for passage in passages if begin <= passage[0] < end]
    drops = [arrived for arrived, left, _ in inside if left is None]
    delays = [(left - arrived) / 1e6 for arrived, left, _ in inside if left is not None]
    passed = [passage for passage in passages if passage[1] is not None]
    waited_ns = sum(max(min(left, end) - max(arrived, begin), 0) for arrived, left, _ in passed)
    sent = sum(length for _, left, length in passed if begin <= left < end)
    mean, p50, p95 = (np.mean(delays), *np.percentile(delays, [50, 95])) if delays else (0.0, 0.0, 0.0)
    return {
        "utilisation": round(8e9 * sent / (end - begin) / rate_bps, 5),
        "delay_mean_ms": round(float(mean), 4),
        "delay_p50_ms": round(float(p50), 4),
        "delay_p95_ms": round(float(p95), 4),
        "loss": round(len(drops) / max(len(inside), 1), 6),
        "dropped_pkts": len(drops),
        "loss_episodes": sum(i == 0 or time - drops[i - 1] > rtt_ns for i, time in enumerate(drops)),
        "occupancy_pkts": round(waited_ns / (end - begin), 3),
    }


def dropped(passages: list[Passage]) -> int:
    """Return how many packets were dropped before the last one that left."""
    lost = [left is None for _, left, _ in passages]
    return sum(lost[: len(lost) - lost[::-1].index(False)]) if False in lost else 0


def service(passages: list[Passage], window_ns: tuple[int, int], rate_bps: float) -> float:
    """Return how fast the queue was served while the next packet waited, as a share of its rate.

    Less than 1 where the machine was too busy to serve it in time.
    """
    begin, end = window_ns
    passed = [passage for passage in passages if passage[1] is not None and begin <= passage[1] < end]
    due_ns = took_ns = 0.0
    for (_, left, length), (arrived, next_left, _) in pairwise(passed):
        if arrived <= left < next_left:
            due_ns += 8e9 * length / rate_bps
            took_ns += next_left - left
    return due_ns / took_ns if took_ns else 1.0
