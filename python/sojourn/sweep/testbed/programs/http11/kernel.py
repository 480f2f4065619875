"""What the kernel knows of a TCP connection: round trips, and waits for repairs.

Source: `struct tcp_info` of include/uapi/linux/tcp.h, whose fields have kept their places since Linux 4.19.

Differences from the simulator, which is told of every segment: the connection is looked at every few
milliseconds. A wait for a repair lasts from the time at which the first byte without acknowledgement was
sent to the look that finds a retransmission, so that it is too long by up to one interval; one of several
segments that are repaired between two looks stands for all. The mean round trip is the mean of the kernel's
smoothed one over the looks at which it had changed.
"""

import asyncio
import socket
import struct
import time
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field

LOOK_S = 0.004
"""Seconds between two looks."""

_RTT, _TOTAL_RETRANS = 68, 100
_ACKED, _RETRANSMITTED = 120, 208
_LEAST = 216
_SYN_RTO_NS = 1_000_000_000


@dataclass(frozen=True)
class Told:
    """A look at a connection: smoothed round trip, segments sent again, bytes acknowledged and sent."""

    rtt_ns: int
    retransmits: int
    acked: int
    sent: int


def look(connection: socket.socket) -> Told:
    """Return what the kernel says of a connection.

    Raises
    ------
    OSError
        The connection is gone, or the kernel is older than 4.19.
    """
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) < _LEAST:
        raise OSError(
            f"the kernel tells {len(info)} bytes of a connection; expected {_LEAST}, as of Linux 4.19"
        )
    rtt_us, retransmits = (struct.unpack_from("=I", info, at)[0] for at in (_RTT, _TOTAL_RETRANS))
    acked, sent, again = (struct.unpack_from("=Q", info, at)[0] for at in (_ACKED, 200, _RETRANSMITTED))
    return Told(rtt_us * 1000, retransmits, acked, sent - again)


@dataclass
class Watched:
    """What watching one connection has come to; `note` takes a look at it.

    Attributes
    ----------
    retransmits : int
        Segments sent again, the SYN among them.
    repair_ns : int
        Time that they were waited for; overlapping waits count once.
    """

    retransmits: int = 0
    repair_ns: int = 0
    _rtts: list[int] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    _bytes: list[int] = field(default_factory=list)
    _until: int = 0

    def opened(self, connection: socket.socket) -> None:
        """Take the first look at a connection that was opened from here: SYNs that were sent again."""
        with suppress(OSError):
            self.retransmits = look(connection).retransmits
            self.repair_ns = ((1 << min(self.retransmits, 6)) - 1) * _SYN_RTO_NS

    def note(self, now_ns: int, told: Told) -> None:
        """Enter a look."""
        if told.rtt_ns and (not self._rtts or self._rtts[-1] != told.rtt_ns):
            self._rtts.append(told.rtt_ns)
        if told.retransmits > self.retransmits:
            # Sent by the earliest look that knows of more bytes than are acknowledged now.
            at = bisect_right(self._bytes, told.acked)
            sent_ns = self._times[at] if at < len(self._times) else now_ns
            self.repair_ns += max(0, now_ns - max(sent_ns, self._until))
            self._until = now_ns
            self.retransmits = told.retransmits
        if not self._bytes or told.sent > self._bytes[-1]:
            self._times.append(now_ns)
            self._bytes.append(told.sent)

    @property
    def rtt_ns(self) -> int:
        """The mean round trip; 0 if none was measured."""
        return sum(self._rtts) // len(self._rtts) if self._rtts else 0


async def watch(connection: socket.socket, watched: Watched) -> None:
    """Look at a connection until it is gone, or until this is cancelled; then once more."""
    with suppress(OSError):
        try:
            while True:
                watched.note(time.monotonic_ns(), look(connection))
                await asyncio.sleep(LOOK_S)
        finally:
            watched.note(time.monotonic_ns(), look(connection))
