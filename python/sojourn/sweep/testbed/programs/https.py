"""A server of HTTP/1.1, HTTP/2 or HTTP/3 for a page of several hosts, each at a port of its own.

It is `sojourn-http` (`crates/sojourn-http`: hyper and quinn), a program that is built from the repository
(`make http`) and told by files what to serve. Browsers share no connection between ports. What TCP has not
sent yet is kept short, as servers that follow priorities do (`TCP_NOTSENT_LOWAT`).
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host


NAME = "sojourn-http"

Answers = Mapping[str, tuple[str, bytes]]
"""What each path has: content type, and content."""

_UNSENT = 128 * 1024
_STATUS_LINE, _PER_FIELD = 19, 4


def missing() -> str | None:
    """Say what is missing to serve pages, in one sentence; None if nothing is."""
    if found() is None:
        how = "build it with `make http`, or `cargo install --path crates/sojourn-http`"
        return f"{NAME}, which serves pages, is not installed ({how}, in the repository)"
    return None


def found() -> str | None:
    """Return the program: beside this Python's, or on the path; None if there is none."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(NAME, path=os.pathsep.join((beside, os.environ.get("PATH", os.defpath))))


def _fields(path: str, kind: str, length: int, header: int, http: str) -> list[tuple[str, str]]:
    """Return the header of an answer, of about so many bytes.

    Of HTTP/3 it announces that itself, as servers do: by that a browser knows that priorities are followed.

    The last field fills it up, with letters that HPACK and QPACK code by eight bits, and in words that no
    header had before, which they would shorten.
    """
    found = [
        ("content-type", kind),
        ("content-length", str(length)),
        # Of other hosts' objects, a browser tells times and takes fonts only so.
        ("timing-allow-origin", "*"),
        ("access-control-allow-origin", "*"),
        *([("alt-svc", 'h3=":443"; ma=86400')] if http == "3" else []),
    ]
    used = _STATUS_LINE + sum(len(name) + len(value) + _PER_FIELD for name, value in found)
    fill = header - used - len("x-fill") - _PER_FIELD
    return [*found, ("x-fill", path.ljust(fill, "X"))]


def serve(host: Host, hosts: int, answers: Answers) -> None:
    """Answer at so many ports, from `host.port` on, until the end; leave behind the time that it computed.

    Of `host.arguments`: ``program``, ``http`` ("1.1", "2" or "3"), ``header`` (bytes of an answer's), of QUIC
    ``controller`` and ``initial_window`` (bytes); the certificate lies in the program's folder.
    """
    told: dict[str, Any] = {"http": host.arguments["http"], "answers": {}}
    for number, (path, (kind, body)) in enumerate(answers.items()):
        (host.folder / str(number)).write_bytes(body)
        fields = _fields(path, kind, len(body), host.arguments["header"], told["http"])
        told["answers"][path] = (fields, str(number))
    ports, listening = [host.port + k for k in range(hosts)], []
    if told["http"] == "3":
        told |= {name: host.arguments[name] for name in ("controller", "initial_window")}
        told |= {"address": host.own, "ports": ports}
    else:
        listening = [_listening(host, port) for port in ports]
        told["listening"] = [each.fileno() for each in listening]
    (host.folder / "served.json").write_text(json.dumps(told))
    with subprocess.Popen(
        [host.arguments["program"], str(host.folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=told.get("listening", ()),
    ) as server:
        for each in listening:
            each.close()
        try:
            if server.stdout.readline() != "ready\n":
                raise RuntimeError(f"{NAME}: {server.communicate()[1].strip()}")
            host.begin()
            server.wait()
            raise RuntimeError(f"{NAME} ended early: {server.stderr.read().strip()}")
        finally:
            server.kill()
            server.wait()
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            host.leave(computed_s=round(used.ru_utime + used.ru_stime, 3))


def _listening(host: Host, port: int) -> socket.socket:
    """Return a socket that listens; a connection inherits what is set here."""
    made = host.tcp()
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    made.bind((host.own, port))
    made.listen(1024)
    return made
