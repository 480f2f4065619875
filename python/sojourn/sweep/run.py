"""Run a study from a script: :func:`run`, which ``sojourn run`` is as a command."""

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor

from sojourn.errors import SojournError
from sojourn.results import Results
from sojourn.study import Study
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.workers import open_workers


def run(
    study: str | os.PathLike[str] | Study,
    *,
    out: str | os.PathLike[str] | None = None,
    sets: Mapping[str, str] | None = None,
    only: Mapping[str, str | Iterable[str]] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    executor: Executor | None = None,
    log: bool = False,
    on_testbed: bool = False,
    offload: bool = True,
) -> Results:
    """Run a study and return its results; points that are on disk are not run again.

    Parameters
    ----------
    study
        A study file, or a study read with :meth:`Study.load`.
    out
        Directory of results; by default ``results/<study name>``.
    sets
        Keys of the study to replace, as ``{"path.down.rate": "8Mbit"}``.
    only
        For some axes, the label or labels that are wanted.
    jobs
        Number of processes; by default the number of cores.
    scheduler
        Address of a Dask scheduler to use in place of processes.
    executor
        Any other executor to use, which is left running.
    log
        Keep the packet log of every point.
    on_testbed
        Run the points between real programs over the emulator instead of simulating them, one after the
        other and in real time; by default in ``results/<study name>-testbed``. A point whose bed did not hold
        counts as run: its result says so (``engine.verdict``).
    offload
        The testbed's hosts have network cards that cut and join packets (TSO, GRO).

    Returns
    -------
    Results

    Raises
    ------
    SojournError, StudyError
        One sentence on what is wrong with the study or the directory, or on the first points that failed.
    """
    if on_testbed and ((jobs or 1) > 1 or scheduler is not None or executor is not None):
        given = f"jobs={jobs}" if (jobs or 1) > 1 else "scheduler" if scheduler is not None else "executor"
        raise SojournError(
            f"{given} does not go with on_testbed: two points at once would disturb each other"
        )
    if not (offload or on_testbed):
        raise SojournError("offload=False does not go without on_testbed: simulated hosts have no cards")
    if not isinstance(study, Study):
        study = Study.load(study, (sets or {}).items())
    chosen = {
        axis: [labels] if isinstance(labels, str) else list(labels) for axis, labels in (only or {}).items()
    }
    campaign = Campaign(study, out, only=chosen, log=log, on_testbed=on_testbed, offload=offload)
    campaign.prepare()
    failed = []
    if campaign.todo:
        with open_workers(jobs=1 if on_testbed else jobs, scheduler=scheduler, executor=executor) as workers:
            failed = [outcome for outcome in campaign.execute(workers) if outcome.error]
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more failed)" if len(failed) > 1 else ""
        raise SojournError(f"point {first.point} failed: {first.error}{more}")
    return Results(campaign.store.path)
