"""Hold simulated video calls against Chromium's own WebRTC: ``python -m tools.validation.calls``.

Each scene of `calls.toml` is simulated several times with different seeds and held between two Chromiums over
the testbed. The bounds below were written before any call of Chromium was seen. What was run is kept, so that
the command goes on where it was interrupted. It prints a table; the exit code is 1 if a bound is not kept,
and 0 with a sentence if this machine cannot have a testbed.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from sojourn.errors import SojournError
from sojourn.results import open_results
from sojourn.study import Study
from sojourn.sweep import Campaign

from tools.validation.testbed import Bound, numbers, run, simulations

STUDY = Path(__file__).with_name("calls.toml")
SEEDS = 512
"""Simulations of a scene: means of 64 scatter by 0.004 in the share of time frozen; 0.02 are allowed."""

_QUEUES = {
    "FIFO": '{ kind = "fifo", limit = "300ms" }',
    "CoDel": '{ kind = "codel" }',
    "FQ-CoDel": '{ kind = "fq-codel" }',
}
_ALONE = ("flows", "[]")

SCENES: dict[str, tuple[tuple[str, str], ...]] = {
    "alone": (_ALONE,),
    "to half and back": (
        _ALONE,
        ("path.down.rate", '{ steps = [["0s", "2Mbit"], ["30s", "1Mbit"], ["45s", "2Mbit"]] }'),
    ),
    **{f"{loss} % of path loss": (_ALONE, ("path.down.loss", f"{loss / 100}")) for loss in (2, 5)},
    **{
        f"{count} CUBIC, {name}": (("flows.0.count", str(count)), ("path.down.queue", queue))
        for count in (1, 4)
        for name, queue in _QUEUES.items()
    },
}
"""What is set in the study for each scene."""

BOUNDS = (
    Bound("call.receives.rate_kbps.mean", "kbit/s", share=0.25),
    # A fiftieth of 40 s is 0.8 s: four of the shortest freezes that there are.
    Bound("call.receives.frozen", "frozen", share=0.25, amount=0.02),
    # Of 40 s: one freeze more or less is 1.5 a minute.
    Bound("call.receives.freezes_per_min", "freezes/min", share=0.25, amount=3.0),
)
SEEN = ("call.receives.delay_ms.median", "call.receives.fps", "call.receives.height.median")
"""What is printed beside, without a bound."""


@dataclass(frozen=True)
class Row:
    """One number of one scene; `keeps` is None where nothing is said."""

    scene: str
    path: str
    simulated: tuple[float, ...]
    real: tuple[float, ...]
    keeps: bool | None
    beds: str

    @property
    def text(self) -> str:
        """Write it as a line of a table."""
        verdict = {True: "agrees", False: "DIFFERS", None: ""}[self.keeps]
        if self.keeps is False and min(self.simulated) <= mean(self.real) <= max(self.simulated):
            verdict += ", but within the simulations' range"
        ours = f"{mean(self.simulated):8.4g} ({min(self.simulated):.4g} to {max(self.simulated):.4g})"
        theirs = f"{mean(self.real):8.4g} ({', '.join(f'{one:.4g}' for one in self.real)})"
        name = self.path.removeprefix("call.receives.")
        return f"{self.scene:18} {name:18} {ours:32} {theirs:32} {verdict}{self.beds}"


def rows(scene: str, simulated: list[Mapping[str, Any]], real: list[Mapping[str, Any]]) -> Iterator[Row]:
    """Hold the calls of a scene against simulated ones."""
    missed = sum(not one["engine"]["verdict"]["held"] for one in real)
    beds = f"; {missed} of {len(real)} beds did not hold" if missed else ""
    for path in (*(bound.path for bound in BOUNDS), *SEEN):
        ours, theirs = (numbers(results, path) for results in (simulated, real))
        if ours and theirs:
            bound = next((bound for bound in BOUNDS if bound.path == path), None)
            keeps = None if bound is None else bound.keeps(mean(ours), mean(theirs))
            yield Row(scene, path, ours, theirs, keeps, beds if bound else "")


def main() -> int:
    """Run what is missing, and print the agreement."""
    parser = argparse.ArgumentParser(prog="python -m tools.validation.calls", description=__doc__)
    parser.add_argument("--results", default="results/validation/calls", type=Path)
    parser.add_argument("--jobs", type=int, help="processes that simulate; by default one for each core")
    parser.add_argument("--only", action="append", default=[], help="a scene, as 'alone' or '4 CUBIC, CoDel'")
    parser.add_argument("--calls", type=int, default=1, help="calls of Chromium in each scene")
    told = parser.parse_args()
    if told.calls < 1:
        raise SojournError(f"--calls {told.calls}: expected 1 or more")
    if unknown := [scene for scene in told.only if scene not in SCENES]:
        raise SojournError(f"--only {unknown[0]!r}: expected one of {', '.join(SCENES)}")
    found: list[Row] = []
    for scene in told.only or SCENES:
        folder = told.results / scene.replace(" ", "-").replace("%", "percent").replace(",", "")
        sets = list(SCENES[scene])
        run(Campaign(Study.load(STUDY, [*sets, *simulations(SEEDS)]), folder / "simulated"), told.jobs)
        calls = Study.load(STUDY, [*sets, ("repeat", str(told.calls))])
        if why := run(Campaign(calls, folder / "real", on_testbed=True), 1):
            print(f"there is no testbed on this machine: {why}")
            return 0
        came = list(rows(scene, *(list(open_results(folder / which)) for which in ("simulated", "real"))))
        print("\n".join(row.text for row in came), flush=True)
        found += came
    judged = [row for row in found if row.keeps is not None]
    print(f"simulated and real agree: {sum(bool(row.keeps) for row in judged)} of {len(judged)}")
    return int(any(row.keeps is False for row in judged))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SojournError as error:
        print(f"tools.validation.calls: {error}", file=sys.stderr)
        sys.exit(2)
