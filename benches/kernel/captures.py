"""What a queue did, from a capture before and one behind it.

Packets are matched by ports, IP identification, sequence and acknowledgement number, and length. Delay is
arrival to departure, thus to the start of the transmission.
"""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from pathlib import Path

import numpy as np

NANOSECONDS = 0xA1B23C4D
ETHERNET = 14
Packet = tuple[int, int, bytes]


def packets(capture: Path, source: bytes) -> list[Packet]:
    """Return time (ns), length of the frame and key of the TCP packets that come from an IPv4 address."""
    text = capture.read_bytes()
    if struct.unpack_from("<I", text)[0] != NANOSECONDS:
        raise ValueError(f"{capture}: not a pcap file with stamps in nanoseconds")
    found, at = [], 24
    while at + 16 <= len(text):
        seconds, nanoseconds, kept, length = struct.unpack_from("<IIII", text, at)
        at += 16
        ip = at + ETHERNET
        if text[ip + 12 : ip + 16] == source:
            tcp = ip + 4 * (text[ip] & 15)
            key = text[ip + 2 : ip + 6] + text[tcp : tcp + 12]
            found.append((1_000_000_000 * seconds + nanoseconds, length, key))
        at += kept
    return found


def queue(arrivals: list[Packet], departures: list[Packet], window_ns: tuple[int, int], rtt_ns: int, rate_bps: float):
    """Return the columns of the measured table for a queue, within a window."""
    begin, end = window_ns
    span_ns = end - begin
    left: dict[bytes, deque[int]] = defaultdict(deque)
    for time, _, key in departures:
        left[key].append(time)
    delays, drops, arrived, waited_ns = [], [], 0, 0
    for time, _, key in arrivals:
        while left[key] and left[key][0] < time:
            left[key].popleft()
        departed = left[key].popleft() if left[key] else None
        if departed is not None:
            waited_ns += max(min(departed, end) - max(time, begin), 0)
        if not begin <= time < end:
            continue
        arrived += 1
        if departed is None:
            drops.append(time)
        else:
            delays.append((departed - time) / 1e6)
    sent = sum(length for time, length, _ in departures if begin <= time < end)
    mean, p50, p95 = (np.mean(delays), *np.percentile(delays, [50, 95])) if delays else (0.0, 0.0, 0.0)
    return {
        "utilisation": round(8e9 * sent / span_ns / rate_bps, 5),
        "delay_mean_ms": round(float(mean), 4),
        "delay_p50_ms": round(float(p50), 4),
        "delay_p95_ms": round(float(p95), 4),
        "loss": round(len(drops) / max(arrived, 1), 6),
        "dropped_pkts": len(drops),
        "loss_episodes": sum(i == 0 or time - drops[i - 1] > rtt_ns for i, time in enumerate(drops)),
        "occupancy_pkts": round(waited_ns / span_ns, 3),
    }
