"""A command that is printed to be run again asks for what was asked for: read back, word for word."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn.capture import page
from sojourn.cli import application, measure, recommend, suite
from sojourn.report import suite as pages
from sojourn.report.explore.gathered import _command as command_of_cell
from sojourn.report.facts import reproduce
from sojourn.results import show
from sojourn.study import Study
from sojourn.sweep.advice import Question

AWKWARD = ("a b", "it's", "x=1,y=2", '{ kind = "pie", target = "5ms" }', "$HOME;#", "ü–—", "*")


def read_back(command: str) -> dict[str, Any]:
    """Return what the parser of the command line makes of a command."""
    first, *words = shlex.split(command)
    assert first == "sojourn"
    _, bound, _ = application().parse_args(words, exit_on_error=False, print_error=False)
    return {name: value for name, value in bound.arguments.items() if value is not None}


@pytest.mark.parametrize("given", [0, 255, *(1 << k for k in range(8)), *(255 - (1 << k) for k in range(8))])
def test_a_suite_again(given: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    wanted = {
        "aqm": ["fifo,codel", '{ kind = "pie", target = "5ms" }'], "link": ["1Mbit/100ms", "20Mbit/40ms"],
        "seeds": 4, "case": ["8.2", "6"], "knobs": True, "preset": "ns3-suite",
        "set": ["seed=7", "name=a b"], "out": Path("o p/q"),
    }  # fmt: skip
    asked = {name: value for bit, (name, value) in enumerate(wanted.items()) if given >> bit & 1}
    said = []
    monkeypatch.setattr(suite, "_execute", lambda *_: 0)
    written = SimpleNamespace(told={}, lines=[], broken=False)
    monkeypatch.setattr(pages, "write_suite", lambda *about: said.append(about[3]) or written)
    suite.suite("rfc7928", **{"seeds": 1, **asked})
    assert read_back(said[0]) == {"name": "rfc7928", "seeds": 1, **asked}


@pytest.mark.parametrize("precision", [0.1, 0.05, 0.25, 1.0])
@pytest.mark.parametrize("goals", [[], ["voice.mos.p5>=3.6", "bufferbloat-a"]])
@pytest.mark.parametrize("loads", [[], ["idle"], ["download", "both"]])
def test_an_advice_again(precision: float, goals: list[str], loads: list[str]) -> None:
    line = {"down": "16Mbit", "up": "1Mbit", "rtt": "40ms"}
    for users, candidates in itertools.product(("voice=1,web=2", "adaptive=3,voice=2"), (None, "pie,fifo")):
        asked = Question.read(
            **line, users=users, load=loads, candidates=candidates, precision=precision, goals=goals
        )
        found = read_back(recommend._command(asked, goals, loads, None))
        found |= {"goals": found.pop("goal", []), "load": found.get("load", [])}
        assert Question.read(**found) == asked
    assert read_back(recommend._command(asked, goals, loads, Path("a b.parquet")))["workload"] == Path(
        "a b.parquet"
    )


@pytest.mark.parametrize("word", AWKWARD)
def test_a_study_and_a_point_of_it_again(word: str) -> None:
    sets = (("name", word), ("path.down.queue.kind", "pie"))
    command = Study("{}", f"{word}.toml", sets).command
    asked = {"study": [Path(f"{word}.toml")], "set": [f"name={word}", "path.down.queue.kind=pie"]}
    assert read_back(command) == asked
    results: Any = SimpleNamespace(captured=False, record={"command": command})
    point = {"point": {"path.down.queue.limit": "64pkt", "users": word, "rtt": 20}, "replication": 3}
    only = ["path.down.queue.limit=64pkt", f"users={word}", "rtt=20", "replication=3"]
    assert read_back(show.reproduce(results, point)) == {**asked, "only": only, "out": Path("reproduced")}
    assert read_back(command_of_cell(command, (("users", word), ("rtt", "20")))) == {
        **asked, "only": only[1:3],
    }  # fmt: skip
    for out in ("results/n", f"else/{word}"):
        record = {"command": command, "out": out}
        found: Any = SimpleNamespace(captured=False, record=record, name="n")
        _, (run, report) = reproduce(found, [])
        assert read_back(run) == (asked if out == "results/n" else {**asked, "out": Path(out)})
        assert read_back(report) == {"results": (Path(out),)}
    bare: Any = SimpleNamespace(captured=False, record={}, name=word)
    assert read_back(reproduce(bare, [])[1][0]) == {"study": [Path(f"{word}.toml")]}


@pytest.mark.parametrize("given", range(8))
def test_a_measurement_again(given: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    wanted = {
        "min_samples": 7, "estimator": "reported", "local": ["10.0.0.0/8", "fd00::/9"],
        "filter": "tcp port 80", "from_": 1.25, "to": 1234567.875,
    }  # fmt: skip
    said = []
    monkeypatch.setattr(page, "write_page", lambda *about: said.append(about[-1]))
    summary: dict[str, Any] = {
        "damage": [],
        "skipped": {},
        "left_out_by_request": 0,
        "hosts": [],
        "packets": 0,
    }
    summary |= {"packets_between_local_hosts": 0, "hosts_below_min_samples": 0}
    monkeypatch.setattr("sojourn.capture.measure", lambda *_, **__: summary)
    asked = {k: v for n, (k, v) in enumerate(wanted.items()) if given in (n, 7)}
    measure.measure(Path("a b.pcap"), report=Path("x y.html"), **asked)
    assert read_back(said[0]) == {"captures": (Path("a b.pcap"),), "report": Path("x y.html"), **asked}
