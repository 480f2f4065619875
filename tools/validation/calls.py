"""Hold simulated video calls against Chromium's own WebRTC: ``python -m tools.validation.calls``.

Each scene of `calls.toml` is simulated several times with different seeds and held between two Chromiums over
the testbed. The bounds below were written before any call of Chromium was seen. What was run is kept, so that
the command goes on where it was interrupted. It prints a table; the exit code is 1 if a bound is not kept,
and 0 with a sentence if this machine cannot have a testbed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from sojourn.errors import SojournError

from tools.program import program
from tools.validation.testbed import Bound, Row, both, numbers

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
SEEN = (
    Bound("call.receives.delay_ms.median", "delay, ms"),
    Bound("call.receives.fps", "pictures/s"),
    Bound("call.receives.height.median", "lines"),
)
"""What is printed beside, without a bound."""


def rows(scene: str, simulated: list[Mapping[str, Any]], real: list[Mapping[str, Any]]) -> Iterator[Row]:
    """Hold the calls of a scene against simulated ones."""
    missed = sum(not one["engine"]["verdict"]["held"] for one in real)
    beds = f"{missed} of {len(real)} beds did not hold" if missed else ""
    for bound in (*BOUNDS, *SEEN):
        ours, theirs = (numbers(results, bound.path) for results in (simulated, real))
        if ours and theirs:
            keeps = bound.keeps(mean(ours), mean(theirs)) if bound in BOUNDS else None
            yield Row(scene, bound, ours, theirs, keeps, beds)


def main(
    *,
    results: Path = Path("results/validation/calls"),
    jobs: int | None = None,
    only: list[str] | None = None,
    calls: int = 1,
) -> int:
    """Run what is missing, and print the agreement.

    Parameters
    ----------
    jobs
        Processes that simulate; by default one for each core.
    only
        A scene, as 'alone' or '4 CUBIC, CoDel'.
    calls
        Calls of Chromium in each scene.
    """
    if calls < 1:
        raise SojournError(f"--calls {calls}: expected 1 or more")
    if unknown := [scene for scene in only or () if scene not in SCENES]:
        raise SojournError(f"--only {unknown[0]!r}: expected one of {', '.join(SCENES)}")
    found: list[Row] = []
    for scene in only or SCENES:
        folder = results / scene.replace(" ", "-").replace("%", "percent").replace(",", "")
        came = list(rows(scene, *both(STUDY, folder, (SEEDS, calls), jobs, SCENES[scene])))
        print("\n".join(row.text for row in came), flush=True)
        found += came
    judged = [row for row in found if row.keeps is not None]
    print(f"simulated and real agree: {sum(bool(row.keeps) for row in judged)} of {len(judged)}")
    return int(any(row.keeps is False for row in judged))


if __name__ == "__main__":
    program(__doc__, main)
