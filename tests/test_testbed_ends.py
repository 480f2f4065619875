"""How connections of the testbed's programs end, and what is asked for over them."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest
from sojourn.sweep import testbed

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.http11.client import open_connection


@pytest.mark.parametrize("aborted", [True, False])
def test_a_connection_is_closed_by_a_fin_and_aborted_by_a_reset(aborted: bool) -> None:
    async def seen() -> str:
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                ended.set_result("FIN" if await reader.read() == b"" else "bytes")
            except ConnectionResetError:
                ended.set_result("RST")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            own = socket.socket()
            connection = await open_connection(own, server.sockets[0].getsockname(), 200)
            connection.abort() if aborted else connection.close()
            return await asyncio.wait_for(ended, 5)

    assert asyncio.run(seen()) == ("RST" if aborted else "FIN")
