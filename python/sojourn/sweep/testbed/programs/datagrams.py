"""Datagrams on time: each part sends what the schedule says, and notes when what the other sends arrives.

Arguments: ``sends``, ``receives`` (number of packets of the other part's schedule), ``payload`` (RTP's
payload type). Files: ``client.npy`` and ``server.npy``, int64 of shape (packets, 2): when each packet is due
(ns), and its size at IP.

Packets carry an RTP header (RFC 3550) where there is room for its twelve bytes; its sequence number,
unwrapped, is the row of the schedule. Smaller ones are only counted. Left: ``sent-END.npy``, when each packet
was given to the kernel, and ``arrived-END.npy``, when each of the other part's arrived by the kernel's stamp,
−1 if it did not.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sojourn.sweep.testbed.host import Host

_HEADERS = 28
_RTP = struct.Struct("!BBHII")
_VERSION = 0x80
_TIMESTAMPS_NS = 35
_BUFFER = 4_000_000


def client(host: Host) -> None:
    """Run the client's part."""
    _run(host, "server")


def server(host: Host) -> None:
    """Run the server's part."""
    _run(host, "client")


def _run(host: Host, other: str) -> None:
    schedule = np.load(host.folder / f"{host.end}.npy")
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    found.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS_NS, 1)
    found.bind((host.own, host.port))
    found.connect((host.other, host.port))
    arrived = np.full(host.arguments["receives"], -1, dtype=np.int64)
    sent = np.full(len(schedule), -1, dtype=np.int64)
    counts = {"arrived": 0, "bytes": 0}
    over = threading.Event()
    receiver = threading.Thread(target=_receive, args=(host, found, over, arrived, counts), daemon=True)
    receiver.start()
    try:
        host.begin()
        _send(host, found, schedule, sent)
        host.sleep_until(host.duration_ns + 10_000_000_000)
    finally:
        # Nobody may still read from a descriptor that the system gives away again.
        over.set()
        found.shutdown(socket.SHUT_RDWR)
        receiver.join(1.0)
        found.close()
        np.save(host.folder / f"sent-{host.end}.npy", sent)
        np.save(host.folder / f"arrived-{host.end}.npy", arrived)
        late = (sent - schedule[:, 0])[sent >= 0]
        host.leave(
            sent=int((sent >= 0).sum()),
            late_p99_us=float(np.percentile(late, 99)) / 1e3 if late.size else 0.0,
            **counts,
        )


def _send(host: Host, found: socket.socket, schedule: NDArray[np.int64], sent: NDArray[np.int64]) -> None:
    payload = host.arguments["payload"]
    room = bytearray(65_536)
    for row, (at, size) in enumerate(schedule.tolist()):
        host.sleep_until(at)
        length = size - _HEADERS
        if length >= _RTP.size:
            _RTP.pack_into(room, 0, _VERSION, payload, row & 0xFFFF, at // 125_000 & 0xFFFFFFFF, 1)
        sent[row] = host.now()
        try:
            found.send(memoryview(room)[:length])
        except ConnectionRefusedError:  # the other part has left
            found.send(memoryview(room)[:length])


def _receive(
    host: Host,
    found: socket.socket,
    over: threading.Event,
    arrived: NDArray[np.int64],
    counts: dict[str, int],
) -> None:
    next_row = 0
    while True:
        try:
            packet, told, _, _ = found.recvmsg(2048, 128)
        except ConnectionRefusedError:
            continue
        if over.is_set():
            return
        age = 0
        for level, kind, stamp in told:
            if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPS_NS):
                seconds, ns = struct.unpack("qq", stamp[:16])
                age = max(0, time.time_ns() - (seconds * 1_000_000_000 + ns))
        # After the age: who is held up between two clocks dates a packet late, not before it was sent.
        now = host.now() - age
        counts["arrived"] += now >= host.warmup_ns
        counts["bytes"] += len(packet) if now >= host.warmup_ns else 0
        if len(packet) >= _RTP.size and packet[0] == _VERSION:
            number = _RTP.unpack_from(packet)[2]
            row = next_row + ((number - next_row + 0x8000) & 0xFFFF) - 0x8000
            if 0 <= row < len(arrived) and arrived[row] < 0:
                arrived[row] = now
                next_row = max(next_row, row + 1)
