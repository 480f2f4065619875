"""TCP of the testbed: what of a study's keys this kernel's own TCP can be told, and how.

Most is said by routes between a program's own addresses (ip-route(8)): congestion control, initial window,
ECN, quick acknowledgements, the least RTO. Sockets say the segment size, the receive window and pacing
(tcp(7)); timestamps, SACK, RACK and the restart after idle times are variables of a whole network. What
nothing says is refused.
"""

import os
import socket
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.study.units import bytes_of, nanoseconds
from sojourn.sweep.testbed.program import Settings

_NAMES = {
    "reno": "reno",
    "cubic": "cubic",
    "bbr": "bbr",
    "dctcp": "dctcp",
    "prague": "prague",
    "bic": "bic",
}
"""Transports that Linux has under some name, if this kernel was built with them."""

_NONE_HAS = {
    "newreno": "Reno that counts acknowledgements is of older stacks",
    "cubic-rfc9438": "CUBIC in fractions of segments is the simulator's",
    "cubic-ns2": "that of Linux 2.6.22 is the simulator's",
    "compound": "no Linux has Compound TCP",
    "compound-ns2": "no Linux has Compound TCP",
    "ledbat": "no Linux has LEDBAT in its TCP",
    "ledbat++": "no Linux has LEDBAT++ in its TCP",
    "ledbat-ns2": "no Linux has LEDBAT in its TCP",
    "utp": "µTP is no TCP",
    "bbr3": "Linux's bbr is version 1",
}

_NEAREST = {"newreno": "reno", "cubic-rfc9438": "cubic", "cubic-ns2": "cubic", "bbr3": "bbr"}
"""What a kernel has in its place. It is another algorithm, so that it is not taken unasked."""

MTU = 1500
_HEADERS = 40
_TIMESTAMPS = 12
WINDOW = 16_000_000
"""Default of `receive-window`: the kernel's own, which grows with need, is not bounded then."""
_WINDOW_CLAMP = 10
BUFFER = "131072B"
"""What a connection has for data at first, if nothing else is asked: the kernel's own."""
_MOST_RATE = (1 << 32) - 1


@cache
def available() -> tuple[str, ...]:
    """Return the congestion controls of this kernel."""
    try:
        return tuple(Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split())
    except OSError:
        return ()


def is_asked(entry: Mapping[str, Any]) -> bool:
    """Say whether an entry's connections are the kernel's TCP."""
    return entry.get("transport") in _NAMES


def refused(entry: Mapping[str, Any]) -> str | None:
    """Return why the connections of an entry cannot be run over this kernel's TCP: a key, and the reason."""
    transport = entry["transport"]
    if reason := _NONE_HAS.get(transport):
        return f"transport: {transport!r} has no real counterpart: {reason}"
    name = _NAMES.get(transport, transport)
    if name not in available():
        had = ", ".join(available()) or "none"
        return f"transport: this kernel ({os.uname().release}) does not have {name!r}; it has {had}"
    for key, why in _untellable(entry):
        return f"{key}: {entry[key]!r} cannot be asked of this kernel: {why}"
    if _maximum(entry) + _HEADERS > MTU:
        return f"mss: segments of {entry['mss']} do not fit the testbed's packets of {MTU} bytes"
    return None


def nearest(entry: Mapping[str, Any]) -> str | None:
    """Return the transport of this kernel that is nearest to one that no kernel has; None if none is near."""
    return _NEAREST.get(entry.get("transport", ""))


def _untellable(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    cubic = entry["transport"] == "cubic"
    told = entry.get
    return [
        (key, why)
        for key, is_wrong, why in (
            (
                "ack-delay",
                entry["delayed-ack"] and nanoseconds(entry["ack-delay"]) != 40_000_000,
                "it delays acknowledgements as it sees fit, by 40 ms at least",
            ),
            ("limited-transmit", not entry["limited-transmit"], "it always transmits so"),
            ("prr", told("prr") is False, "it always reduces its window so"),
            ("karn-backoff", told("karn-backoff") is True, "any round trip that it measures ends a back-off"),
            ("min-rttvar", told("min-rttvar") is not None, "it follows min-rto there"),
            (
                "initial-rto",
                told("initial-rto") is not None and nanoseconds(entry["initial-rto"]) != 1_000_000_000,
                "it waits 1 s",
            ),
            (
                "hystart",
                cubic and told("hystart") not in (None, "linux"),
                "it is a setting of the whole machine",
            ),
            (
                "reno-friendly",
                cubic and told("reno-friendly") is False,
                "it is a setting of the whole machine",
            ),
            (
                "pacing",
                told("pacing") is False and entry["transport"] == "bbr",
                "its BBR always paces",
            ),
        )
        if is_wrong
    ]


def receive_buffer(size: str = BUFFER) -> dict[str, str]:
    """Return what a receiver has for data at first, with room for any window later."""
    first = bytes_of(size)
    return {"net.ipv4.tcp_rmem": f"4096 {first} {max(first, 33_554_432)}"}


def _maximum(entry: Mapping[str, Any]) -> int:
    """Return the segment size as the kernel counts it, the option of timestamps included."""
    return bytes_of(entry["mss"]) + (_TIMESTAMPS if entry["timestamps"] else 0)


def settings(entry: Mapping[str, Any], delay_ns: int | None) -> Settings:
    """Return how a pair of addresses is set up for the connections of an entry."""
    options = []
    if _maximum(entry) + _HEADERS < MTU:
        options.append((socket.IPPROTO_TCP, socket.TCP_MAXSEG, _maximum(entry)))
    if (window := bytes_of(entry["receive-window"])) != WINDOW:
        options.append((socket.IPPROTO_TCP, _WINDOW_CLAMP, window))
    if entry.get("pacing"):
        options.append((socket.SOL_SOCKET, 47, _MOST_RATE))  # SO_MAX_PACING_RATE
    on = {True: "1", False: "0"}
    rack = entry.get("recovery") != "rfc6675"
    return Settings(
        congestion=_NAMES[entry["transport"]],
        initial_window=entry["initial-window"],
        ecn=entry.get("ecn", entry["transport"] in ("dctcp", "prague")),
        quickack=not entry["delayed-ack"],
        min_rto_ms=max(1, nanoseconds(entry["min-rto"]) // 1_000_000),
        delay_ns=delay_ns,
        options=tuple(options),
        variables={
            "net.ipv4.tcp_timestamps": on[entry["timestamps"]],
            "net.ipv4.tcp_sack": on[entry["sack"]],
            "net.ipv4.tcp_slow_start_after_idle": on[entry["idle-restart"]],
            "net.ipv4.tcp_recovery": on[rack],
            "net.ipv4.tcp_early_retrans": "3" if rack else "0",
            **receive_buffer(entry.get("receive-buffer", BUFFER)),
        },
    )
