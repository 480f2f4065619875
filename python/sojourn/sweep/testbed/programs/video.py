"""Video streams: the RTP packets of real clips, sent on time, and written down when the kernel took them.

MPEG-2 transport streams in RTP (RFC 3550; payload type 33 and seven transport packets in each, RFC 2250).
Each showing is a source of its own (SSRC), so that its packets are numbered from 0; the receiver unwraps
their 16 bits.
"""

from __future__ import annotations

import heapq
import socket
import struct
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_HEADER = struct.Struct(">BBHII")
_VERSION, _MP2T = 0x80, 33
_HEADERS = 40
"""Of IPv4, UDP and RTP."""
_CLOCK = 90_000
_BUFFER = 8 << 20
_TIMESTAMPS = 35
"""SO_TIMESTAMPNS."""


def ssrc(user: int, showing: int) -> int:
    """Return the number of a showing as a source."""
    return user << 16 | showing & 0xFFFF


def server(host: Host) -> None:
    """Send one showing after another to every viewer; leave behind when each packet was sent, row by row."""
    told = host.arguments
    clips = []
    for number in range(told["clips"]):
        due, size = array("Q"), array("H")
        due.frombytes((host.folder / f"{number}.due").read_bytes())
        size.frombytes((host.folder / f"{number}.size").read_bytes())
        clips.append((due, size, (host.folder / f"{number}.ts").read_bytes()))
    rows = {name: array("q") for name in ("user", "showing", "clip", "seq", "sent_ns")}
    sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sending.bind((host.own, host.port))
    target = (host.other, host.port)
    # When, whose, which showing, which packet, where it lies in the clip's stream; when the showing began.
    waiting = [(start + clips[0][0][0], user, 0, 0, 0, start) for user, start in enumerate(told["starts_ns"])]
    heapq.heapify(waiting)
    host.begin()
    try:
        while waiting:
            at, user, showing, seq, place, began = waiting[0]
            number = showing % len(clips)
            due, size, stream = clips[number]
            host.sleep_until(at)
            length = size[seq] - _HEADERS
            ticks = due[seq] * _CLOCK // 1_000_000_000 & 0xFFFFFFFF
            head = _HEADER.pack(_VERSION, _MP2T, seq & 0xFFFF, ticks, ssrc(user, showing))
            sent = host.now()
            sending.sendto(head + stream[place : place + length], target)
            for name, value in zip(rows, (user, showing, number, seq, sent), strict=True):
                rows[name].append(value)
            if seq + 1 < len(due):
                following = (began + due[seq + 1], user, showing, seq + 1, place + length, began)
            else:
                begins = sent + told["gap_ns"]
                first = clips[(showing + 1) % len(clips)][0][0]
                following = (begins + first, user, showing + 1, 0, 0, begins)
            heapq.heapreplace(waiting, following)
    finally:
        for name, column in rows.items():
            (host.folder / f"sent.{name}").write_bytes(column.tobytes())


def client(host: Host) -> None:
    """Receive until the end; leave behind source, number and time of each packet."""
    rows = {name: array("q") for name in ("ssrc", "seq", "at_ns")}
    taking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    taking.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
    taking.bind((host.own, host.port))
    last: dict[int, int] = {}
    host.begin()
    ahead_ns = host.wall_ahead()
    try:
        while True:
            data, aside, _, _ = taking.recvmsg(2048, 64)
            if len(data) < _HEADER.size:
                continue
            _, _, low, _, source = _HEADER.unpack_from(data)
            seq = last[source] = unwrapped(low, last.get(source, 0))
            seconds, rest = struct.unpack("ll", aside[0][2][:16])
            for name, value in zip(rows, (source, seq, seconds * 10**9 + rest - ahead_ns), strict=True):
                rows[name].append(value)
    finally:
        for name, column in rows.items():
            (host.folder / f"came.{name}").write_bytes(column.tobytes())


def unwrapped(low: int, before: int) -> int:
    """Return the number with these lowest 16 bits that is nearest to the one before."""
    return max(before + ((low - before + 0x8000) & 0xFFFF) - 0x8000, low)
