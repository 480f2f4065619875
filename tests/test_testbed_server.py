"""The testbed's server of pages (`sojourn-http`), asked by hand on loopback."""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import struct
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import HANGS_S
from sojourn.sweep import testbed

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs import https

HEADER, FLIGHT, PORT, LARGE = 400, 3000, 7000, 600_000
CONTENT = {
    "/0": ("text/html", b"x" * 20_000),
    "/1": ("image/png", bytes(LARGE)),
    "/2": ("image/png", bytes(LARGE)),
}


class Seen(BaseException):
    """The test has seen what it wanted."""


def served(version: str, folder: Path, look: Callable[[str], None]) -> dict[str, Any]:
    """Let the program serve two hosts while a test looks; return what is left behind."""
    if (why := https.missing()) is not None:
        pytest.skip(why)
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    from sojourn.sweep.testbed.certificate import certificate

    signed = certificate(FLIGHT)
    (folder / "certificate.pem").write_bytes(signed.chain)
    (folder / "key.pem").write_bytes(signed.key)
    own, left = f"127.{random.randrange(1, 255)}.{random.randrange(255)}.1", {}

    def begin() -> None:
        look(own)
        raise Seen

    host = SimpleNamespace(
        arguments={"program": https.found(), "http": version, "header": HEADER},
        **{"folder": folder, "own": own, "port": PORT, "begin": begin, "leave": left.update},
        tcp=lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    )
    with pytest.raises(Seen):
        https.serve(host, 2, CONTENT)  # type: ignore[arg-type]
    return left


def trusting(protocol: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


def test_objects_come_with_headers_of_the_studys_size(tmp_path: Path) -> None:
    def look(own: str) -> None:
        for port in (PORT, PORT + 1):
            asked = http.client.HTTPSConnection(own, port, context=trusting("http/1.1"), timeout=HANGS_S)
            for path, (kind, body) in CONTENT.items():
                asked.request("GET", path)
                socket_of = asked.sock
                got = asked.getresponse()
                assert (got.status, got.version, got.headers["content-type"]) == (200, 11, kind)
                # The status line and its end, the header's end; of a field colon, blank, end.
                size = 19 + sum(len(name) + len(value) + 4 for name, value in got.getheaders())
                assert size == HEADER and got.read() == body
                assert asked.sock is socket_of, "the connection is kept"
            asked.request("GET", "/3")
            assert asked.getresponse().status == 404
            asked.close()

    assert served("1.1", tmp_path, look)["computed_s"] > 0


@pytest.mark.parametrize(("version", "protocol"), [("1.1", "http/1.1"), ("2", "h2")])
def test_the_first_flight_of_the_server_has_the_studys_length(
    version: str, protocol: str, tmp_path: Path
) -> None:
    def look(own: str) -> None:
        to_client, to_server, got = ssl.MemoryBIO(), ssl.MemoryBIO(), 0
        end = trusting(protocol).wrap_bio(to_client, to_server)
        with socket.create_connection((own, PORT), timeout=HANGS_S) as connection:
            while True:
                try:
                    end.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    connection.sendall(to_server.read())
                    part = connection.recv(65536)
                    got += len(part)
                    to_client.write(part)
        assert (end.version(), end.selected_alpn_protocol()) == ("TLSv1.3", protocol)
        # Messages share records, which saves some 50 bytes.
        assert got == pytest.approx(FLIGHT, abs=60)

    served(version, tmp_path, look)


def frames(own: str, priorities: list[str]) -> list[int]:
    """Ask for as many large objects over one connection of HTTP/2; return the frames' streams."""

    def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
        return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body

    def text(value: str) -> bytes:
        return bytes([len(value)]) + value.encode()

    wide = struct.pack(">I", 1 << 30)
    said = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"\0\4" + wide) + frame(8, 0, 0, wide)
    for k, priority in enumerate(priorities):
        # GET, https, then literals (RFC 7541, 6.2.2): :path, :authority, priority.
        fields = (
            b"\x82\x87\x04"
            + text(f"/{k + 1}")
            + b"\x01"
            + text(own)
            + b"\0"
            + text("priority")
            + text(priority)
        )
        said += frame(1, 5, 2 * k + 1, fields)
    found, ended = [], 0
    with (
        socket.create_connection((own, PORT), timeout=HANGS_S) as connection,
        trusting("h2").wrap_socket(connection) as secure,
    ):
        secure.sendall(said)
        reading = secure.makefile("rb")
        while ended < len(priorities):
            head = reading.read(9)
            length, (kind, flags, stream) = int.from_bytes(head[:3], "big"), struct.unpack(">BBI", head[3:])
            reading.read(length)
            if kind == 0:
                found += [stream] * (length > 0)
                ended += flags & 1
    return found


@pytest.mark.parametrize(
    ("priorities", "first"),
    [
        (["u=5, i", "u=1, i"], 3),
        (["u=1", "u=5"], 1),
        (["i, u=3", "u=0"], 3),
        (["", ""], 1),
        (["u=4", "u=9"], 3),
    ],
)
def test_what_is_urgent_comes_first(priorities: list[str], first: int, tmp_path: Path) -> None:
    def look(own: str) -> None:
        order = frames(own, priorities)
        places = [place for place, stream in enumerate(order) if stream == first]
        # What was begun before, or waits in the connection's buffer, goes before it.
        between = sum(stream != first for stream in order[places[0] : places[-1]])
        assert len(order) > 70 and between <= 3, order

    served("2", tmp_path, look)


def test_streams_that_are_equal_and_incremental_take_turns(tmp_path: Path) -> None:
    def look(own: str) -> None:
        order = frames(own, ["u=3, i", "i=?1"])
        begun = order.index(3)
        turns = sum(one != other for one, other in pairwise(order[begun:]))
        # What was begun before goes before it; then the frames alternate.
        assert begun <= 3 and turns >= len(order) - begun - 2, order

    served("2", tmp_path, look)
