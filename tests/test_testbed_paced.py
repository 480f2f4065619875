"""When programs of the testbed do what they do, by a clock of the test's: nothing is sent, nobody waits."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn.sweep import testbed

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
import host
from programs import bulk, web

MS = 1_000_000


class _Clock:
    """Time that only waiting moves; also the selector that waits."""

    def __init__(self, ends_ns: int) -> None:
        self.ns, self.ends_ns = 0, ends_ns

    def now(self) -> int:
        return self.ns

    def select(self, wait_s: float) -> list[Any]:
        self.ns += round(wait_s * 1e9) or 1
        if self.ns >= self.ends_ns:
            raise SystemExit  # as the agent ends a program
        return []


def test_bulk_flows_begin_are_cut_off_and_looked_at_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[int, str, int]] = []
    clock = _Clock(360 * MS)

    class Sender:
        def __init__(self, _: Any, number: int, flow: dict[str, Any]) -> None:
            self.number, self.start_ns, self.stop_ns, self.left = number, flow["start"], flow["stop"], number

        def __getattr__(self, what: str) -> Any:
            return lambda at=None: done.append((clock.now(), what, self.number))

    monkeypatch.setattr(bulk, "_Sender", Sender)
    monkeypatch.setattr(bulk.selectors, "DefaultSelector", lambda: clock)
    left: dict[str, Any] = {}
    # The last one begins first, and a group has more flows than are followed.
    starts = [(20 - k) * MS for k in range(10)]
    told = {"flows": [{"start": at, "stop": 60 * MS if at == 12 * MS else None} for at in starts]}
    asked = SimpleNamespace(
        arguments={**told, "step_ns": 40 * MS}, warmup_ns=50 * MS, duration_ns=300 * MS, begin=lambda: None,
        now=clock.now, leave=left.update,
    )  # fmt: skip
    with pytest.raises(SystemExit):
        bulk._send(asked)
    assert left == {"flows": list(range(10))}

    def when(what: str) -> list[tuple[int, int]]:
        return [(at // MS, number) for at, of, number in done if of == what]

    assert when("start") == [(20 - k, k) for k in reversed(range(10))]
    assert when("stop") == [(60, 8)]
    followed = list(reversed(range(2, 10)))  # the eight that begin first, as the simulator has it
    assert when("follow") == [(at, number) for at in range(40, 360, 40) for number in followed]
    assert when("sample") == [(at, number) for at in (100, 200, 300) for number in range(10)]
    looks = [at for at, number in when("look") if number == 0]
    assert looks == [50, 300, 360], "where measuring begins and ends, and once more at the end"


def test_a_reader_pauses_after_a_page_and_does_not_ask_a_server_that_refuses_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusals, paused = iter([False, True, False, True]), []
    counts = SimpleNamespace(retransmits=3, repair_ns=7)

    async def open_connection(*_: Any) -> Any:
        if next(refusals):
            raise ConnectionRefusedError("refused")
        return SimpleNamespace(port=9, watched=counts, look=lambda: None, close=lambda: None)

    async def load(*_: Any) -> None:
        clock.ns += 5 * MS

    async def sleep(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 4:
            raise asyncio.CancelledError

    async def begin(*_: Any) -> None:
        pass

    clock = _Clock(0)
    monkeypatch.setattr(web, "open_connection", open_connection)
    monkeypatch.setattr(web, "_load", load)
    monkeypatch.setattr(web.ends, "socket_of", lambda _: None)
    monkeypatch.setattr(web.ends, "sleep_until", begin)
    monkeypatch.setattr(web.asyncio, "sleep", sleep)
    asked = SimpleNamespace(
        arguments={"request": 1, "objects": [], "pause_ns": 0}, other="", port=0, now=clock.now
    )
    rows: list[dict[str, Any]] = []
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(web._read(asked, 4, 0, rows))
    assert paused == [0.0, 0.1, 0.0, 0.1]
    loaded = {"complete": True, "port": 9, "plt_ns": 5 * MS, "retransmits": 3, "repair_ns": 7}
    failed = {"complete": False, "port": 0, "plt_ns": 0, "failed": "refused"}
    assert rows == [
        {"user": 4, "start_ns": at, **what}
        for at, what in ((0, loaded), (5 * MS, failed), (5 * MS, loaded), (10 * MS, failed))
    ]


def test_the_time_of_day_is_that_of_a_look_that_was_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now, held_up = [5 * MS], iter([7 * MS, 3 * MS, 0, 4 * MS])

    def of_day() -> int:
        now[0] += next(held_up, 9 * MS)
        return now[0] + 1000 * MS

    monkeypatch.setattr(host, "time", SimpleNamespace(time_ns=of_day))
    assert host.Host.wall_ahead(SimpleNamespace(now=lambda: now[0])) == 1000 * MS


def test_sockets_have_every_option_of_the_study() -> None:
    options = [(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 700), (socket.SOL_SOCKET, 47, 125_000)]
    with host.Host.tcp(SimpleNamespace(_options=options)) as made:
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) == 700
        assert made.getsockopt(socket.SOL_SOCKET, 47) == 125_000
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 1
        assert made.type & socket.SOCK_STREAM
