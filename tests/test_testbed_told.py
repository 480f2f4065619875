"""What the emulator is told of a testbed's programs, and what becomes of what they left; no bed is needed."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn.study import Point
from sojourn.study.identity import engine
from sojourn.sweep import testbed
from sojourn.sweep.simulation import Done, Failed
from sojourn.sweep.testbed import bed, series
from sojourn.sweep.testbed import point as on_bed
from sojourn.sweep.testbed.host import GRACE_S, told_when_over
from sojourn.sweep.testbed.program import Program, Settings

MS = 1_000_000


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """Return what runs two programs of one entry and one of another, and tells what the emulator was told."""

    def run(duration: str = "90s", warmup: str = "20s", *bare: bool) -> tuple[Any, dict[str, Any]]:
        programs = [
            Program(
                "bulk",
                "flows.0.0",
                {"a": 1},
                {"b": 2},
                Settings("cubic", 4, delay_ns=7, options=((1, 2, 3),)),
            ),
            Program("bulk", "flows.0.1", files={"clip": b"bytes"}),
            Program("web", "users.0", settings=Settings(variables={"net.x": "1"})),
        ]
        entries: Any = [SimpleNamespace(programs=programs[:2]), SimpleNamespace(programs=programs[2:])]
        seen: dict[str, Any] = {}

        def emulated(point: Any, options: Any, **more: Any) -> dict[str, Any]:
            plan = Path(options.command[3])
            seen.update(point=point, options=options, more=more, plan=json.loads(plan.read_text()), file=plan)
            for program in seen["plan"]["programs"]:
                room = Path(program["folder"])
                seen.setdefault("rooms", {})[program["key"]] = {
                    file.name: file.read_bytes() for file in room.iterdir()
                }
                for end in ("client", "server"):
                    (room / f"{end}.json").write_text(
                        json.dumps({"left": {end: program["key"]}, "failed": None})
                    )
            counts = {"256": {"sent": [1, 2], "dropped": [0, 1]}, "258": {"sent": [5, 6], "dropped": [3, 4]}}
            flows = [258, 256, 7, 257]
            return {"command": {"exit": 0}, "engine": {"pairs": counts, "pair_of_flow": flows}}

        monkeypatch.setattr(bed.session, "run", emulated)
        document = {"duration": duration, "warmup": warmup}
        point: Any = SimpleNamespace(document=document)
        with bed.running(point, entries, "log", *bare) as ran:  # type: ignore[arg-type]
            assert seen["file"].exists()
        assert seen["point"] is point and not seen["file"].parent.exists()
        return ran, seen

    return run


def test_the_agents_know_the_plan_and_the_emulator_its_addresses(told: Callable[..., Any]) -> None:
    _, seen = told()
    options, plan = seen["options"], seen["plan"]
    host = str(Path(testbed.__file__).with_name("host.py"))
    agent = [sys.executable, "-I", host, str(seen["file"])]
    assert options.command == (*agent, "client") and shlex.split(options.server) == [*agent, "server"]
    # Numbers are of the measured period; the programs have a minute to get ready, and time to end twice.
    assert options.measured_s == (20.0, 90.0) and options.duration_s == 60 + 90 + 5 * GRACE_S
    assert told("10s", "0s")[1]["options"].duration_s == 60 + 10 + 5 * GRACE_S
    assert options.offload and not told("10s", "0s", False)[1]["options"].offload
    metrics = {
        "congestion": "cubic",
        "initial_window": 4,
        "ecn": False,
        "quickack": False,
        "min_rto_ms": None,
    }
    assert options.pairs[0] == {"number": 256, "delay_ns": 7, "metrics": metrics}
    assert [pair["number"] for pair in options.pairs] == [256, 257, 258]
    variables = dict(options.variables)
    assert variables["net.x"] == "1" and variables["net.ipv4.tcp_ecn"] == "2"
    assert (plan["duration_ns"], plan["warmup_ns"]) == (90_000 * MS, 20_000 * MS)
    assert [program["pair"] for program in plan["programs"]] == [256, 257, 258]
    first = {key: value for key, value in plan["programs"][0].items() if key != "folder"}
    assert first == {
        "name": "bulk", "key": "flows.0.0", "pair": 256, "client": {"a": 1}, "server": {"b": 2},
        "congestion": "cubic", "options": [[1, 2, 3]],
    }  # fmt: skip
    assert seen["rooms"] == {"flows.0.0": {}, "flows.0.1": {"clip": b"bytes"}, "users.0": {}}
    more = seen["more"]
    ends = {plan["begin"], *plan["peers"].values()}
    assert len(ends) == 3 and set(more["inherited"]) == ends and more["begin"] not in ends
    assert more["log"] == "log" and more["stdout"] == more["stderr"]


def test_what_programs_left_is_by_entry_and_flows_are_those_of_their_addresses(
    told: Callable[..., Any],
) -> None:
    ran, _ = told()
    assert [[left.client["client"] for left in entry] for entry in ran.left] == [
        ["flows.0.0", "flows.0.1"], ["users.0"],
    ]  # fmt: skip
    assert [(left.sent, left.dropped) for entry in ran.left for left in entry] == [
        ((1, 2), (0, 1)), ((0, 0), (0, 0)), ((5, 6), (3, 4)),
    ]  # fmt: skip
    assert ran.left[1][0].server == {"server": "users.0"}
    assert ran.entry_of_flow == [1, 0, -1, 0]


def test_files_are_given_to_whom_sudo_runs_programs_as(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").touch()
    given: list[tuple[str, int, int]] = []
    monkeypatch.setattr(os, "chown", lambda place, uid, gid: given.append((Path(place).name, uid, gid)))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)
    bed._give_away(tmp_path)
    assert given == []
    monkeypatch.setenv("SUDO_UID", "7")
    bed._give_away(tmp_path)
    assert sorted(given) == sorted([(tmp_path.name, 7, -1), ("a", 7, -1), ("b", 7, -1)])
    monkeypatch.setenv("SUDO_GID", "8")
    bed._give_away(tmp_path)
    assert ("b", 7, 8) in given
    given.clear()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bed._give_away(tmp_path)
    assert given == []


@pytest.mark.parametrize(
    ("recorded", "log", "kept"),
    [({}, False, None), ({"losses": ["up"]}, False, False), ({"traffic": {}}, True, True),
     ({"series": True}, False, False), ({"series": False}, False, None), ({}, True, True)],
)  # fmt: skip
def test_a_log_is_written_where_something_is_read_from_it_and_kept_where_it_is_asked_for(
    recorded: dict[str, Any], log: bool, kept: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Point(study="s", replication=1, seed=3, labels={}, document={"record": recorded}, hash="b" * 32)
    given: list[bool] = []

    def measure(_: Point, packets: Any, offload: bool) -> Any:
        assert not offload
        given.append(packets is not None)
        if packets is not None:
            packets.write(b"log")
        held = {"held": len(given) == 2, "reasons": ["late", "cut"]}
        tables = {"queues": series.flows(1, ["g"], [])}
        return {**one.names, "links": {}, "engine": {"verdict": held, "build": engine()}}, tables, 2.5

    monkeypatch.setattr(on_bed, "measure", measure)
    done = on_bed.run_point(one, str(tmp_path), log, engine(), offload=False)
    assert isinstance(done, Done) and done.wall_s == 2.5 and given == [kept is not None] * 2
    assert (tmp_path / "packets" / f"{one.hash}.parquet").exists() == bool(kept)
    assert (tmp_path / "series" / f"{one.hash}.queues.parquet").exists()
    about = done.result["engine"]
    assert (about["attempts"], about["earlier"]) == (2, ["late; cut"])
    assert json.loads((tmp_path / "timings.jsonl").read_text())["wall_s"] == 2.5
    other = on_bed.run_point(one, str(tmp_path), log, "another")
    assert isinstance(other, Failed) and other.fatal and "another engine" in other.reason


def test_an_end_that_is_over_is_not_waited_for_while_the_emulator_holds_its_socket() -> None:
    here, there = socket.socketpair()
    with here, there, there.dup():
        with told_when_over(there):
            here.setblocking(False)
            with pytest.raises(BlockingIOError):
                here.recv(1)
        assert here.recv(1) == b""
        # Who is over later finds the other end gone, and that is no failure.
        with told_when_over(here):
            here.close()
