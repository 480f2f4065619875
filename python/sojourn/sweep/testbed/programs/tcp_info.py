"""What the kernel knows of a connection: fields of `struct tcp_info` (include/uapi/linux/tcp.h)."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

_LENGTH = 248
_OF_TIMEOUTS = 240


class TcpInfo(NamedTuple):
    """A connection as its own end sees it.

    Attributes
    ----------
    retransmits : int
        Segments sent again.
    timeouts : int or None
        Expiries of the retransmission timer; None before Linux 6.7.
    timeout_wait_s : float
        Time that was waited for them.
    rtt_ns : int
        Smoothed round-trip time, 0 without one.
    cwnd_pkts : int
        Congestion window in segments.
    pacing_bps : int
        The rate at which it would pace itself, whether or not it does.
    delivered_bytes : int
        Payload that arrived, as acknowledgements and SACK tell, in whole segments.
    """

    retransmits: int
    timeouts: int | None
    timeout_wait_s: float
    rtt_ns: int
    cwnd_pkts: int
    pacing_bps: int
    delivered_bytes: int

    @classmethod
    def of(cls, connection: socket.socket) -> TcpInfo:
        """Ask the kernel."""
        found = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LENGTH)
        rtt_us = struct.unpack_from("I", found, 68)[0]
        retransmits = struct.unpack_from("I", found, 100)[0]
        timeouts, wait_s = None, 0.0
        if len(found) >= _LENGTH:
            timeouts = struct.unpack_from("H", found, _OF_TIMEOUTS)[0]
            wait_s = struct.unpack_from("I", found, _OF_TIMEOUTS + 4)[0] * 1e-3
        (cwnd,) = struct.unpack_from("I", found, 80)
        (pacing,) = struct.unpack_from("Q", found, 104)
        (mss,), (delivered,) = struct.unpack_from("I", found, 16), struct.unpack_from("I", found, 192)
        # The SYN counts as one.
        arrived = max(0, delivered - 1) * mss
        return cls(retransmits, timeouts, wait_s, rtt_us * 1000, cwnd, pacing * 8, arrived)
