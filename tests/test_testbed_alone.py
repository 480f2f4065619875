"""Programs of the testbed one at a time: what they do with a browser, libtorrent, a player and a clock.

All of these are stood in for; nothing here takes time.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sojourn.sweep import testbed
from sojourn.sweep.testbed.others import others, told

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs import adaptive, browser, datagrams, torrent, web

MS = 1_000_000


def clock(*times: int) -> Callable[[], int]:
    """Return a clock that shows these times, and the last one from then on."""
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_one_process_runs_and_several_run() -> None:
    assert told([15]) == "process 15 runs"
    assert told([15, 16]) == "processes 15 and 16 run"
    assert told([15, 16, 17]) == "processes 15, 16 and 17 run"


def test_others_on_the_testbed_are_known_by_their_processes_until_they_end() -> None:
    told = "import os; each = others(); print(os.getpid(), *each.__enter__(), flush=True); input()"
    words = [sys.executable, "-c", f"from sojourn.sweep.testbed.others import others; {told}"]
    with others() as found:
        assert os.getpid() not in found
        running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None
        another, *found = map(int, running.stdout.readline().split())
        assert os.getpid() in found and another not in found
    with others() as found:
        assert another in found
    running.kill()
    running.communicate()
    with others() as found:
        assert another not in found


def test_datagrams_carry_their_number_and_the_clock_of_speech_and_lateness_is_in_microseconds(
    tmp_path: Path,
) -> None:
    schedule = np.array([[0, 200], [125_000 * 8, 40], [70_000 * MS, 39]], dtype=np.int64)
    np.save(tmp_path / "client.npy", schedule)
    sent: list[bytes] = []
    left: dict[str, Any] = {}
    host: Any = SimpleNamespace(
        arguments={"payload": 18}, now=clock(5, 6, 7), sleep_until=lambda at: None,
    )  # fmt: skip
    rows = np.full(3, -1, dtype=np.int64)
    datagrams._send(host, SimpleNamespace(send=lambda data: sent.append(bytes(data))), schedule, rows)  # type: ignore[arg-type]
    assert [len(each) for each in sent] == [172, 12, 11] and rows.tolist() == [5, 6, 7]
    assert [datagrams._RTP.unpack(each[:12])[:4] for each in sent[:2]] == [(0x80, 18, 0, 0), (0x80, 18, 1, 8)]

    class Host(SimpleNamespace):
        def leave(self, **found: Any) -> None:
            left.update(found)

    late = Host(
        end="client", folder=tmp_path, own="127.0.0.1", other="127.0.0.1", port=0, duration_ns=0, warmup_ns=0,
        arguments={"receives": 2, "payload": 8}, begin=lambda: None, sleep_until=lambda at: None,
        now=clock(3000, 125_000 * 8 + 3000, 70_000 * MS + 3000),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datagrams, "_receive", lambda *_: None)
        patch.setattr(datagrams, "socket", SimpleNamespace(**{
            **{name: 1 for name in ("AF_INET", "SOCK_DGRAM", "SOL_SOCKET", "SO_RCVBUF", "SHUT_RDWR")},
            "socket": lambda *_: SimpleNamespace(**dict.fromkeys(
                ("setsockopt", "bind", "connect", "send", "shutdown", "close"), lambda *_: None)),
        }))  # fmt: skip
        datagrams.client(late)  # type: ignore[arg-type]
    assert left == {"sent": 3, "late_p99_us": pytest.approx(3.0), "arrived": 0, "bytes": 0}
    assert np.load(tmp_path / "arrived-client.npy").tolist() == [-1, -1]


def test_nobody_reads_datagrams_any_more_when_a_part_is_over(tmp_path: Path) -> None:
    np.save(tmp_path / "client.npy", np.empty((0, 2), dtype=np.int64))

    class Host(SimpleNamespace):
        def leave(self, **found: Any) -> None:
            pass

    host = Host(
        end="client", folder=tmp_path, own="127.0.0.1", other="127.0.0.1", port=0, duration_ns=0,
        warmup_ns=0, arguments={"receives": 2, "payload": 8},
        begin=lambda: None, now=lambda: 1, sleep_until=lambda at: None,
    )  # fmt: skip
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        host.port = free.getsockname()[1]
    before = threading.active_count()
    datagrams.client(host)  # type: ignore[arg-type]
    assert threading.active_count() == before


class Torrent:
    """libtorrent as one peer sees it: what came, and counts, at each look."""

    __version__ = "2.0"
    torrent_flags = SimpleNamespace(paused=1, auto_managed=2, seed_mode=4)
    torrent_status = SimpleNamespace(downloading=3, seeding=5)

    def __init__(self, came: list[int], counts: list[tuple[int, int]]) -> None:
        self.came, self.counts, self.done = came, counts, []

    def session(self, settings: Any) -> Any:
        self.settings = settings
        return self

    def add_torrent_params(self) -> Any:
        self.parameters = SimpleNamespace(flags=1 | 2 | 8)
        return self.parameters

    def torrent_info(self, about: Any) -> Any:
        return about

    def add_torrent(self, parameters: Any) -> Any:
        return self

    def status(self) -> Any:
        came = self.came.pop(0) if len(self.came) > 1 else self.came[0]
        return SimpleNamespace(state=5, total_payload_download=came)

    def find_metric_idx(self, name: str) -> int:
        return torrent._COUNTERS.index(name)

    def connect_peer(self, place: Any) -> None:
        self.done.append(place)

    def post_session_stats(self) -> None: ...

    def wait_for_alert(self, ms: int) -> None: ...

    def pop_alerts(self) -> list[Any]:
        values = self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]
        values = dict(zip(torrent._COUNTERS, values, strict=True))
        return [type("session_stats_alert", (), {"values": values})()]

    def pause(self) -> None:
        self.done.append("paused")


@pytest.mark.parametrize(
    ("sends", "more", "left"),
    [
        # A look every 20 ms; the warm-up is over after 50 ms. What came before it is no part of the period.
        (False, {}, {"received": 900, "before": 200, "resent": 4, "timeouts": 2, "ended_ns": 80 * MS}),
        (True, {"stop_ns": 60 * MS}, {"began_ns": 0, "resent": 3, "timeouts": 1, "ended_ns": 60 * MS}),
        (True, {}, {"began_ns": 0, "resent": 4, "timeouts": 2, "ended_ns": None}),
    ],
)
def test_a_torrent_is_counted_since_the_warm_up_and_ends_when_it_is_whole_or_stopped(
    sends: bool, more: dict[str, int], left: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first status is that of the torrent when it is added.
    library = Torrent([0, 100, 200, 500, 900], [(10, 5), (11, 5), (14, 6), (15, 7)])
    monkeypatch.setitem(sys.modules, "libtorrent", library)  # type: ignore[arg-type]
    now = [0]
    found: dict[str, Any] = {}
    host: Any = SimpleNamespace(
        arguments={"sends": sends, "size": 900, "start_ns": 0, "stop_ns": None, "target_ms": 9, **more},
        folder=tmp_path, end="client", own="a", other="b", port=7, begin=lambda: None, now=lambda: now[0],
        sleep_until=lambda at: now.__setitem__(0, max(now[0], at)), leave=lambda **told: found.update(told),
        duration_ns=100 * MS, warmup_ns=50 * MS,
    )  # fmt: skip
    torrent.client(host)
    assert {key: found[key] for key in left} == left and found["version"] == "2.0"
    assert library.done == [*([("b", 7)] if sends else []), "paused"]
    # Started at once; the sender knows that it has everything.
    assert library.parameters.flags == 8 | (4 if sends else 0)
    blanks = tmp_path / "client" / "blanks"
    assert (blanks.stat().st_size if sends else blanks.exists()) == (900 if sends else False)


class Tab:
    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    async def goto(self, url: str, **_: Any) -> None:
        self.browser.asked.append(url)
        if self.browser.stuck(len(self.browser.asked)):
            await asyncio.sleep(60)

    async def evaluate(self, script: str) -> dict[str, float]:
        return {"from": 12.5, "to": 112.75, "parts": 4}


class Browser:
    def __init__(self, stuck: Callable[[int], bool]) -> None:
        self.stuck, self.asked, self.closed, self.scripts = stuck, [], 0, []

    async def new_context(self) -> Any:
        return SimpleNamespace(add_init_script=self.added, new_page=self.opened, close=self.shut)

    async def added(self, script: str) -> None:
        self.scripts.append(script)

    async def opened(self) -> Tab:
        return Tab(self)

    async def shut(self) -> None:
        self.closed += 1


def test_a_visit_is_as_long_as_the_browser_says_and_is_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds < 60:
            slept.append(seconds)
        await real(0 if seconds < 60 else seconds)

    monkeypatch.setattr(browser.asyncio, "sleep", sleep)
    seen = Browser(lambda visit: visit == 2)
    rows: list[dict[str, Any]] = []
    host: Any = SimpleNamespace(other="o", port=7, arguments={"patience_ns": 30 * MS}, now=lambda: 9)
    visits = {"start_ns": 0, "loads": [(3, 500 * MS), (1, 700 * MS), (3, 900 * MS)]}
    asyncio.run(browser._browse(host, seen, 6, visits, rows))
    whole = {"user": 6, "page": 3, "start_ns": 9, "fate": "complete", "plt_ns": 100_250_000, "parts": 4}
    gone = {"user": 6, "page": 1, "start_ns": 9, "fate": "abandoned", "plt_ns": 30 * MS}
    assert rows == [whole, gone, whole]
    assert seen.asked == ["http://o:7/3", "http://o:7/1", "http://o:7/3"]
    # Who gave a page up goes on at once; a browser forgets each visit.
    assert slept == [0.5, 0.9] and seen.closed == 3 == len(seen.scripts)


class Connection:
    def __init__(self, name: int, done: list[str]) -> None:
        self.name, self.done = name, done

    async def get(self, size: int) -> Any:
        self.done.append(f"{self.name} gets {size}")
        for came in (0, size // 2, size):
            yield came

    def abort(self) -> None:
        self.done.append(f"{self.name} aborted")

    def close(self) -> None:
        self.done.append(f"{self.name} closed")


def test_a_viewer_fetches_what_the_player_says_and_anew_what_it_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    opened = iter(range(1, 9))
    told: list[tuple[Any, ...]] = []
    now = [1_000 * MS]
    steps = [(0, 1, 100), 0.25, (1, 2, 200), None]

    class Viewing:
        start_s, user = 0.5, 4

        def next(self, now_s: float) -> Any:
            return steps.pop(0)

        def progress(self, first_s: float, now_s: float, came: int) -> Any:
            told.append((first_s, now_s, came))
            return (1, 0, 50) if came == 100 and len(told) > 4 else None

        def arrived(self, first_s: float, now_s: float) -> None:
            told.append(("arrived", first_s, now_s))

        def segments(self) -> Any:
            return {name: np.array([1, 2]) for name in (*adaptive._COLUMNS, *adaptive._TIMES)}

        def playback(self, now_s: float) -> Any:
            return now_s, [[1, 2]]

        def clip(self) -> Any:
            return 4.0, None, [1, 2, 3]

    def tick() -> int:
        now[0] += 10 * MS
        return now[0]

    async def open_connection(*asked: Any) -> Connection:
        assert asked == ("socket", ("o", 7), 300)
        return Connection(next(opened), done)

    async def sleep_until(host: Any, at_ns: int) -> None:
        done.append(f"until {at_ns}")

    monkeypatch.setattr(adaptive, "open_connection", open_connection)
    monkeypatch.setattr(
        adaptive, "ends", SimpleNamespace(socket_of=lambda _: "socket", sleep_until=sleep_until)
    )
    host: Any = SimpleNamespace(other="o", port=7, arguments={"request": 300}, now=tick)
    viewer = adaptive._Viewer(host, Viewing())
    assert viewer.left() is None
    asyncio.run(viewer.watch())
    assert done == [
        "until 500000000", "1 gets 100", "1 gets 200", "1 aborted", "2 gets 50", "2 closed",
    ]  # fmt: skip
    # Times are since the connection stood, the first of them when the header came.
    assert told[:4] == [(0.02, 0.02, 0), (0.02, 0.03, 50), (0.02, 0.04, 100), ("arrived", 0.02, 0.05)]
    left = viewer.left() or {}
    assert (left["user"], left["begun_ns"], left["segments"], left["segment_s"]) == (4, 1_020 * MS, 3, 4.0)
    assert left["stalls"] == [[1, 2]] and left["played_s"] == pytest.approx((now[0] - 1_020 * MS) / 1e9)
    assert left["opened_ns"] == 1_010 * MS
    assert left["rows"].keys() == {*adaptive._COLUMNS, *adaptive._TIMES}


def test_pages_of_readers_have_the_port_and_repairs_of_their_own_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    class Page(Connection):
        def __init__(self, name: int) -> None:
            super().__init__(name, [])
            self.port, self.watched = 5000 + name, SimpleNamespace(retransmits=name, repair_ns=10 * name)

        def look(self) -> None:
            looked.append(self.name)

    opened = iter((1, None, 3))
    slept: list[float] = []

    async def open_connection(*_: Any) -> Page:
        if (number := next(opened)) is None:
            raise OSError("no route")
        return Page(number)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(web, "open_connection", open_connection)
    monkeypatch.setattr(web.asyncio, "sleep", sleep)
    monkeypatch.setattr(web.ends, "socket_of", lambda host: None)
    host: Any = SimpleNamespace(
        other="o", port=7, now=clock(10, 20, 30, 31, 50, 75, 99),
        arguments={"request": 9, "objects": [4, 2], "pause_ns": 1500 * MS},
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(web._read(host, 2, 0, rows))
    ok = {"user": 2, "complete": True}
    assert rows == [
        {**ok, "start_ns": 20, "plt_ns": 10, "port": 5001, "retransmits": 1, "repair_ns": 10},
        {**ok, "start_ns": 31, "plt_ns": 19, "complete": False, "port": 0, "failed": "no route"},
        {**ok, "start_ns": 75, "plt_ns": 24, "port": 5003, "retransmits": 3, "repair_ns": 30},
    ]
    assert slept == [1.5, 0.1, 1.5] and looked == [1, 3]
