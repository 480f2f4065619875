"""An axis whose values all make the same runs is no finding: it is refused, or said where --set made it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study import Study, idle
from sojourn.sweep import Campaign

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
QUEUES = '"path.queue" = [{ kind = "fifo", limit = "5pkt" }, { kind = "codel" }]'


def study(sweep: str, down: str = OWN, up: str = OWN, sets: tuple[tuple[str, str], ...] = ()) -> Study:
    text = STUDY.format(down=down, up=up, sweep=sweep, transport="cubic")
    return Study(_core.parse(text, "s.toml", list(sets), []), "s.toml", sets, Path())


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
    points = study(sweep, down, up).points
    assert idle.axes(points) == found


def test_what_replications_differ_by_is_not_the_axis() -> None:
    assert idle.axes(study(QUEUES, sets=(("repeat", "3"),)).points) == [("path.queue", 2)]


def test_the_reason_is_told_where_it_is_known() -> None:
    assert idle.sentence("path.queue.limit", 3).endswith("same runs, since every link has a queue of its own")
    assert idle.sentence("path.down.rate", 3) == "sweep.path.down.rate: its 3 values make the same runs"


def test_it_is_refused_in_a_file_and_said_of_a_set(sojourn: Command) -> None:
    (sojourn.cwd / "s.toml").write_text(STUDY.format(down=OWN, up="", sweep=QUEUES, transport="cubic"))
    sojourn("run", "s.toml", "--jobs", 1)
    # What the caller set for this once is run, and told what it does to the axis.
    queue = '{ kind = "fifo", limit = "7pkt" }'
    said = sojourn("run", "s.toml", "--jobs", 1, "--set", f"path.up.queue={queue}", "--out", "set").stderr
    assert "sweep.path.queue: its 2 values make the same runs, since every link has a queue" in said
    (sojourn.cwd / "s.toml").write_text(STUDY.format(down=OWN, up=OWN, sweep=QUEUES, transport="cubic"))
    refused = sojourn("run", "s.toml", "--out", "none", code=2).stderr
    assert refused.count("\n") == 1 and "leave the axis out, or what it should change" in refused
    assert not (sojourn.cwd / "none").exists()


def test_results_that_there_are_stay_readable(tmp_path: Path) -> None:
    with pytest.raises(SojournError, match=r"s\.toml: sweep\.path\.queue: its 2 values make the same runs"):
        Campaign(study(QUEUES), tmp_path / "out")
    assert len(study(QUEUES).points) == 2
