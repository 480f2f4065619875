"""`sojourn calibrate`: how many sessions make a load."""

import json as _json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.study import Study, assignments
from sojourn.study.units import percent
from sojourn.sweep.workers import cores, open_workers

if TYPE_CHECKING:
    from sojourn.sweep.calibrate import Trial


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
        The wanted load of the bottleneck's rate, as 96% (more than 100% is allowed).
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
    header = f"{'sessions':>8}  {'offered load':>12}  95 % interval\n"
    with open_workers(jobs=min(jobs or cores(), replications)) as workers:
        for found in trials_of(scale, target, workers, replications=replications, duration=duration):
            if isinstance(found, Trial):
                if json:
                    warn(_row(found).strip())
                else:
                    print(header + _row(found), flush=True)
                    header = ""
    link = f"the {called(direction)}"
    if json:
        print(_json.dumps(asdict(found)))
    else:
        offer = "session offers" if found.count == 1 else "sessions offer"
        print(f"{found.count} {offer} {percent(found.load)} of {link} (wanted: {percent(target)})")


def _row(trial: "Trial") -> str:
    within = "– (one replication)" if trial.interval is None else " to ".join(map(percent, trial.interval))
    return f"{trial.count:8}  {percent(trial.load):>12}  {within}"
