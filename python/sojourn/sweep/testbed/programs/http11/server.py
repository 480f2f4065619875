"""A server of HTTP/1.1 that answers a path of digits with so many bytes, after headers of an exact length.

Persistent connections, one request at a time on each (RFC 9112 without pipelining, chunks and compression):
what the users of a study ask for. A header is filled up with a field of its own.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from programs.http11.kernel import Watched, watch

LEAST_HEADER = 80
"""Bytes that a header has at least, of a request or of a response."""

Content = Callable[[str], tuple[str, bytes | int] | None]
"""What a path has: its content type, and its bytes or how many; None if there is nothing."""

_FILL = b"X-Fill: "
_LEAST_FILL = len(_FILL) + 4
_PIECE = b" " * (1 << 18)


def header(lines: bytes, length: int) -> bytes:
    """Return a header of exactly so many bytes: the lines, each with its end, and what fills it up.

    Raises
    ------
    ValueError
        The lines alone are longer.
    """
    rest = length - len(lines) - 2
    if rest == 0:
        return lines + b"\r\n"
    fill = rest - len(_FILL) - 2
    if fill < 0:
        raise ValueError(f"a header of {length} bytes: expected at least {len(lines) + _LEAST_FILL}")
    return lines + _FILL + b"." * fill + b"\r\n\r\n"


def by_size(path: str) -> tuple[str, int] | None:
    """Return the content of a path of digits: so many bytes."""
    return ("application/octet-stream", int(path[1:])) if path[1:].isdecimal() else None


@dataclass
class Server:
    """A server that answers until it is cancelled.

    Attributes
    ----------
    header : int
        Bytes of the header of each answer; a longer one has what it needs.
    content : callable
        What each path has.
    connections : list of dict
        What became of each connection that ended: port of the client, mean round trip, waits for repairs.
    """

    header: int
    content: Content = by_size
    connections: list[dict[str, Any]] = field(default_factory=list)
    _present: dict[asyncio.Task[Any], tuple[int, Watched]] = field(default_factory=dict)

    async def begin(self, listening: socket.socket) -> asyncio.Server:
        """Begin to answer on a socket that is bound."""
        return await asyncio.start_server(self._serve, sock=listening, backlog=1024)

    def end(self) -> None:
        """Write down the connections that have not ended."""
        for port, watched in self._present.values():
            self._write_down(port, watched)
        self._present.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, port = writer.get_extra_info("socket"), writer.get_extra_info("peername")[1]
        watched = Watched()
        looking = asyncio.create_task(watch(connection, watched))
        self._present[looking] = (port, watched)
        try:
            while await self._answer(reader, writer):
                pass
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the client has gone, or the run is over
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            if self._present.pop(looking, None) is not None:
                self._write_down(port, watched)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await reader.readuntil(b"\r\n\r\n")
        words = request.split(b"\r\n", 1)[0].split(b" ")
        path = words[1].decode("latin-1").partition("?")[0] if len(words) == 3 else ""
        found = self.content(path) if words[0] == b"GET" else None
        if found is None:
            writer.write(header(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n", LEAST_HEADER))
            await writer.drain()
            return True
        kind, body = found
        length = body if isinstance(body, int) else len(body)
        lines = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n".encode()
        # With the header, the first bytes of the body: one write, as a server has that sends from memory.
        rest = memoryview(_PIECE if isinstance(body, int) else body)
        piece = min(length, len(_PIECE))
        writer.write(header(lines, max(self.header, len(lines) + _LEAST_FILL)) + bytes(rest[:piece]))
        await writer.drain()
        for begun in range(piece, length, len(_PIECE)):
            size = min(len(_PIECE), length - begun)
            writer.write(rest[:size] if isinstance(body, int) else rest[begun : begun + size])
            await writer.drain()
        return True

    def _write_down(self, port: int, watched: Watched) -> None:
        self.connections.append(
            {
                "port": port,
                "rtt_ns": watched.rtt_ns,
                "repair_ns": watched.repair_ns,
                "retransmits": watched.retransmits,
            }
        )
