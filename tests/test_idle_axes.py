"""An axis whose values all make the same runs is no finding, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command
from sojourn import _core
from sojourn.study import Study, idle

STUDY = """
name = "idle"
duration = "1s"
[path]
rtt = "20ms"
down = {{ rate = "2Mbit"{down} }}
up = {{ rate = "1Mbit"{up} }}
[[flows]]
source = {{ kind = "bulk" }}
transport = "{transport}"
direction = "down"
[sweep]
{sweep}
"""
OWN = ', queue = { kind = "fifo", limit = "9pkt" }'
SENTENCE = "sweep.path.queue: its 2 values make the same runs, since every link has a queue of its own"
QUEUES = '"path.queue" = [{ kind = "fifo", limit = "5pkt" }, { kind = "codel" }]'


def study(sweep: str, down: str = OWN, up: str = OWN, sets: tuple[tuple[str, str], ...] = ()) -> Study:
    text = STUDY.format(down=down, up=up, sweep=sweep, transport="cubic")
    return Study(_core.parse(text, "s.toml", list(sets), []), "s.toml", sets, Path())


def said(study: Study) -> list[str]:
    return idle.said((point.labels, point.replication, point.hash) for point in study.points)


@pytest.mark.parametrize(
    ("sweep", "down", "up", "found"),
    [
        (QUEUES, OWN, OWN, [("path.queue", 2)]),
        # One link without a queue of its own is enough for it to count.
        (QUEUES, OWN, "", []),
        (QUEUES, "", "", []),
        # One value names what all have.
        ('"path.queue" = [{ kind = "codel" }]', OWN, OWN, []),
        # Beside another axis, which counts; and both.
        (f'{QUEUES}\n"path.down.rate" = ["1Mbit", "2Mbit"]', OWN, OWN, [("path.queue", 2)]),
        (f'{QUEUES}\n"path.up.rate" = ["1Mbit", "1000kbit"]', OWN, OWN,
         [("path.queue", 2), ("path.up.rate", 2)]),
        # Two values of three that are one rate stand for two runs.
        ('"path.down.rate" = ["1Mbit", "1000kbit", "2Mbit"]', OWN, OWN, []),
        ('"path.down.rate" = ["1Mbit", "1000kbit"]', OWN, OWN, [("path.down.rate", 2)]),
        ("", OWN, OWN, []),
    ],
)  # fmt: skip
def test_an_axis_is_idle_if_none_of_its_values_makes_another_run(
    sweep: str, down: str, up: str, found: list[tuple[str, int]]
) -> None:
    assert said(study(sweep, down, up)) == [idle.sentence(*each) for each in found]


def test_what_replications_differ_by_is_not_the_axis() -> None:
    assert said(study(QUEUES, sets=(("repeat", "3"),))) == [idle.sentence("path.queue", 2)]


def test_times_of_reading_that_nothing_waits_for_are_said_to_change_nothing() -> None:
    swept = '"path.reading" = ["0us", "29us", "1ms"]'
    plain = study(swept)
    why = 'sweep.path.reading: its values make the same runs, since no flow or user has stack = "linux"'
    assert idle.unread({"path.reading": "1ms"}, plain.document) == [why] and not said(plain)
    assert not idle.unread({"path.down.rate": "1Mbit"}, plain.document)
    assert not idle.unread({"path.reading": "1ms"}, plain.document | {"workload": "household-evening"})
    # A queue may be Linux's variant of its kind, too, and waits for nobody.
    kinds = study(f'{swept}\n"path.queue" = [{{ kind = "codel", variant = "linux" }}]', "", "")
    assert idle.unread({"path.reading": "1ms"}, kinds.document) == [why]
    waits = study(f'{swept}\n"flows.0.stack" = ["linux"]')
    assert not idle.unread({"path.reading": "1ms"}, waits.document)


def test_the_reason_is_told_where_it_is_known() -> None:
    assert idle.sentence("path.queue.limit", 3).endswith("same runs, since every link has a queue of its own")
    assert idle.sentence("path.down.rate", 3) == "sweep.path.down.rate: its 3 values make the same runs"


def test_it_is_said_before_anything_runs(sojourn: Command) -> None:
    (sojourn.cwd / "s.toml").write_text(STUDY.format(down=OWN, up="", sweep=QUEUES, transport="cubic"))
    assert "same runs" not in sojourn("run", "s.toml", "--jobs", 1).stderr
    queue = '{ kind = "fifo", limit = "7pkt" }'
    told = sojourn("run", "s.toml", "--jobs", 1, "--set", f"path.up.queue={queue}", "--out", "set").stderr
    assert SENTENCE in told
    (sojourn.cwd / "s.toml").write_text(STUDY.format(down=OWN, up=OWN, sweep=QUEUES, transport="cubic"))
    # Of all points of the study, whichever of them are asked for; and again, when nothing is left to run.
    for only in (["--only", "path.queue=codel"], [], []):
        assert "its 2 values make the same runs" in sojourn("run", "s.toml", "--jobs", 1, *only).stderr
    sojourn("report", "results/idle", svg_only=True)
    page = " ".join((sojourn.cwd / "results/idle/report.html").read_text().split())
    assert (
        "sweep.path.queue: its 2 values make the same runs, since every link has a queue of its own." in page
    )
