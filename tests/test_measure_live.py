"""Following an interface: real TCP between two network namespaces, seen near the receiver."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from conftest import Command, sentence

SERVER = """
import socket
c, _ = socket.create_server(("10.77.0.1", 5001)).accept()
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
        "measure", "--live", "inside", "--json", "--every", 1, "--prometheus", 9477,
        "--local", "10.77.0.1", "--min-samples", 10,
    )  # fmt: skip
    live = subprocess.Popen(
        [*inside, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=sojourn.environment(),
    )
    server = subprocess.Popen([*inside, python, "-c", SERVER])
    client = None
    try:
        time.sleep(1.0)
        client = subprocess.Popen([*outside, python, "-c", CLIENT])
        deadline, metrics = time.monotonic() + 90, ""
        while "sojourn_queue_delay_seconds_count" not in metrics and time.monotonic() < deadline:
            time.sleep(0.5)
            metrics = subprocess.run([*inside, python, "-c", SCRAPE], capture_output=True, text=True).stdout
        live.send_signal(signal.SIGINT)
        out, err = live.communicate(timeout=60)
    finally:
        for process in (live, server, client):
            if process is not None:
                process.kill()
                process.wait()
    assert live.returncode == 130, err
    looks = [json.loads(line) for line in out.splitlines()]
    [host] = looks[-1]["hosts"]
    assert (host["remote"], host["protocol"]) == ("10.77.0.2", "tcp")
    assert host["samples"] >= 10
    # Nothing is queued on this path; what is left is the noise of a busy machine.
    assert 0 <= host["p50_ms"] < 50
    assert sum(row["samples"] for look in looks for row in look["recent"]) == host["samples"]
    assert 'sojourn_queue_delay_seconds_count{remote="10.77.0.2",protocol="tcp"}' in metrics


def test_an_interface_that_is_not_there_gives_a_sentence(sojourn: Command) -> None:
    complaint = sentence(sojourn("measure", "--live", "nowhere0", code=2).stderr)
    assert "nowhere0" in complaint
    assert "no captures" in sentence(sojourn("measure", "x.pcap", "--live", "lo", code=2).stderr)
