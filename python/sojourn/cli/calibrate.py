"""`sojourn calibrate`: how many sessions make a load."""

import json as _json
from dataclasses import asdict
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.study import Study, assignments
from sojourn.study.units import percent
from sojourn.sweep.workers import cores, open_workers

if TYPE_CHECKING:
    from sojourn.sweep.calibrate import Calibration, Trial


def calibrate(
    study: Path,
    /,
    *,
    load: str,
    workload: str | None = None,
    direction: str = "down",
    replications: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 5,
    duration: str | None = None,
    set: list[str] | None = None,
    jobs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    json: Flag = False,
) -> None:
    """Find the number of sessions that offers a load when there is no bottleneck to hold them up.

    **Example**

    ```
    sojourn calibrate imc14-quick --workload short-few-download \\
        --load 96% --duration 60s
    ```

    Parameters
    ----------
    study
        Study file (TOML), or the name of one that ships.
    load
        The wanted load, as a share of the bottleneck's rate: 96%, or 0.96. More than 100% is what sessions
        would send if nothing held them up.
    workload
        The named workload to calibrate; by default the [[flows]] of every point.
    direction
        The link whose rate is meant: down or up, or of a path with hops the name of a link, as home.up.
    replications
        Simulations for each number of sessions tried.
    duration
        Length of each simulation, in the place of the study's own.
    set
        KEY=VALUE: replace any key of the study. Repeatable.
    jobs
        Number of processes; by default the number of cores.
    json
        Print the outcome as JSON.
    """
    from sojourn.study.links import called
    from sojourn.sweep.calibrate import Scale, Trial, load_share
    from sojourn.sweep.calibrate import calibrate as trials_of

    target = load_share(load)
    scale = Scale(Study.load(study, assignments(set or [], "--set")), workload, direction)
    if target > 1:
        warn(
            "note: more than 100 % is offered only where nothing holds sessions up: in the study the link "
            "carries 100 %, and its queue and its losses slow them down"
        )
    header = f"{'sessions':>8}  {'offered load':>12}  95 % interval\n"
    with open_workers(jobs=min(jobs or cores(), replications)) as workers:
        for found in trials_of(scale, target, workers, replications=replications, duration=duration):
            if isinstance(found, Trial):
                if json:
                    warn(f"{_offer(found)} ({_within(found)})")
                else:
                    print(header + _row(found), flush=True)
                    header = ""
    for sentence in _cautions(found, len(scale.shares)):
        warn(f"note: {sentence}")
    print(_json.dumps(asdict(found)) if json else _said(found, called(direction)))


def _said(found: "Calibration", link: str) -> str:
    within = "of one replication" if found.interval is None else f"95 % interval {_ends(found.interval)}"
    return f"{_offer(found)} of the {link} ({within}; wanted: {_percent(found.target)})"


def _cautions(found: "Calibration", least: int) -> list[str]:
    """Say what the number does not tell: that it cannot be less, or that no other number came nearer."""
    said = []
    if found.count == least and found.load > found.target:
        of = "one session" if least == 1 else f"{least} sessions, one of each entry,"
        said.append(f"{of} {'is' if least == 1 else 'are'} the least there is, and more than was wanted")
    elif found.interval is not None and not found.interval[0] <= found.target <= found.interval[1]:
        said.append("the load that was wanted is outside the interval: no other number tried came nearer")
    return said


def _offer(found: "Trial | Calibration") -> str:
    return (
        f"{found.count} {'session offers' if found.count == 1 else 'sessions offer'} {_percent(found.load)}"
    )


def _percent(share: float) -> str:
    """Write a load with one decimal, or as many as it takes to be more than none."""
    return percent(share, 1 if share >= 0.001 or not share else -floor(log10(100 * share)))


def _ends(interval: tuple[float, float]) -> str:
    return " to ".join(map(_percent, interval))


def _within(trial: "Trial") -> str:
    return "– (one replication)" if trial.interval is None else _ends(trial.interval)


def _row(trial: "Trial") -> str:
    return f"{trial.count:8}  {_percent(trial.load):>12}  {_within(trial)}"
