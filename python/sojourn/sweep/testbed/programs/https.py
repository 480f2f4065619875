"""A server of HTTP/1.1, HTTP/2 or HTTP/3 for a page of several hosts, each at a port of its own.

HTTP/1.1 and HTTP/2 are Hypercorn's, which sends streams by the priorities that browsers give them. HTTP/3 is
`sojourn-http3`'s (`crates/sojourn-http3`: quinn), which is told by files what to serve. Browsers share no
connection between ports. What TCP has not sent yet is kept short, as servers that follow priorities do
(`TCP_NOTSENT_LOWAT`).
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from programs.http11.ends import over, socket_of, until

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

__all__ = ["serve"]

Answers = Mapping[str, tuple[str, bytes]]
"""What each path has: content type, and content."""

_UNSENT = 128 * 1024
_GRACE_S = 0.2
_STATUS_LINE, _PER_FIELD = 19, 4


def _fields(path: str, kind: str, length: int, header: int) -> list[tuple[bytes, bytes]]:
    """Return the header of an answer, of about so many bytes.

    The last field fills it up, with letters that HPACK and QPACK code by eight bits, and in words that no
    header had before, which they would shorten.
    """
    found = [
        (b"content-type", kind.encode()),
        (b"content-length", b"%d" % length),
        # Of other hosts' objects, a browser tells times and takes fonts only so.
        (b"timing-allow-origin", b"*"),
        (b"access-control-allow-origin", b"*"),
    ]
    used = _STATUS_LINE + sum(len(name) + len(value) + _PER_FIELD for name, value in found)
    fill = header - used - len(b"x-fill") - _PER_FIELD
    return [*found, (b"x-fill", path.encode().ljust(fill, b"X"))]


def serve(host: Host, hosts: int, answers: Answers) -> None:
    """Answer at so many ports, from `host.port` on, until the end.

    Of `host.arguments`: ``http`` ("1.1", "2" or "3"), ``header`` (bytes of an answer's), of QUIC ``program``,
    ``controller`` and ``initial_window`` (bytes); the certificate lies in the program's folder.
    """
    if host.arguments["http"] == "3":
        _over_quic(host, hosts, answers)
        return

    async def main() -> None:
        told = over()
        serving = asyncio.ensure_future(_over_tcp(host, hosts, answers))
        await asyncio.to_thread(host.begin)
        ending = asyncio.ensure_future(until(host, told))
        await asyncio.wait([ending, serving], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()  # raises why it has ended

    # Not asyncio.run: nobody waits for connections to end that the end cuts off.
    asyncio.new_event_loop().run_until_complete(main())


async def _over_tcp(host: Host, hosts: int, answers: Answers) -> None:
    from hypercorn.asyncio import serve as hypercorn
    from hypercorn.config import Config

    http, header = host.arguments["http"], host.arguments["header"]

    async def app(scope: Mapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        found = answers.get(scope["path"])
        status, (kind, body) = (404, ("text/plain", b"")) if found is None else (200, found)
        fields = _fields(scope["path"], kind, len(body), header)
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    listening = [_listening(host, host.port + k) for k in range(hosts)]
    config = Config()
    config.bind = [f"fd://{each.detach()}" for each in listening]
    config.certfile, config.keyfile = str(host.folder / "certificate.pem"), str(host.folder / "key.pem")
    config.alpn_protocols = ["h2" if http == "2" else "http/1.1"]
    config.include_date_header = config.include_server_header = False
    config.errorlog, config.graceful_timeout = None, _GRACE_S
    config.keep_alive_timeout = 3600
    await hypercorn(app, config, shutdown_trigger=asyncio.Event().wait)  # type: ignore[arg-type]


def _listening(host: Host, port: int) -> socket.socket:
    made = socket_of(host, port)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    made.listen(1024)
    return made


def _over_quic(host: Host, hosts: int, answers: Answers) -> None:
    """Run the server of HTTP/3 until the end; leave behind the time that it computed."""
    told = {
        "address": host.own,
        "ports": [host.port + k for k in range(hosts)],
        "controller": host.arguments["controller"],
        "initial_window": host.arguments["initial_window"],
        "answers": {},
    }
    for number, (path, (kind, body)) in enumerate(answers.items()):
        (host.folder / str(number)).write_bytes(body)
        fields = _fields(path, kind, len(body), host.arguments["header"])
        told["answers"][path] = ([(name.decode(), value.decode()) for name, value in fields], str(number))
    (host.folder / "served.json").write_text(json.dumps(told))
    command = [host.arguments["program"], str(host.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout.readline() != "ready\n":
                raise RuntimeError(f"sojourn-http3: {server.communicate()[1].strip()}")
            host.begin()
            server.wait()
            raise RuntimeError(f"sojourn-http3 ended early: {server.stderr.read().strip()}")
        finally:
            server.kill()
            server.wait()
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            host.leave(computed_s=round(used.ru_utime + used.ru_stime, 3))
