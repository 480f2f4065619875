"""Following an interface: real TCP between two network namespaces, seen near the receiver."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HANGS_S, Command, sentence
from sojourn.capture import CaptureError, privilege
from sojourn.capture.live import frames

pytestmark = pytest.mark.real_time

SERVER = """
import socket
listening = socket.create_server(("10.77.0.1", 5001))
print("listens", flush=True)
c, _ = listening.accept()
while c.recv(65536):
    pass
"""
CLIENT = """
import socket, time
c = socket.create_connection(("10.77.0.1", 5001))
while True:
    c.sendall(bytes(1400))
    time.sleep(0.005)
"""
SCRAPE = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9477/metrics').read().decode())"


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two namespaces joined by a pair of interfaces: the receiver's and the sender's."""
    if os.geteuid() != 0:
        pytest.skip("following an interface needs root")
    if shutil.which("ip") is None:
        pytest.skip("iproute2 is not installed")
    names = tuple(f"sojourn-{os.getpid()}-{side}" for side in "ab")

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    try:
        try:
            for name in names:
                ip("netns", "add", name)
            a, b = names
            ip("-n", a, "link", "add", "inside", "type", "veth", "peer", "name", "outside", "netns", b)
            ip("-n", a, "address", "add", "10.77.0.1/24", "dev", "inside")
            ip("-n", b, "address", "add", "10.77.0.2/24", "dev", "outside")
            for name, link in ((a, "inside"), (b, "outside")):
                ip("-n", name, "link", "set", link, "up")
                ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"namespaces cannot be made here: {error.stderr.strip()}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def test_follows_real_traffic_and_exports_it(sojourn: Command, namespaces: tuple[str, str]) -> None:
    a, b = namespaces
    inside, outside = ["ip", "netns", "exec", a], ["ip", "netns", "exec", b]
    python = sojourn.argv()[0]
    words = sojourn.argv(
        "measure", "--live", "inside", "--json", "--every", 0.3, "--prometheus", 9477,
        "--local", "10.77.0.1", "--min-samples", 10,
    )  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    live = subprocess.Popen([*inside, *words], env=sojourn.environment(), **pipes)
    server = subprocess.Popen([*inside, python, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    client = None
    try:
        assert server.stdout.readline() == "listens\n"
        client = subprocess.Popen([*outside, python, "-c", CLIENT])
        deadline, metrics = time.monotonic() + HANGS_S, ""
        while "sojourn_queue_delay_seconds_count" not in metrics and time.monotonic() < deadline:
            time.sleep(0.1)
            metrics = subprocess.run([*inside, python, "-c", SCRAPE], capture_output=True, text=True).stdout
        live.send_signal(signal.SIGINT)
        out, err = live.communicate(timeout=HANGS_S)
    finally:
        for process in (live, server, client):
            if process is not None:
                process.kill()
                process.wait()
        server.stdout.close()
    assert live.returncode == 130, err
    looks = [json.loads(line) for line in out.splitlines()]
    [host] = looks[-1]["hosts"]
    assert (host["remote"], host["protocol"]) == ("10.77.0.2", "tcp")
    assert host["samples"] >= 10
    # Nothing is queued on this path; what is left is the noise of a busy machine.
    assert 0 <= host["p50_ms"] < 50
    assert sum(row["samples"] for look in looks for row in look["recent"]) == host["samples"]
    assert 'sojourn_queue_delay_seconds_count{remote="10.77.0.2",protocol="tcp"}' in metrics


SERVERS = """
import selectors, socket
watch = selectors.DefaultSelector()
for port in (5001, 5002):
    watch.register(socket.create_server(("10.77.0.1", port)), selectors.EVENT_READ)
print("listens", flush=True)
servers = set(key.fileobj for key in watch.get_map().values())
while True:
    for key, _ in watch.select():
        if key.fileobj in servers:
            watch.register(key.fileobj.accept()[0], selectors.EVENT_READ)
        else:
            key.fileobj.recv(65536)
"""
CLIENTS = """
import socket, time
both = [socket.create_connection(("10.77.0.1", port)) for port in (5001, 5002, 5002, 5002)]
while True:
    for c in both:
        c.sendall(bytes(1400))
    time.sleep(0.01)
"""


def test_follows_only_what_the_filter_wants(sojourn: Command, namespaces: tuple[str, str]) -> None:
    a, b = namespaces
    inside, outside = ["ip", "netns", "exec", a], ["ip", "netns", "exec", b]
    python = sojourn.argv()[0]
    words = sojourn.argv(
        "measure", "--live", "inside", "--json", "--every", 0.5, "--filter", "tcp port 5001",
        "--local", "10.77.0.1", "--min-samples", 10,
    )  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    live = subprocess.Popen([*inside, *words], env=sojourn.environment(), **pipes)
    servers = subprocess.Popen([*inside, python, "-c", SERVERS], stdout=subprocess.PIPE, text=True)
    clients, looks = None, []
    try:
        assert servers.stdout.readline() == "listens\n"
        clients = subprocess.Popen([*outside, python, "-c", CLIENTS])
        # By the second look with samples all connections have sent often.
        while sum(any(host["samples"] for host in look["hosts"]) for look in looks) < 2:
            if not (line := live.stdout.readline()):
                break
            looks.append(json.loads(line))
        live.send_signal(signal.SIGINT)
        _, err = live.communicate(timeout=HANGS_S)
    finally:
        for process in (live, servers, clients):
            if process is not None:
                process.kill()
                process.wait()
        servers.stdout.close()
    if "libpcap" in err:
        pytest.skip("libpcap is not installed")
    assert live.returncode == 130, err
    [host] = looks[-1]["hosts"]
    # Three of the four connections have the other port.
    assert (host["remote"], host["flows"]) == ("10.77.0.2", 1)
    assert host["samples"] >= 10


def test_frames_are_not_kept_back_while_more_come() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.002):
            theirs.send(b"frame")

    sender = threading.Thread(target=send)
    sender.start()
    try:
        first = next(frames(ours, time.monotonic() + 20))
    finally:
        stop.set()
        sender.join()
        ours.close()
        theirs.close()
    # The queue of such a socket holds 11; those of twenty seconds would be thousands.
    assert 1 <= len(first) < 100
    assert first[0][1:] == (5, b"frame")


def test_an_interface_that_is_not_there_gives_a_sentence(sojourn: Command) -> None:
    complaint = sentence(sojourn("measure", "--live", "nowhere0", code=2).stderr)
    assert "nowhere0" in complaint
    assert "no captures" in sentence(sojourn("measure", "x.pcap", "--live", "lo", code=2).stderr)


NOBODY = 65_534
START_AS_NOBODY = """
import ctypes, os, sys, tempfile
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

def check(code):
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def mount(what, where, kind, flags, data=None):
    check(libc.mount(*(w and os.fsencode(w) for w in (what, where, kind)), flags, data))

# Interpreters often lie in a home that only its owner may enter: here, in mounts of our own, all may.
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18
check(libc.unshare(0x20000))
mount(None, "/", None, RECURSIVE | PRIVATE)
for place in (sys.argv[2], os.path.realpath(sys.argv[2]), *sys.path):
    for closed in reversed(Path(place).absolute().parents):
        if closed.is_dir() and not closed.stat().st_mode & 1:
            kept = Path(tempfile.mkdtemp())
            mount(closed, kept, None, BIND | RECURSIVE)
            mount("tmpfs", closed, "tmpfs", 0, b"mode=755")
            for entry in (entry for entry in kept.iterdir() if entry.is_dir()):
                (closed / entry.name).mkdir()
                mount(entry, closed / entry.name, None, BIND | RECURSIVE)
# Keep capabilities through setresuid and execve, as file capabilities would give them.
check(libc.prctl(8, 1, 0, 0, 0))
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
bits = int(sys.argv[1])
check(libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(bits, bits, bits, 0, 0, 0)))
for number in range(32):
    if bits >> number & 1:
        check(libc.prctl(47, 2, number, 0, 0))
os.execv(sys.argv[2], sys.argv[2:])
"""
NET_RAW = 1 << 13


def status(process: subprocess.Popen[str]) -> dict[str, list[str]]:
    """Return what the kernel says of every thread: the distinct values of each line."""
    lines: dict[str, set[str]] = {}
    for task in Path(f"/proc/{process.pid}/task").glob("*/status"):
        for line in task.read_text().splitlines():
            name, _, value = line.partition(":")
            lines.setdefault(name, set()).add(" ".join(value.split()))
    return {name: sorted(values) for name, values in lines.items()}


def as_nobody(capabilities: int) -> list[object]:
    """Return what starts a command as an ordinary user with capabilities."""
    return [sys.executable, "-c", START_AS_NOBODY, capabilities] if os.geteuid() == 0 else []


def following(sojourn: Command, *before: object, **environment: str) -> dict[str, list[str]]:
    """Follow the loopback interface, and return the status of the process after its first look."""
    words = sojourn.argv("measure", "--live", "lo", "--every", 0.2, "--duration", 60)
    clean = {k: v for k, v in sojourn.environment().items() if not k.startswith("SUDO_")}
    live = subprocess.Popen(
        [*map(str, before), *words],
        cwd="/",
        env={**clean, **environment},
        extra_groups=[0, 4] if os.geteuid() == 0 else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        looked = live.stdout.readline()
        found = status(live) if looked else {}
        live.send_signal(signal.SIGTERM)
        _, err = live.communicate(timeout=HANGS_S)
    finally:
        live.kill()
        live.wait()
    assert live.returncode == 130 and looked, err
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")
@pytest.mark.parametrize(
    ("environment", "user", "group"),
    [
        ({}, NOBODY, None),
        ({"SUDO_UID": "12345", "SUDO_GID": "23456"}, 12345, 23456),
        ({"SUDO_UID": "0", "SUDO_GID": "0"}, NOBODY, None),
        ({"SUDO_UID": "-1", "SUDO_GID": "٣"}, NOBODY, None),
    ],
)
def test_root_is_given_up(
    sojourn: Command, environment: dict[str, str], user: int, group: int | None
) -> None:
    found = following(sojourn, **environment)
    assert found["Uid"] == [" ".join([str(user)] * 4)]
    groups = {int(text) for line in found["Gid"] for text in line.split()}
    assert len(groups) == 1 and 0 not in groups and group in (None, *groups)
    assert not {"0", "4"} & set(found["Groups"][0].split()), "of the groups that it was started with"
    assert {found[name][0] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert "1" in found["NoNewPrivs"], "of the thread that decodes"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to hand a capability on")
def test_capabilities_are_given_up_by_all_threads(sojourn: Command) -> None:
    found = following(sojourn, *as_nobody(NET_RAW))
    assert found["Uid"] == [" ".join([str(NOBODY)] * 4)]
    assert found["CapPrm"] == found["CapEff"] == found["CapAmb"] == ["0" * 16]
    assert found["NoNewPrivs"] == ["1"]


def test_without_rights_a_sentence_says_what_is_missing(sojourn: Command) -> None:
    done = subprocess.run(
        [*map(str, as_nobody(0)), *sojourn.argv("measure", "--live", "lo")],
        cwd="/",
        env=sojourn.environment(),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert done.returncode == 2
    assert "not permitted" in sentence(done.stderr) and "CAP_NET_RAW" in done.stderr


def test_root_that_cannot_be_given_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(privilege, "_prctl", lambda *_: None)
    monkeypatch.setattr(os, "getresuid", lambda: (0, 0, 0))
    monkeypatch.setattr(os, "setgroups", lambda groups: None)
    monkeypatch.setattr(os, "setresgid", lambda *ids: None)
    with socket.socket() as packets:
        monkeypatch.setattr(os, "setresuid", refuse)
        with pytest.raises(CaptureError, match="cannot be given up: Operation not permitted"):
            privilege.give_up(packets)
        # A kernel that says yes and does nothing.
        monkeypatch.setattr(os, "setresuid", lambda *ids: None)
        with pytest.raises(CaptureError, match="cannot be given up: rights are left"):
            privilege.give_up(packets)
