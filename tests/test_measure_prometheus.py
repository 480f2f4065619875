"""What Prometheus is given: the text of a fixed summary, and seconds throughout."""

from __future__ import annotations

import re
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import HANGS_S
from sojourn.capture import prometheus
from sojourn.capture.prometheus import Server, metrics

SUMMARY = {
    "packets": 4321,
    "hosts": [
        {
            "remote": "192.0.2.7",
            "protocol": "tcp",
            "samples": 200,
            "mean_ms": 12.5,
            "p50_ms": 10.0,
            "p95_ms": 40.0,
            "max_ms": 81.25,
        },
        {"remote": "2001:db8::1", "protocol": "utp", "samples": 0},
    ],
    "recent": [["192.0.2.7", "tcp", 20, 7.5, 31.0]],
}
TEXT = """\
# HELP sojourn_queue_delay_seconds Queueing delay of packets from a remote host.
# TYPE sojourn_queue_delay_seconds summary
sojourn_queue_delay_seconds{remote="192.0.2.7",protocol="tcp",quantile="0.5"} 0.01
sojourn_queue_delay_seconds{remote="192.0.2.7",protocol="tcp",quantile="0.95"} 0.04
sojourn_queue_delay_seconds{remote="192.0.2.7",protocol="tcp",quantile="1"} 0.08125
sojourn_queue_delay_seconds_sum{remote="192.0.2.7",protocol="tcp"} 2.5
sojourn_queue_delay_seconds_count{remote="192.0.2.7",protocol="tcp"} 200
# HELP sojourn_recent_queue_delay_seconds Mean queueing delay since the last look.
# TYPE sojourn_recent_queue_delay_seconds gauge
sojourn_recent_queue_delay_seconds{remote="192.0.2.7",protocol="tcp"} 0.0075
# HELP sojourn_packets_total Packets seen.
# TYPE sojourn_packets_total counter
sojourn_packets_total 4321
"""


def test_the_text_of_a_summary() -> None:
    assert metrics(SUMMARY) == TEXT


def test_both_directions_are_told_apart() -> None:
    toward = {"samples": 50, "mean_ms": 3.0, "p50_ms": 2.0}
    host = {**SUMMARY["hosts"][0], "to_remote": toward}
    unseen = {**SUMMARY["hosts"][1], "to_remote": "not seen: no TCP timestamps"}
    rows = [["192.0.2.7", "tcp", 5, 4.0, 6.0]]
    text = metrics({**SUMMARY, "hosts": [host, unseen], "recent_to_remote": rows})
    added = [line for line in text.splitlines() if line not in TEXT.splitlines() and not line.startswith("#")]
    who = 'remote="192.0.2.7",protocol="tcp"'
    assert added == [
        f'sojourn_queue_delay_to_remote_seconds{{{who},quantile="0.5"}} 0.002',
        f"sojourn_queue_delay_to_remote_seconds_sum{{{who}}} 0.15",
        f"sojourn_queue_delay_to_remote_seconds_count{{{who}}} 50",
        f"sojourn_recent_queue_delay_to_remote_seconds{{{who}}} 0.004",
    ]


def test_rate_of_the_sum_over_rate_of_the_count_is_the_mean_between_two_looks() -> None:
    later = {**SUMMARY["hosts"][0], "samples": 300, "mean_ms": 15.0}

    def sum_and_count(summary: dict) -> tuple[float, float]:
        text = metrics(summary)
        return tuple(float(re.search(rf"_{name}{{.*}} (\S+)", text)[1]) for name in ("sum", "count"))

    before, after = sum_and_count(SUMMARY), sum_and_count({**SUMMARY, "hosts": [later]})
    # 100 samples more, whose mean is (300 × 15 − 200 × 12.5) / 100 = 20 ms.
    assert (after[0] - before[0]) / (after[1] - before[1]) == 0.02


ASKS = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


def answer(peer: socket.socket) -> bytes:
    """Ask for the metrics, and return all that comes."""
    peer.settimeout(HANGS_S)
    with peer, peer.makefile("rb") as reader:
        peer.sendall(ASKS)
        return reader.read()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """A server on a port of its own, which waits for so long."""
    monkeypatch.setattr(prometheus, "_PATIENCE_S", request.param)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Server(port, lambda text: text)
    yield server, ("127.0.0.1", port)
    server.close()


@pytest.mark.parametrize("served", [60.0], indirect=True)
def test_many_may_ask_at_once(served) -> None:
    server, address = served
    server.publish("x 1\n" * 20)
    # All are there before the first is taken; who found no place would ask again a second later.
    with ThreadPoolExecutor(60) as pool:
        asking = list(pool.map(lambda _: socket.create_connection(address, timeout=0.8), range(60)))
    server.start()
    for peer in asking:
        assert answer(peer).endswith(b"x 1\n" * 20)


@pytest.mark.parametrize("served", [60.0], indirect=True)
def test_nothing_is_said_of_who_hangs_up(served, capfd) -> None:
    server, address = served
    server.publish("x 1\n" * 3_000_000)
    server.start()
    with socket.create_connection(address) as gone:
        # It resets the connection while it is answered.
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.sendall(ASKS)
        assert gone.recv(1) == b"H"
    server.publish("x 2\n")
    assert answer(socket.create_connection(address)).endswith(b"x 2\n")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("served", [0.2], indirect=True)
def test_the_silent_are_not_waited_for_and_nothing_is_said_of_them(served, capfd) -> None:
    server, address = served
    server.start()
    with socket.create_connection(address, timeout=HANGS_S) as silent:
        assert silent.recv(1) == b""
    assert capfd.readouterr() == ("", "")
