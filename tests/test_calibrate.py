"""How many sessions make a load: the interval, and the search."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sojourn.cli import calibrate as cli
from sojourn.errors import SojournError
from sojourn.results.interval import half_width
from sojourn.study import Study
from sojourn.sweep import calibrate
from sojourn.sweep.calibrate import Calibration, Trial
from sojourn.sweep.workers import Workers


@dataclass
class Named:
    """Stands for a study whose sessions each offer 10 kbit/s of 1 Mbit/s, less in some replications."""

    spread: tuple[float, ...] = (0.0,)
    name: str = "named"
    workload: str | None = None
    direction: str = "down"
    rate_bps: int = 1_000_000
    shares: list[int] = field(default_factory=lambda: [1])
    tried: list[int] = field(default_factory=list)

    @property
    def study(self) -> Any:
        return self

    def points(self, count: int, replications: int, duration: str | None) -> list[Any]:
        self.tried.append(count)
        return [count * 10_000 * (1 + self.spread[i % len(self.spread)]) for i in range(replications)]


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(calibrate, "offered_bps", lambda bps, direction: float(bps))
    with ThreadPoolExecutor(2) as pool:
        yield Workers(pool)


def test_the_interval_of_two_known_loads(workers: Any) -> None:
    trial = calibrate._measure(Named((-0.2, 0.2)), 50, workers, 2, None)
    # Loads of 0.4 and 0.6: s.d. of the mean 0.1, and Student's t of one degree of freedom is 12.706.
    assert (trial.count, trial.load) == (50, pytest.approx(0.5))
    assert trial.half_width == pytest.approx(1.2706, abs=1e-4)
    assert trial.interval == (0.0, pytest.approx(1.7706, abs=1e-4))
    three = calibrate._measure(Named((-0.2, 0.0, 0.2)), 50, workers, 3, None)
    assert three.half_width == pytest.approx(4.30265 * 0.1 / 3**0.5, abs=1e-5)
    assert calibrate._measure(Named(), 50, workers, 1, None) == Trial(50, 0.5, None)


def test_intervals_by_the_table() -> None:
    assert half_width([1.0]) is None and half_width([]) is None
    for n, quantile in ((2, 12.706), (5, 2.776), (11, 2.228), (31, 2.042)):
        values = [float(i % 2) for i in range(n)]
        mean = sum(values) / n
        deviation = (sum((value - mean) ** 2 for value in values) / (n - 1)) ** 0.5
        assert half_width(values) == pytest.approx(quantile * deviation / n**0.5, rel=2e-4)
    assert half_width([1.0, 2.0], 0.99) == pytest.approx(63.657 / 2, rel=1e-4)


def test_the_search_comes_to_the_count_that_offers_the_load(workers: Any) -> None:
    scale: Any = Named()
    found = list(calibrate.calibrate(scale, 0.96, workers, replications=2))
    made = found[-1]
    assert isinstance(made, Calibration) and (made.count, made.load) == (96, pytest.approx(0.96))
    assert [trial.count for trial in found[:-1]] == scale.tried == [1, 96]
    assert made.trials == found[:-1] and made.target == 0.96


def test_the_line_through_two_trials_is_followed_unless_they_tell_nothing_but_noise() -> None:
    def following(*trials: tuple[int, float]) -> int:
        return calibrate._next_count([Trial(count, load, 0.0) for count, load in trials], 0.9, 1)

    assert following((100, 0.5)) == 180
    assert following((50, 0.3), (100, 0.5)) == 200  # 0.004 for each session, not 0.005
    # Falling, flat, four times as steep: the mean of the nearer one.
    assert [following((100, 0.5), near) for near in ((101, 0.49), (101, 0.5), (101, 0.52))] == [180, 180, 175]
    assert following((10, 9.0)) == 1


def test_a_simulation_that_fails_is_said(workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "offered_bps", lambda bps, direction: "RuntimeError: no")
    with pytest.raises(SojournError, match="the simulation of 7 sessions failed: RuntimeError: no"):
        calibrate._measure(Named(), 7, workers, 2, None)


def test_sessions_are_shared_out_in_proportion() -> None:
    assert calibrate.shared(10, [1, 4]) == [2, 8]
    assert calibrate.shared(2, [1, 100]) == [1, 2]  # none is left empty
    assert calibrate.shared(7, [1, 1, 1]) == [2, 3, 2]


def test_a_trial_has_its_number_of_sessions_and_not_the_studys() -> None:
    scale = calibrate.Scale(Study.load("flows-pareto15"), workload="low", direction="down")
    for count in (3, 5000):  # the study has some hundreds
        [point] = scale.points(count, 1, None)
        flows = point["document"]["flows"]
        assert sum(flow["count"] for flow in flows if flow["source"]["kind"] == "sessions") == count


def test_a_load_that_ships_is_no_workload_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(
        'name = "house"\nduration = "9s"\nworkload = "household-evening"\n[path]\nrtt = "20ms"\n'
        'down = { rate = "9Mbit" }\nup = { rate = "9Mbit" }\nqueue = { kind = "codel" }\n'
    )
    study = Study.load(tmp_path / "house.toml")
    with pytest.raises(SojournError, match=r"has no sessions in the direction down$"):
        calibrate.Scale(study, workload=None, direction="down")
    for name in ("e", "household-evening"):
        with pytest.raises(SojournError, match=rf"^--workload {name}: .* no such workload; it has none$"):
            calibrate.Scale(study, workload=name, direction="down")


@pytest.mark.parametrize(("text", "share"), [("96%", 0.96), ("0.96", 0.96), (" .5 ", 0.5), ("150 %", 1.5)])
def test_loads_are_read(text: str, share: float) -> None:
    assert calibrate.load_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "0", "-5%", "21", "much", "96%%"])
def test_bad_loads_are_said(text: str) -> None:
    with pytest.raises(SojournError, match="rate, above 0 and at most 2000 %, as "):
        calibrate.load_share(text)


def found(count: int, load: float, interval: tuple[float, float] | None, target: float) -> Calibration:
    return Calibration("s", None, "down", target, 8_000_000, count, load, interval, [])


def test_what_is_found_is_said_with_how_sure_it_is() -> None:
    said = [
        cli._said(found(19, 0.945, (0.52, 1.37), 0.96), "downlink"),
        cli._said(found(1, 0.088, None, 0.00001), "home uplink"),
    ]
    assert said == [
        "19 sessions offer 94.5 % of the downlink (95 % interval 52.0 % to 137.0 %; wanted: 96.0 %)",
        "1 session offers 8.8 % of the home uplink (of one replication; wanted: 0.001 %)",
    ]


def test_what_the_number_of_sessions_does_not_tell_is_said() -> None:
    one, three = "one session is the least", "3 sessions, one of each entry, are the least"
    for calibration, least, says in (
        (found(19, 0.945, (0.52, 1.37), 0.96), 1, []),
        (found(1, 0.088, (0.08, 0.09), 0.01), 1, [f"{one} there is, and more than was wanted"]),
        (found(3, 0.088, None, 0.01), 3, [f"{three} there is, and more than was wanted"]),
        (found(1, 0.008, None, 0.01), 1, []),
        (found(9, 0.9, (0.89, 0.91), 0.96), 1, ["the load that was wanted is outside the interval: "]),
        (found(29, 1.49, (1.4, 1.6), 1.5), 1, []),
        (found(21, 1.0, (0.9, 1.1), 1.0), 1, []),
    ):  # fmt: skip
        cautions = cli._cautions(calibration, least)
        assert len(cautions) == len(says)
        assert all(caution.startswith(words) for caution, words in zip(cautions, says, strict=True)), cautions


def test_that_no_link_carries_so_much_is_said_before_anything_is_simulated() -> None:
    for load, said_first in (("150%", True), ("50%", False)):
        command = [sys.executable, "-m", "sojourn", "calibrate", "imc14-quick", "--load", load]
        options = ["--workload", "short-few-download", "--replications", "1", "--duration", "12s"]
        ran = subprocess.run(command + options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert ran.returncode == 0, ran.stdout
        assert ran.stdout.startswith("sojourn: note: more than 100 % is offered only where ") is said_first
        assert ran.stdout.count("more than 100 %") == said_first


def test_rates_are_read() -> None:
    assert calibrate.rate_bps("8Mbit", "x") == 8_000_000
    assert calibrate.rate_bps("1.5kbit/s", "x") == 1500
    for bad in ("0Mbit", "8 Mbps", {"trace": "x"}):
        with pytest.raises(SojournError, match="x: expected a constant rate"):
            calibrate.rate_bps(bad, "x")
    with pytest.raises(SojournError, match="this one changes over time"):
        calibrate.rate_bps({"steps": [["0s", "2Mbit"]]}, "path.down.rate")
