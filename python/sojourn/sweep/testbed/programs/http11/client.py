"""A client of HTTP/1.1 that asks by requests of an exact length, and tells when bytes came."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from programs.http11.kernel import Watched, look
from programs.http11.server import header

_MOST = 1 << 18
_RESET = struct.pack("=ii", 1, 0)


class HttpError(Exception):
    """What came is not an answer to what was asked."""


@dataclass
class Connection:
    """A persistent connection; `watched` has what its own end sent again."""

    port: int
    request: int
    watched: Watched
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def get(self, size: int) -> AsyncIterator[int]:
        """Ask for so many bytes; yields the bytes of the body that have come so far, 0 with the header.

        Raises
        ------
        HttpError, OSError, asyncio.IncompleteReadError
            No such answer comes.
        """
        self.writer.write(header(f"GET /{size} HTTP/1.1\r\nHost: server\r\n".encode(), self.request))
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or f"Content-Length: {size}\r\n".encode() not in head:
            raise HttpError(f"asked for {size} bytes and got {head[:60]!r}")
        yield 0
        came = 0
        while came < size:
            piece = await self.reader.read(min(size - came, _MOST))
            if not piece:
                raise asyncio.IncompleteReadError(b"", size - came)
            came += len(piece)
            yield came

    def look(self) -> None:
        """Learn what this end sent again."""
        with suppress(OSError):
            self.watched.note(time.monotonic_ns(), look(self.writer.get_extra_info("socket")))

    def close(self) -> None:
        """Close it, by a FIN."""
        self.writer.close()

    def abort(self) -> None:
        """End it at once, by a reset."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()


async def open_connection(unconnected: socket.socket, address: tuple[str, int], request: int) -> Connection:
    """Open a connection over a socket that may be bound, by requests of so many bytes.

    Raises
    ------
    OSError
        It cannot be opened.
    """
    unconnected.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(unconnected, address)
    except BaseException:
        unconnected.close()
        raise
    watched = Watched()
    watched.opened(unconnected)
    reader, writer = await asyncio.open_connection(sock=unconnected, limit=_MOST)
    return Connection(unconnected.getsockname()[1], request, watched, reader, writer)
