"""Bulk transfers over the kernel's TCP: the sending end connects, and writes as much as TCP takes.

Arguments: ``sends`` (this end does), ``flows`` (a list of ``{"start_ns", "size", "stop_ns"}``; size and stop
may be null), ``step_ns`` (between two samples of the series, null without). A flow that has a stop is reset
then, as the simulator cuts it off at both ends at once.
"""

from __future__ import annotations

import errno
import heapq
import selectors
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from programs.tcp_info import TcpInfo

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_CHUNK = bytes(65_536)
_LOOK_NS = 100_000_000
_FIRST_PORT = 10_000
_FOLLOWED = 8
"""Flows of a group whose windows are sampled, as the simulator has it."""
_RESET = struct.pack("ii", 1, 0)


def client(host: Host) -> None:
    """Run the client's end."""
    (_send if host.arguments["sends"] else _receive)(host)


server = client


def _send(host: Host) -> None:
    senders = [_Sender(host, number, flow) for number, flow in enumerate(host.arguments["flows"])]
    due = [(sender.start_ns, number, "start") for number, sender in enumerate(senders)]
    due += [(sender.stop_ns, number, "stop") for number, sender in enumerate(senders) if sender.stop_ns]
    due += [(at, -1, "look") for at in (host.warmup_ns, host.duration_ns)]
    heapq.heapify(due)
    heapq.heappush(due, (_LOOK_NS, -1, "sample"))
    followed = sorted(senders, key=lambda each: each.start_ns)[:_FOLLOWED]
    if step_ns := host.arguments["step_ns"]:
        heapq.heappush(due, (step_ns, -1, "follow"))
    selector = selectors.DefaultSelector()
    host.begin()
    try:
        while due:
            if due[0][0] <= host.now():
                at, number, what = heapq.heappop(due)
                if what == "start":
                    senders[number].start(selector)
                elif what == "stop":
                    senders[number].stop(selector)
                elif what == "look":
                    for sender in senders:
                        sender.look(at)
                elif what == "follow":
                    for sender in followed:
                        sender.follow(at)
                    heapq.heappush(due, (at + step_ns, -1, "follow"))
                else:
                    for sender in senders:
                        sender.sample(at)
                    heapq.heappush(due, (at + _LOOK_NS, -1, "sample"))
                continue
            wait_s = max(0.0, (due[0][0] - host.now()) * 1e-9)
            for key, _ in selector.select(wait_s):
                key.data.write(selector)
    finally:
        for sender in senders:
            sender.look(host.duration_ns)
        host.leave(flows=[sender.left for sender in senders])


class _Sender:
    """One flow."""

    def __init__(self, host: Host, number: int, flow: dict[str, Any]) -> None:
        self.host, self.port = host, _FIRST_PORT + number
        self.start_ns, self.stop_ns, self.to_send = flow["start_ns"], flow["stop_ns"], flow["size"]
        self.socket: socket.socket | None = None
        self.left: dict[str, Any] = {
            "began_ns": None,
            "ended_ns": None,
            "looks": [],
            "rtt_ns": [],
            "series": [],
        }

    def start(self, selector: selectors.BaseSelector) -> None:
        """Connect; the selector says when there is room to write."""
        self.socket = self.host.tcp()
        self.socket.bind((self.host.own, self.port))
        self.socket.setblocking(False)
        self.left["began_ns"] = self.host.now()
        failed = self.socket.connect_ex((self.host.other, self.host.port))
        if failed not in (0, errno.EINPROGRESS):
            raise OSError(failed, f"flow {self.port - _FIRST_PORT} cannot connect")
        selector.register(self.socket, selectors.EVENT_WRITE, self)

    def write(self, selector: selectors.BaseSelector) -> None:
        """Write what TCP takes now; once all is written, wait for the other end to close."""
        if self.socket is None:
            return
        if self.to_send == 0:
            if not self._wait_for_the_end():
                return
            self.left["ended_ns"] = self.host.now()
            self._close(selector)
            return
        try:
            chunk = _CHUNK if self.to_send is None else _CHUNK[: self.to_send]
            sent = self.socket.send(chunk)
        except BlockingIOError:
            return
        except OSError:  # it gave up, after many timeouts
            self.left["ended_ns"] = self.host.now()
            self._close(selector)
            return
        if self.to_send is not None:
            self.to_send -= sent
            if self.to_send == 0:
                self.socket.shutdown(socket.SHUT_WR)
                selector.modify(self.socket, selectors.EVENT_READ, self)

    def _wait_for_the_end(self) -> bool:
        with suppress(BlockingIOError):
            return self.socket is None or not self.socket.recv(1)
        return False

    def stop(self, selector: selectors.BaseSelector) -> None:
        """Cut it off, as by a reset."""
        if self.socket is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.left["ended_ns"] = self.host.now()
            self._close(selector)

    def _close(self, selector: selectors.BaseSelector) -> None:
        if self.socket is not None:
            self.look(self.host.now())
            selector.unregister(self.socket)
            self.socket.close()
            self.socket = None

    def sample(self, at_ns: int) -> None:
        """Note the smoothed round trip, once it is measured."""
        if (
            self.socket is not None
            and at_ns >= self.host.warmup_ns
            and (rtt := TcpInfo.of(self.socket).rtt_ns)
        ):
            self.left["rtt_ns"].append(rtt)

    def follow(self, at_ns: int) -> None:
        """Note a row of the series: window, round trip, bytes delivered, pacing rate."""
        if self.socket is not None and at_ns <= self.host.duration_ns:
            info = TcpInfo.of(self.socket)
            row = [at_ns, info.cwnd_pkts, info.rtt_ns, info.delivered_bytes, info.pacing_bps]
            self.left["series"].append(row)

    def look(self, at_ns: int) -> None:
        """Note what was repaired so far."""
        if self.socket is not None:
            info = TcpInfo.of(self.socket)
            self.left["looks"].append([at_ns, info.retransmits, info.timeouts, info.timeout_wait_s])


def _receive(host: Host) -> None:
    listener = host.tcp()
    listener.bind((host.own, host.port))
    listener.listen(1024)
    listener.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ, None)
    received = [0] * len(host.arguments["flows"])
    before: list[int] | None = None
    buffer = bytearray(1 << 20)
    host.begin()
    try:
        while True:
            measuring = host.now() >= host.warmup_ns
            if measuring and before is None:
                before = list(received)
            wait_s = None if measuring else (host.warmup_ns - host.now()) * 1e-9
            for key, _ in selector.select(wait_s):
                if key.data is None:
                    connection, (_, port) = listener.accept()
                    connection.setblocking(False)
                    selector.register(connection, selectors.EVENT_READ, port - _FIRST_PORT)
                    continue
                try:
                    # The bytes are counted, and thrown away in the kernel.
                    got = key.fileobj.recv_into(buffer, 0, socket.MSG_TRUNC)
                except BlockingIOError:
                    continue
                except OSError:
                    got = 0
                if not got:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                else:
                    received[key.data] += got
    finally:
        host.leave(before=before or [0] * len(received), received=received)
