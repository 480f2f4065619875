"""How connections of the testbed's programs end, and what the page that is loaded over them is made of."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import HANGS_S
from sojourn.sweep import testbed

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.http11.client import open_connection
from programs.http11.server import Server
from programs.site import Object, content


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
            return await asyncio.wait_for(ended, HANGS_S)

    assert asyncio.run(seen()) == ("RST" if aborted else "FIN")


def test_each_connection_of_a_server_is_written_down_once_whether_it_ends_before_the_run_or_not() -> None:
    async def main() -> tuple[list[int], list[int]]:
        listening = socket.create_server(("127.0.0.1", 0))
        answering = Server(100)
        served = await answering.begin(listening)
        ports = []
        for ends_before in (True, False):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            ports.append(writer.get_extra_info("sockname")[1])
            writer.write(b"GET /3 HTTP/1.1\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n   ")
            if not ends_before:
                answering.end()
            writer.close()
            # The server hears of it.
            while ends_before and not answering.connections:
                await asyncio.sleep(0.001)
        for _ in range(20):
            await asyncio.sleep(0.001)
        served.close()
        return ports, [each["port"] for each in answering.connections]

    ports, written = asyncio.run(main())
    assert written == ports


def test_a_document_names_each_object_as_its_kind_is_named_and_waits_for_scripts_that_block() -> None:
    def of(kind: str, *, blocks: bool = False, after: int | None = 0) -> Object:
        return Object(kind, 0, 4000, 3, after, blocks)

    objects = [of("document", after=None), of("style"), of("script", blocks=True), of("script"), of("hero")]
    objects += [of("picture"), of("font", after=1), of("script", after=3)]
    urls = [f"/{k}" for k in range(len(objects))]
    made = content(objects, urls, 0).decode()
    head, _, body = made.partition("</head><body>")
    assert "<link rel=stylesheet href=/1><script src=/2></script><script async src=/3></script>" in head
    above, _, below = body.partition("<div style='height:3000px'></div>")
    assert "<p style='font-family:f0'>text</p><img id=hero width=800 height=600 src=/4>" in above
    assert below == "<img width=64 height=64 src=/5>"
    assert content(objects, urls, 1).decode().strip() == "@font-face{font-family:f0;src:url(/6)}"
    assert content(objects, urls, 3).decode().endswith("createElement('script'),{src:'/7'}));")
    assert content(objects, urls, 6) == bytes(4000) and not content(objects, urls, 7).strip()


SCRATCH = """
from pathlib import Path
from sojourn.sweep.testbed.bed import _scratch
with _scratch() as folder:
    Path(folder, "left").write_text("by a browser")
    print(folder, flush=True)
    input()
"""


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
def test_what_programs_write_goes_with_the_run_also_if_it_is_killed(number: signal.Signals | None) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SCRATCH], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "left").is_file()
        if number is not None:
            process.send_signal(number)
        process.communicate("on")
    until = time.monotonic() + HANGS_S
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not folder.exists()
