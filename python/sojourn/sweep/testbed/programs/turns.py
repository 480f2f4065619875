"""Connections that go by turns: one part opens them, and each end writes when it is its turn.

Arguments: ``opens`` (this part opens connections; the other takes them), ``loops``: lists of connections that
follow each other, each ``{"at_ns", "turns"}`` or, where it waits for the one before, ``{"after_ns",
"turns"}``. A turn is ``[by opener, bytes, pause before in ns]``. The last to write closes first.

Both parts know all turns; a connection is told by the port that it comes from, which its number gives.
"""

from __future__ import annotations

import errno
import heapq
import json
import selectors
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from programs.tcp_info import TcpInfo

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_CHUNK = bytes(65_536)
_FIRST_PORT = 1024
_PORTS = 64_000


def client(host: Host) -> None:
    """Run the client's part."""
    _Part(host).run()


server = client


class _Part:
    """All connections of a program at one end."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.opens: bool = host.arguments["opens"]
        self.loops: list[list[dict[str, Any]]] = json.loads((host.folder / "loops.json").read_text())
        firsts = [0]
        for loop in self.loops:
            firsts.append(firsts[-1] + len(loop))
        self.firsts = firsts
        self.flat = [connection for loop in self.loops for connection in loop]
        self.loop_of = [number for number, loop in enumerate(self.loops) for _ in loop]
        self.wraps: dict[int, int] = {}
        self.selector = selectors.DefaultSelector()
        self.buffer = bytearray(1 << 20)
        # What is due: time, a number that keeps the order, and what is done then.
        self.due: list[tuple[int, int, Any]] = []
        self.count = 0
        self.left: list[dict[str, Any]] = []
        self.open: set[_Connection] = set()
        self.before: int | None = None
        self.received = 0
        self.delivered: dict[int, int] = {}

    def at(self, at_ns: int, what: Any) -> None:
        self.count += 1
        heapq.heappush(self.due, (at_ns, self.count, what))

    def run(self) -> None:
        if self.opens:
            for number, loop in enumerate(self.loops):
                self.follow(number, 0, 0)
                for place, connection in enumerate(loop):
                    if place and "at_ns" in connection:
                        self.follow(number, place, 0)
        else:
            listener = self.host.tcp()
            listener.bind((self.host.own, self.host.port))
            listener.listen(4096)
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ, None)
        self.host.begin()
        try:
            self._loop()
        finally:
            now = self.host.now()
            for connection in list(self.open):
                connection.note(None, now)
            self.host.leave(connections=self.left, delivered=sorted(self.delivered.items()))

    def _loop(self) -> None:
        while True:
            now = self.host.now()
            while self.due and self.due[0][0] <= now:
                heapq.heappop(self.due)[2]()
            wait_s = max(0.0, (self.due[0][0] - self.host.now()) * 1e-9) if self.due else None
            for key, mask in self.selector.select(wait_s):
                if key.data is None:
                    self._accept(key.fileobj)
                else:
                    key.data.on(mask)

    def follow(self, loop: int, place: int, now: int) -> None:
        """Plan a connection of a loop: at its time, or a time after the one before has ended."""
        if place >= len(self.loops[loop]):
            return
        connection = self.loops[loop][place]
        at = connection["at_ns"] if "at_ns" in connection else now + connection["after_ns"]
        if at < self.host.duration_ns:
            self.at(at, lambda: self._connect(self.firsts[loop] + place))

    def _connect(self, number: int) -> None:
        made = self.host.tcp()
        made.setblocking(False)
        try:
            made.bind((self.host.own, _FIRST_PORT + number % _PORTS))
            failed = made.connect_ex((self.host.other, self.host.port))
        except OSError as error:
            failed = error.errno or errno.EIO
        if failed not in (0, errno.EINPROGRESS):
            made.close()
            raise OSError(failed, f"connection {number} cannot be opened")
        _Connection(self, made, number, is_opener=True)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(BlockingIOError, ConnectionError):
            made, (_, port) = listener.accept()
            made.setblocking(False)
            # More connections than ports: the next with this port is the next with this remainder.
            round_ = self.wraps.get(port, 0)
            self.wraps[port] = round_ + 1
            _Connection(self, made, port - _FIRST_PORT + round_ * _PORTS, is_opener=False)


class _Connection:
    """One end of a connection."""

    def __init__(self, part: _Part, made: socket.socket, number: int, *, is_opener: bool) -> None:
        self.part, self.socket, self.number, self.is_opener = part, made, number, is_opener
        self.turns: list[list[int]] = part.flat[number]["turns"]
        self.turn = 0
        self.to_read = self.to_write = 0
        self.got = self.wrote = 0
        self.is_shut = False
        self.began_ns = part.host.now()
        self.base: TcpInfo | None = None
        self.mask = 0
        part.open.add(self)
        self._watch(selectors.EVENT_READ)
        if self.began_ns < part.host.warmup_ns:
            part.at(part.host.warmup_ns, self._look)
        self._next(part.host.now())

    def _look(self) -> None:
        if self in self.part.open:
            self.base = TcpInfo.of(self.socket)

    def _watch(self, mask: int) -> None:
        if mask == self.mask:
            return
        if self.mask:
            self.part.selector.modify(self.socket, mask, self)
        else:
            self.part.selector.register(self.socket, mask, self)
        self.mask = mask

    def _next(self, now: int) -> None:
        """Begin the turn that has come."""
        if self.turn >= len(self.turns):
            if not self.is_shut:
                # The last to write has closed already.
                self._shut()
            return
        by_opener, size, pause_ns = self.turns[self.turn]
        if bool(by_opener) == self.is_opener:
            if pause_ns:
                self.part.at(now + pause_ns, lambda: self._write(size))
            else:
                self._write(size)
        else:
            self.to_read = size

    def _write(self, size: int) -> None:
        if self in self.part.open:
            self.to_write = size
            self._watch(selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _shut(self) -> None:
        self.is_shut = True
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def on(self, mask: int) -> None:
        """Something can be written, or read."""
        try:
            if mask & selectors.EVENT_WRITE and self.to_write:
                sent = self.socket.send(_CHUNK[: min(self.to_write, len(_CHUNK))])
                self.to_write -= sent
                self.wrote += sent
                if not self.to_write:
                    self._watch(selectors.EVENT_READ)
                    self.turn += 1
                    if self.turn == len(self.turns):
                        self._shut()
                    else:
                        self._next(self.part.host.now())
            if mask & selectors.EVENT_READ:
                self._read()
        except BlockingIOError:
            pass
        except OSError:
            self._end()

    def _read(self) -> None:
        got = self.socket.recv_into(self.part.buffer, 0, socket.MSG_TRUNC)
        if not got:
            self._end()
            return
        now = self.part.host.now()
        self.got += got
        if now >= self.part.host.warmup_ns:
            loop = self.part.loop_of[self.number]
            self.part.delivered[loop] = self.part.delivered.get(loop, 0) + got
        self.to_read -= got
        while self.to_read <= 0 and self.turn < len(self.turns):
            if bool(self.turns[self.turn][0]) == self.is_opener:
                break
            self.turn += 1
            rest, self.to_read = self.to_read, 0
            self._next(now)
            self.to_read += rest if self.to_read else 0

    def note(self, ended_ns: int | None, now: int) -> None:
        """Keep what there is to say of the connection."""
        info, base = TcpInfo.of(self.socket), self.base
        self.part.left.append(
            {
                "number": self.number,
                "began_ns": self.began_ns,
                "ended_ns": ended_ns,
                "wrote": self.wrote,
                "got": self.got,
                "retransmits": info.retransmits - (base.retransmits if base else 0),
                "timeouts": (info.timeouts or 0) - ((base.timeouts or 0) if base else 0),
                "timeout_wait_s": info.timeout_wait_s - (base.timeout_wait_s if base else 0.0),
                "rtt_ns": info.rtt_ns,
            }
        )

    def _end(self) -> None:
        now = self.part.host.now()
        self.note(now, now)
        self.part.open.discard(self)
        self.part.selector.unregister(self.socket)
        self.socket.close()
        if self.is_opener:
            part = self.part
            loop = part.loop_of[self.number]
            place = self.number - part.firsts[loop] + 1
            if place < len(part.loops[loop]) and "after_ns" in part.loops[loop][place]:
                part.follow(loop, place, now)
