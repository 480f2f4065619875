"""Looks at a followed interface: how many frames each has, when it is taken, and what is printed of it.

The interface is a pair of sockets here, and the engine's follower one that notes what it is fed.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import HANGS_S
from sojourn import _core
from sojourn.capture import CaptureError, live, prometheus
from sojourn.capture.live import _show, _time_ns, follow, frames

SUMMARY: dict[str, Any] = {
    "packets": 9,
    "recent": [["far", "tcp", 3, 1.25, 2.5], ["off", "utp", 4, 10.0, 20.0]],
    "recent_to_remote": [["far", "tcp", 5, 30.0, 1234.56]],
    "hosts": [{"remote": "far", "samples": 7, "series": [1, 2]}],
}
NAMES = ("remote", "protocol", "samples", "mean_ms", "max_ms")


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    both = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    yield both
    for each in both:
        each.close()


def test_a_look_printed_as_json_names_each_number_and_leaves_out_series(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = time.time()
    _show(SUMMARY, True)
    found = json.loads(capsys.readouterr().out)
    assert before - 1 <= found.pop("time_s") <= time.time() + 1
    rows = {way: [dict(zip(NAMES, row, strict=True)) for row in SUMMARY[way]]
            for way in ("recent", "recent_to_remote")}  # fmt: skip
    assert found == {**rows, "hosts": [{"remote": "far", "samples": 7}]}


def test_a_look_printed_as_lines_says_from_whom_and_to_whom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.time, "strftime", lambda form: form)
    _show(SUMMARY, False)
    names = [f"{name:4} {remote:39}" for name, remote in (("from", "far"), ("from", "off"), ("to", "far"))]
    numbers = [
        "tcp         3 samples  mean      1.2 ms  max      2.5 ms",
        "utp         4 samples  mean     10.0 ms  max     20.0 ms",
        "tcp         5 samples  mean     30.0 ms  max   1234.6 ms",
    ]
    assert capsys.readouterr().out.splitlines() == [
        f"%H:%M:%S  {who}  {what}" for who, what in zip(names, numbers, strict=True)
    ]
    for way, said in (("recent", 1), ("recent_to_remote", 2)):
        _show({**SUMMARY, way: []}, False)
        assert len(capsys.readouterr().out.splitlines()) == said, "no samples is of neither way"
    _show({**SUMMARY, "recent": [], "recent_to_remote": []}, False)
    assert capsys.readouterr().out == "%H:%M:%S  no samples\n"


def test_a_frame_is_dated_by_the_kernel_and_cut_and_keeps_its_length(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    stamp = struct.pack("qq", 1_700_000_000, 123_456_789)
    own = [(socket.SOL_SOCKET, 35, stamp)]
    assert _time_ns([(0, 35, stamp), (socket.SOL_SOCKET, 29, stamp), *own]) == 1_700_000_000_123_456_789
    for other in (
        [],
        [(0, 35, stamp)],
        [(socket.SOL_SOCKET, 36, stamp)],
        [(socket.SOL_SOCKET, 35, b"short")],
    ):
        assert abs(_time_ns(other) - time.time_ns()) < 60e9
    ours, theirs = pair
    sent = [bytes([1]) * 192, bytes([2]) * 193, bytes([3]) * 7]
    for each in sent:
        theirs.send(each)
    batch = next(frames(ours, time.monotonic() + HANGS_S))
    # The buffer is used again: a short frame has nothing of the one before.
    assert [(length, data) for _, length, data in batch] == [(len(each), each[:192]) for each in sent]
    assert list(frames(ours, time.monotonic() - 1)) == []


def test_a_batch_has_no_more_than_it_may(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_MOST_AT_ONCE", 3)
    ours, theirs = pair
    for n in range(7):
        theirs.send(bytes([n]))
    found = islice(frames(ours, time.monotonic() + HANGS_S), 3)
    assert [[data[0] for _, _, data in batch] for batch in found] == [[0, 1, 2], [3, 4, 5], [6]]


def test_an_interface_that_fails_gives_a_sentence() -> None:
    def down(*_: Any) -> Any:
        raise OSError(100, "Network is down")

    packets = SimpleNamespace(settimeout=lambda _: None, recvmsg_into=down)
    with pytest.raises(CaptureError, match="the interface cannot be followed any more: Network is down"):
        next(frames(packets, time.monotonic() + 1))  # type: ignore[arg-type]


class Clock:
    """The monotonic clock, which goes on when frames are waited for."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def followed(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[socket.socket, socket.socket]
) -> Callable[..., SimpleNamespace]:
    """Return what follows an interface, and hands back what was done, with times since it began."""
    clock = Clock()
    done = SimpleNamespace(ends=[], fed=[], shown=[], made=[], order=[], published=[])

    class Follower:
        def __init__(self, *told: Any) -> None:
            done.made.append(told)

        def feed(self, batch: Any) -> None:
            done.fed.append(batch)

        def settle(self) -> tuple[str, list[str]]:
            return json.dumps({"looks": len(done.shown)}), ['{"remote": "a"}', '{"remote": "b"}']

    class Server:
        def __init__(self, port: int) -> None:
            done.order.append(f"port {port}")

        def start(self) -> None:
            done.order.append("serves")

        def publish(self, summary: Any) -> None:
            done.published.append(summary)

        def close(self) -> None:
            done.order.append("closed")

    def follow_it(late: float = 0.0, **asked: Any) -> SimpleNamespace:
        def some(packets: socket.socket, until: float) -> Iterator[str]:
            done.ends.append(until)
            clock.now = max(clock.now, until) + late
            yield f"batch {len(done.ends)}"

        monkeypatch.setattr(live, "frames", some)
        follow("eth7", {"local": ["x"]}, **asked)
        return done

    monkeypatch.setattr(live, "time", clock)
    monkeypatch.setattr(live, "open_interface", lambda name: (pair[0], {"eth7": 101}[name]))
    monkeypatch.setattr(live, "give_up", lambda packets: done.order.append("root given up"))
    monkeypatch.setattr(live, "_show", lambda summary, json: done.shown.append((summary, json)))
    monkeypatch.setattr(_core, "Follower", Follower)
    monkeypatch.setattr(prometheus, "Server", Server)
    return follow_it


def test_looks_are_taken_at_multiples_of_their_distance_up_to_the_end(
    followed: Callable[..., SimpleNamespace], pair: tuple[socket.socket, socket.socket]
) -> None:
    done = followed(every_s=2.0, duration_s=5.0)
    assert done.ends == [2, 4, 5], "the last look is at the end of the time"
    assert done.fed == ["batch 1", "batch 2", "batch 3"]
    assert done.shown[1] == ({"looks": 1, "hosts": [{"remote": "a"}, {"remote": "b"}]}, False)
    assert done.made == [(101, '{"local": ["x"]}', None)]
    assert done.order == ["root given up"] and pair[0].fileno() == -1


def test_a_look_that_is_late_moves_no_later_one(followed: Callable[..., SimpleNamespace]) -> None:
    # Each is 2.5 s late: what is over by then has no look of its own.
    assert followed(2.5, every_s=1.0, duration_s=12.0, json=True).ends == [1, 4, 7, 10]


def test_metrics_are_those_of_each_look_and_root_is_given_up_before_anybody_asks(
    followed: Callable[..., SimpleNamespace],
) -> None:
    done = followed(every_s=1.0, duration_s=2.0, port=9100, json=True)
    assert done.order == ["port 9100", "root given up", "serves", "closed"]
    assert done.published == [summary for summary, _ in done.shown] and len(done.published) == 2
    assert [json for _, json in done.shown] == [True, True]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"every_s": 0.009}, "--every is 0.009; expected seconds from 0.01 to 86400"),
        ({"every_s": 86_401}, "--every is 86401; expected"),
        ({"duration_s": 0.0}, "--duration is 0; expected seconds above 0"),
        ({"duration_s": float("inf")}, "--duration is inf; expected"),
    ],
)
def test_times_out_of_range_are_said_before_anything_is_opened(
    followed: Callable[..., SimpleNamespace], asked: dict[str, float], said: str
) -> None:
    with pytest.raises(CaptureError, match=said):
        followed(**asked)


@pytest.mark.parametrize("asked", [{"every_s": 0.01}, {"every_s": 86_400.0}])
def test_times_at_the_ends_of_their_range_are_taken(
    followed: Callable[..., SimpleNamespace], asked: dict[str, float]
) -> None:
    assert len(followed(duration_s=0.02, **asked).ends) == (2 if asked["every_s"] < 1 else 1)
