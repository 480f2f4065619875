"""Tasks spread over workers that die, and where a suite ends: no process is started here."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn.cli import call
from sojourn.cli import suite as suite_verb
from sojourn.cli.exit import Exit
from sojourn.errors import SojournError
from sojourn.report import suite as report_suite
from sojourn.sweep import workers as places
from sojourn.sweep.workers import Workers, _knock, open_workers, spread


class Pool(Executor):
    """Does each task at once, or dies of it and of all that are given to it later."""

    def __init__(self, log: list[str], deadly: Callable[[int], bool]) -> None:
        self.log, self.deadly, self.broken, self.busy = log, deadly, False, 0

    def submit(self, work: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        if self.broken:
            raise BrokenExecutor
        self.log.append(f"task {arguments[0]}")
        found: Future[Any] = Future()
        if self.deadly(arguments[0]):
            self.broken = True
            found.set_exception(BrokenExecutor())
        else:
            try:
                found.set_result(work(*arguments))
            except ValueError as error:
                found.set_exception(error)
        return found


class Pools(Workers):
    """Workers whose pool is replaced when it broke."""

    def __init__(self, deadly: Callable[[int], bool], window: int = 3) -> None:
        self.log: list[str] = []
        self.deadly = deadly
        super().__init__(Pool(self.log, deadly), window)

    def replace(self) -> None:
        self.log.append("replaced")
        self.executor = Pool(self.log, self.deadly)


def half(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def came(workers: Workers, count: int) -> dict[str, Any]:
    tasks = [(f"t{n}", (n,)) for n in range(count)]
    return dict(spread(workers, half, tasks))


def test_every_task_comes_back_with_its_result_or_its_error() -> None:
    found = came(Pools(lambda _: False), 5)
    assert {name: found[name] for name in ("t0", "t2", "t4")} == {"t0": 0, "t2": 1, "t4": 2}
    assert [str(found[name]) for name in ("t1", "t3")] == ["1 is odd", "3 is odd"] and len(found) == 5
    assert came(Pools(lambda _: False), 0) == {}


def test_only_the_task_that_kills_its_process_fails() -> None:
    pools = Pools(lambda number: number == 2)
    found = came(pools, 7)
    assert str(found["t2"]) == "its process died (killed, or out of memory)"
    assert isinstance(found["t2"], SojournError)
    assert [found[f"t{n}"] for n in (0, 4, 6)] == [0, 2, 3] and len(found) == 7
    # At most three are under way; what was when a process died is tried again by itself, before all others.
    at = pools.log.index("replaced")
    assert pools.log[:at] == ["task 0", "task 1", "task 2"]
    assert pools.log[at + 1] == "task 2" and pools.log[at + 2] == "replaced"
    assert sorted(pools.log[at + 3 :]) == [f"task {n}" for n in (3, 4, 5, 6)]


def test_two_that_die_together_are_tried_one_by_one() -> None:
    pools = Pools(lambda number: number in (1, 2), window=9)
    found = came(pools, 4)
    died = [name for name, of in found.items() if "its process died" in str(of)]
    assert sorted(died) == ["t1", "t2"] and found["t0"] == 0 and str(found["t3"]) == "3 is odd"
    # A pool that broke under one is asked for no second: each death costs one pool, and none is left broken.
    assert pools.log.count("replaced") >= 2 and not pools.executor.broken


def test_no_more_are_under_way_than_there_is_room_for_and_suspects_are_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    under_way: list[int] = []
    tasks: dict[Future[Any], int] = {}

    def submit(work: Any, number: int) -> Future[Any]:
        found: Future[Any] = Future()
        tasks[found] = number
        return found

    def wait(running: dict[Future[Any], Any], **_: Any) -> Any:
        """One that dies takes all with it that are under way."""
        left = [each for each in running if not each.done()]
        under_way.extend([len(left)] if left else [])
        dies = any(tasks[each] in (1, 3) for each in left)
        for each in left:
            each.set_exception(BrokenExecutor()) if dies else each.set_result(tasks[each])
        return SimpleNamespace(done=list(running))

    monkeypatch.setattr(places, "wait", wait)
    pools = Pools(lambda _: False, window=4)
    monkeypatch.setattr(Pool, "submit", lambda _, work, number: submit(work, number))
    found = came(pools, 7)
    assert [name for name, of in found.items() if "its process died" in str(of)] == ["t1", "t3"]
    assert {name: of for name, of in found.items() if isinstance(of, int)} == {
        f"t{n}": n for n in (0, 2, 4, 5, 6)
    }
    assert under_way == [4, 1, 1, 1, 1, 3]


def test_an_executor_of_somebody_else_is_neither_ended_nor_replaced() -> None:
    log: list[str] = []
    theirs = Pool(log, lambda _: True)
    with pytest.raises(SojournError, match="the executor broke since one of its workers died"):
        came(Workers(theirs), 1)
    with open_workers(executor=theirs, jobs=3, scheduler="tcp://nowhere:1") as used:
        assert used.executor is theirs and used.window == 1000


def test_workers_are_closed_when_all_went_well_and_else_ended_at_once() -> None:
    done: list[str] = []

    class Seen(Workers):
        def close(self) -> None:
            done.append("closed")

        def kill(self) -> None:
            done.append("killed")

    with Seen(None):  # type: ignore[arg-type]
        pass
    with pytest.raises(KeyError), Seen(None):  # type: ignore[arg-type]
        raise KeyError
    assert done == ["closed", "killed"]


def test_a_scheduler_is_knocked_at_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def connect(place: tuple[str, int], timeout: float) -> Any:
        asked.append(place)
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(socket, "create_connection", connect)
    for address in ("tcp://a:1/", "b:22", "tls://[::1]:333", "ws://c:4"):
        _knock(address)
    # Those of other protocols are left to Dask.
    assert asked == [("a", 1), ("b", 22), ("::1", 333)]


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places.os, "sched_getaffinity", lambda _: {1, 4, 6}, raising=False)
    assert places.cores() == 3
    monkeypatch.delattr(places.os, "sched_getaffinity")
    for count, used in ((5, 5), (None, 1)):
        monkeypatch.setattr(places.os, "cpu_count", lambda count=count: count)
        assert places.cores() == used


@pytest.mark.parametrize(
    ("failed", "broken", "code"),
    [(0, False, Exit.DONE), (2, False, Exit.FAILED), (0, True, Exit.FAILED), (1, True, Exit.FAILED)],
)
def test_a_suite_fails_with_a_run_or_with_a_check(
    failed: int,
    broken: bool,
    code: Exit,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    notes = [f"note {n}" for n in range(suite_verb._MOST_NOTES + 3)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        suite_verb, "Campaign", lambda study, out: SimpleNamespace(notes=notes, study=study, out=out)
    )
    monkeypatch.setattr(suite_verb, "_execute", lambda *_: failed)
    asked: list[Any] = []

    def write(*given: Any) -> Any:
        asked.append(given)
        return SimpleNamespace(broken=broken, lines=["one", "two"], told={})

    opened: list[Any] = []

    def opens(**options: Any) -> Workers:
        opened.append(options)
        return open_workers(**options)

    monkeypatch.setattr(suite_verb, "open_workers", opens)
    monkeypatch.setattr(report_suite, "write_suite", write)
    words = ["--case", "5.4", "--link", "1Mbit/10ms", "8Mbit/20ms", "--seeds", "2", "--jobs", "3"]
    assert call(["suite", "rfc7928", "--aqm", "codel", *words]) == code
    said = capsys.readouterr()
    assert said.out.splitlines() == ["one", "two"]
    assert said.err.splitlines() == [
        *(f"sojourn: note: {note}" for note in notes[: suite_verb._MOST_NOTES]),
        "sojourn: note: 3 more such notes, on other cases",
    ]
    _, _, everything, command, folder, submit = asked[0]
    assert [each.link.name for each in everything] == ["1Mbit/10ms", "8Mbit/20ms"]
    assert {tuple(scheme.name for scheme in each.schemes) for each in everything} == {("fifo", "codel")}
    assert opened == [{"jobs": 3}] and submit.__self__.window == 6
    assert folder == Path("results/suite-rfc7928")
    assert command == ("sojourn suite rfc7928 --aqm codel --case 5.4 --link 1Mbit/10ms 8Mbit/20ms --seeds 2")
