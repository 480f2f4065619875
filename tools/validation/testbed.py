"""Hold simulations against the testbed: ``python -m tools.validation.testbed``.

The study `testbed.toml` is simulated several times with different seeds, and run between real programs, once
or `--runs` times; for each cell the means are held against each other. A real run whose bed did not hold is
left out. The bounds below were written before any run was seen. What was run is kept, so that the command
goes on where it was interrupted. It prints a table and how much of it agrees; the exit code is 1 if a bound
is not kept, and 0 with a sentence if this machine cannot have a testbed.
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
from sojourn.results.path import look_up
from sojourn.study import Study, label_text, selection
from sojourn.study.grouped import grouped
from sojourn.sweep import Campaign
from sojourn.sweep.workers import open_workers

STUDY = Path(__file__).with_name("testbed.toml")
SEEDS = 64
"""Simulations of a cell."""
ANSWER = "40us"
"""In how different times hosts answer: of a run at 1 Mb/s data followed an acknowledgement after 8 to 44 us
(10th and 90th percentile 11 and 44), acknowledgements data after 7 and more. Simulated hosts would answer at
once, so that packets would meet again and again at the very instant at which another one leaves."""
FEWEST_DROPS = 30
"""Of a share of so few drops nothing is said: their number alone is uncertain by a fifth and more."""


def simulations(seeds: int) -> list[tuple[str, str]]:
    """Return what is set in a study that is simulated with so many seeds beside real programs."""
    return [("repeat", str(seeds)), ("path.jitter", ANSWER)]


@dataclass(frozen=True)
class Bound:
    """How far a number may be from the simulations' mean: by an amount or a share of it, the larger."""

    path: str
    name: str
    amount: float = 0.0
    share: float = 0.0

    def keeps(self, simulated: float, real: float) -> bool:
        """Say whether two numbers are near enough."""
        return abs(real - simulated) <= max(self.amount, self.share * abs(simulated)) * (1 + 1e-9)


BOUNDS = (
    Bound("links.down.utilisation", "utilisation", amount=0.02),
    Bound("links.down.queue_delay_ms.mean", "mean delay, ms", share=0.10),
    Bound("links.down.loss", "loss", share=0.30),
    Bound("voice.listens.mos.median", "listens MOS", amount=0.2),
    Bound("voice.talks.mos.median", "talks MOS", amount=0.2),
)


@dataclass(frozen=True)
class Row:
    """One number in one cell; `keeps` is None where nothing is said, with the reason."""

    cell: str
    bound: Bound
    simulated: tuple[float, ...]
    real: tuple[float, ...]
    keeps: bool | None
    reason: str = ""

    @property
    def text(self) -> str:
        """Write it as a line of a table."""
        low, high = min(self.simulated), max(self.simulated)
        verdict = {True: "agrees", False: "differs", None: f"not judged: {self.reason}"}[self.keeps]
        if self.keeps is False and low <= mean(self.real) <= high:
            verdict += ", but within the simulations' range"
        each = f" ({', '.join(f'{one:.4g}' for one in self.real)})" if len(self.real) > 1 else ""
        return (
            f"{self.cell:44} {self.bound.name:16} {mean(self.simulated):8.4g} ({low:.4g} to {high:.4g})"
            f" {mean(self.real):8.4g}{each}  {verdict}"
        )


def rows(simulated: list[Mapping[str, Any]], real: list[Mapping[str, Any]]) -> Iterator[Row]:
    """Hold the results of the testbed against simulations of the same cells."""
    for cell, runs in _cells(real).items():
        ours = _cells(simulated).get(cell, [])
        held = [one for one in runs if one["engine"]["verdict"]["held"]]
        for bound in BOUNDS:
            came, theirs = numbers(ours, bound.path), numbers(held or runs, bound.path)
            if not came or not theirs:
                continue
            keeps, reason = bound.keeps(mean(came), mean(theirs)), ""
            if not held:
                keeps, reason = None, "the bed did not hold"
            elif bound.path.endswith("loss") and (few := min(_drops(ours), _drops(held))) < FEWEST_DROPS:
                keeps, reason = None, f"{few:.0f} drops are too few"
            yield Row(cell, bound, came, theirs, keeps, reason)


def _cells(results: list[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    return grouped((", ".join(map(label_text, result["point"].values())), result) for result in results)


def numbers(results: list[Mapping[str, Any]], path: str) -> tuple[float, ...]:
    return tuple(value for one in results if (value := look_up(one, path)) is not None)


def _drops(results: list[Mapping[str, Any]]) -> float:
    """Return how many drops a mean share of several runs rests on."""
    return sum(numbers(results, "links.down.dropped_pkts"))


def summary(found: list[Row]) -> str:
    """Say how much agrees."""
    judged = [row for row in found if row.keeps is not None]
    parts = []
    for bound in BOUNDS:
        here = [row for row in judged if row.bound is bound]
        if here:
            parts.append(f"{bound.name} {sum(bool(row.keeps) for row in here)} of {len(here)}")
    unjudged = len(found) - len(judged)
    tail = f"; {unjudged} not judged" if unjudged else ""
    return f"simulated and real agree: {', '.join(parts) or 'nothing could be judged'}{tail}"


def main() -> int:
    """Run what is missing, and print the agreement."""
    parser = argparse.ArgumentParser(prog="python -m tools.validation.testbed", description=__doc__)
    parser.add_argument("--results", default="results/validation/testbed", type=Path)
    parser.add_argument("--jobs", type=int, help="processes that simulate; by default one for each core")
    parser.add_argument("--only", action="append", default=[], help="AXIS=VALUE, as of sojourn run")
    parser.add_argument("--runs", type=int, default=1, help="real runs of each cell")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        raise SojournError(f"--runs {arguments.runs}: expected 1 or more")
    only = selection(arguments.only)
    folders = arguments.results / "simulated", arguments.results / "real"
    run(Campaign(Study.load(STUDY, simulations(SEEDS)), folders[0], only=only), arguments.jobs)
    between = Study.load(STUDY, [("repeat", str(arguments.runs))])
    if why := run(Campaign(between, folders[1], only=only, on_testbed=True), 1):
        print(f"there is no testbed on this machine: {why}")
        return 0
    found = list(rows(*(list(open_results(folder)) for folder in folders)))
    for row in found:
        print(row.text)
    print(summary(found))
    return int(any(row.keeps is False for row in found))


def run(campaign: Campaign, jobs: int | None) -> str | None:
    """Run what is missing; return why there can be no testbed, if there cannot."""
    campaign.prepare()
    if not campaign.todo:
        return None
    with open_workers(jobs=jobs) as workers:
        try:
            failed = [outcome for outcome in campaign.execute(workers) if outcome.error]
        except SojournError as error:
            if campaign.on_testbed:
                return str(error)
            raise
    if failed:
        raise SojournError(f"{failed[0].point} failed: {failed[0].error}")
    return None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SojournError as error:
        print(f"tools.validation.testbed: {error}", file=sys.stderr)
        sys.exit(2)
