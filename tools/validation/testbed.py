"""Hold simulations against the testbed: ``python -m tools.validation.testbed``.

The study `testbed.toml` is simulated several times with different seeds, and run between real programs, once
or `--runs` times; for each cell the means are held against each other. A real run whose bed did not hold is
left out. The bounds below were written before any run was seen. What was run is kept, so that the command
goes on where it was interrupted. It prints a table and how much of it agrees; the exit code is 1 if a bound
is not kept, and 0 with a sentence if this machine cannot have a testbed.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from sojourn.errors import SojournError
from sojourn.results import open_results
from sojourn.results.path import look_up
from sojourn.study import Study, label_text, selection
from sojourn.study.grouped import grouped
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.workers import open_workers

from tools.program import program

STUDY = Path(__file__).with_name("testbed.toml")
SEEDS = 64
"""Simulations of a cell."""
ANSWER = "40us"
"""In how different times hosts answer: of a run at 1 Mb/s data followed an acknowledgement after 8 to 44 us
(10th and 90th percentile 11 and 44), acknowledgements data after 7 and more. Simulated hosts would answer at
once, so that packets would meet again and again at the very instant at which another one leaves."""
Sets = Sequence[tuple[str, str]]
FEWEST_DROPS = 30
"""Of a share of so few drops nothing is said: their number alone is uncertain by a fifth and more."""


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
    remark: str = ""

    @property
    def text(self) -> str:
        """Write it as a line of a table."""
        low, high = min(self.simulated), max(self.simulated)
        verdict = {True: "agrees", False: "differs", None: "not judged"}[self.keeps]
        if self.keeps is False and low <= mean(self.real) <= high:
            verdict += ", but within the simulations' range"
        verdict += f": {self.remark}" if self.remark else ""
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
            keeps, remark = bound.keeps(mean(came), mean(theirs)), ""
            if not held:
                keeps, remark = None, "the bed did not hold"
            elif bound.path.endswith("loss") and (few := min(_drops(ours), _drops(held))) < FEWEST_DROPS:
                keeps, remark = None, f"{few:.0f} drops are too few"
            yield Row(cell, bound, came, theirs, keeps, remark)


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


def main(
    study: Path = STUDY,
    *,
    results: Path = Path("results/validation/testbed"),
    jobs: int | None = None,
    only: list[str] | None = None,
    runs: int = 1,
) -> int:
    """Run what is missing, and print the agreement.

    Parameters
    ----------
    study
        Another study than `testbed.toml`, such as `elsewhere.toml`; it needs `--results` of its own.
    jobs
        Processes that simulate; by default one for each core.
    only
        AXIS=VALUE, as of sojourn run.
    runs
        Real runs of each cell.
    """
    if runs < 1:
        raise SojournError(f"--runs {runs}: expected 1 or more")
    found = list(rows(*both(study, results, (SEEDS, runs), jobs, only=selection(only or []))))
    for row in found:
        print(row.text)
    print(summary(found))
    return int(any(row.keeps is False for row in found))


def both(
    study: Path, results: Path, repeats: tuple[int, int], jobs: int | None, sets: Sets = (), **chosen: Any
) -> Iterator[list[Mapping[str, Any]]]:
    """Run what is missing, simulated and then between real programs, and yield the results of each.

    It ends the program, without an error, where there can be no testbed.
    """
    for on_testbed, repeat in zip((False, True), repeats, strict=True):
        folder = results / ("real" if on_testbed else "simulated")
        answer = [] if on_testbed else [("path.jitter", ANSWER)]
        settings = Study.load(study, [*sets, *answer, ("repeat", str(repeat))])
        campaign = Campaign(settings, folder, on_testbed=on_testbed, **chosen)
        campaign.prepare()
        if campaign.todo:
            _run(campaign, 1 if on_testbed else jobs)
        yield list(open_results(folder))


def _run(campaign: Campaign, jobs: int | None) -> None:
    with open_workers(jobs=jobs) as workers:
        try:
            failed = [outcome for outcome in campaign.execute(workers) if outcome.error]
        except SojournError as error:
            if not campaign.on_testbed:
                raise
            print(f"there is no testbed on this machine: {error}")
            sys.exit()
    if failed:
        raise SojournError(f"{failed[0].point} failed: {failed[0].error}")


if __name__ == "__main__":
    program(__doc__, main)
