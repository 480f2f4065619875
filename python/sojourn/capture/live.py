"""Follow an interface: packets from AF_PACKET, the delay of each host, metrics for Prometheus on request."""

import json as _json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.capture import CaptureError
from sojourn.capture.privilege import HANDED_OVER, give_up

_ALL_PROTOCOLS = 0x0003
_SO_TIMESTAMPNS = 35
_SNAP = 192
_MOST_AT_ONCE = 4096
# Link types by the kernel's hardware types: Ethernet, loopback (framed as Ethernet), tunnels without framing.
_LINKS = {1: 1, 772: 1, 65534: 101, 512: 101}


def open_interface(name: str) -> tuple[socket.socket, int]:
    """Return a socket that sees all packets of an interface, and its link type.

    Raises
    ------
    CaptureError
        There is no such interface, or no permission.
    """
    if HANDED_OVER in os.environ:
        packets = socket.socket(fileno=int(os.environ[HANDED_OVER]))
        return packets, _LINKS[packets.getsockname()[3]]
    if not hasattr(socket, "AF_PACKET"):
        raise CaptureError("--live needs Linux: this system has no packet sockets; capture to a file instead")
    try:
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    except PermissionError:
        raise CaptureError(f"--live {name} is not permitted: run it with sudo, or with CAP_NET_RAW") from None
    try:
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        packets.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        packets.bind((name, _ALL_PROTOCOLS))
    except (OSError, UnicodeEncodeError) as error:
        packets.close()
        names = ", ".join(interface for _, interface in socket.if_nameindex())
        why = getattr(error, "strerror", None) or "no such name"
        raise CaptureError(f"there is no interface {name[:40]!r} ({why}); there are {names}") from None
    hardware = packets.getsockname()[3]
    if hardware not in _LINKS:
        packets.close()
        what = f"has the hardware type {hardware}, which is not read; expected Ethernet or a tunnel"
        raise CaptureError(f"interface {name} {what}")
    return packets, _LINKS[hardware]


def frames(packets: socket.socket, until: float) -> Iterator[list[tuple[int, int, bytes]]]:
    """Give lists of frames (time in ns, wire length, first bytes) until a time of the monotonic clock."""
    buffer = bytearray(_SNAP)
    batch: list[tuple[int, int, bytes]] = []
    while (left := until - time.monotonic()) > 0:
        packets.settimeout(left)
        try:
            length, extras, _, _ = packets.recvmsg_into([buffer], 64, socket.MSG_TRUNC)
            # What is there already, and no more: a socket with a timeout would wait, whatever the flags say.
            packets.settimeout(0)
            while True:
                batch.append((_time_ns(extras), length, bytes(buffer[: min(length, _SNAP)])))
                if len(batch) >= _MOST_AT_ONCE:
                    break
                length, extras, _, _ = packets.recvmsg_into([buffer], 64, socket.MSG_TRUNC)
        except (TimeoutError, BlockingIOError):
            pass
        except OSError as error:
            raise CaptureError(f"the interface cannot be followed any more: {error.strerror}") from None
        if batch:
            yield batch
            batch = []


def _time_ns(extras: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in extras:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) >= 16:
            seconds, rest = (int.from_bytes(data[at : at + 8], sys.byteorder) for at in (0, 8))
            return seconds * 1_000_000_000 + rest
    return time.time_ns()


def follow(
    interface: str,
    options: Mapping[str, Any],
    *,
    json: bool = False,
    port: int | None = None,
    every_s: float = 2.0,
    duration_s: float | None = None,
    filter: str | None = None,
) -> None:
    """Follow an interface until interrupted, or for a time; print what was found every so often.

    Root, and every capability, is given up as soon as the interface is open.

    Parameters
    ----------
    interface
        Name of a network interface.
    options
        ``estimator``, ``local`` and ``min_samples`` as for :func:`sojourn.capture.measure`.
    json
        Print one JSON object for each look instead of a table.
    port
        Serve metrics on this port of localhost.
    every_s
        Seconds between two looks, from 0.01 to 86 400.
    duration_s
        Seconds after which to stop, above 0.
    filter
        Take only frames that this expression of tcpdump's language wants; it sees the first 192 bytes.

    Raises
    ------
    CaptureError
        The interface cannot be followed, root cannot be given up, or a number is out of its range.
    """
    # Whatever is imported later could not be read by the user that root becomes.
    from sojourn import _core
    from sojourn.capture.prometheus import Server

    _check(every_s, duration_s)
    program = None
    if filter is not None:
        from sojourn.capture.tcpdump import compiler

        program = compiler(filter)
    packets, link = open_interface(interface)
    server = None
    try:
        follower = _core.Follower(link, _json.dumps(options), program)
        if port is not None:
            server = Server(port)
        give_up(packets)
        if server is not None:
            server.start()
        for summary in _looks(packets, follower, every_s, duration_s):
            if server is not None:
                server.publish(summary)
            _show(summary, json)
    except _core.CaptureError as error:
        raise CaptureError(str(error)) from None
    finally:
        packets.close()
        if server is not None:
            server.close()


def _check(every_s: float, duration_s: float | None) -> None:
    if not 0.01 <= every_s <= 86_400:
        raise CaptureError(f"--every is {every_s:g}; expected seconds from 0.01 to 86400")
    if duration_s is not None and not 0 < duration_s < float("inf"):
        raise CaptureError(f"--duration is {duration_s:g}; expected seconds above 0")


def _looks(
    packets: socket.socket, follower: Any, every_s: float, duration_s: float | None
) -> Iterator[dict[str, Any]]:
    """Return what was found so far, every so often; one that comes late stands for those missed."""
    begun = time.monotonic()
    look = 1
    while duration_s is None or time.monotonic() - begun < duration_s:
        end = begun + look * every_s
        for batch in frames(packets, end if duration_s is None else min(end, begun + duration_s)):
            follower.feed(batch)
        look = max(look, int((time.monotonic() - begun) / every_s)) + 1
        text, lines = follower.settle()
        yield {**_json.loads(text), "hosts": [_json.loads(line) for line in lines]}


def _show(summary: Mapping[str, Any], as_json: bool) -> None:
    now = time.strftime("%H:%M:%S")
    if as_json:
        names = ("remote", "protocol", "samples", "mean_ms", "max_ms")
        recent = {
            way: [dict(zip(names, row, strict=True)) for row in summary[way]]
            for way in ("recent", "recent_to_remote")
        }
        hosts = [
            {name: value for name, value in host.items() if name != "series"} for host in summary["hosts"]
        ]
        print(_json.dumps({"time_s": round(time.time(), 3), **recent, "hosts": hosts}), flush=True)
        return
    if not summary["recent"] and not summary["recent_to_remote"]:
        print(f"{now}  no samples", flush=True)
    for way, name in (("recent", "from"), ("recent_to_remote", "to")):
        for remote, protocol, samples, mean, most in summary[way]:
            who = f"{name:4} {remote:39}  {protocol:4} {samples:8} samples"
            print(f"{now}  {who}  mean {mean:8.1f} ms  max {most:8.1f} ms", flush=True)
