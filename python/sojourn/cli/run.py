"""`sojourn run`: simulate what is not on disk yet."""

import json
import signal
import sys
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from sojourn.cli.again import again
from sojourn.cli.exit import Exit, resumable, warn
from sojourn.cli.flag import Flag
from sojourn.cli.progress import Progress
from sojourn.errors import SojournError, counted
from sojourn.results import Results
from sojourn.results.duration import duration, roughly
from sojourn.study import Study, assignments, selection
from sojourn.study.replications import to_precision
from sojourn.sweep import rounds
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.testbed.others import others, told
from sojourn.sweep.workers import Workers, cores, open_workers


def run(
    study: Annotated[list[Path], Parameter(required=True)],
    /,
    *,
    out: Path | None = None,
    jobs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    scheduler: str | None = None,
    on: Literal["simulator", "testbed"] = "simulator",
    no_offload: Flag = False,
    set: list[str] | None = None,
    only: list[str] | None = None,
    precision: float | None = None,
    log: Flag = False,
    keep_media: Flag = False,
    dry_run: Flag = False,
    json: Flag = False,
) -> int:
    """Simulate the points of studies that are not on disk yet, and store their results.

    Interrupt it at any time: the same command goes on where it stopped, and a study that was
    extended runs only what is new.

    **Example**

    ```
    sojourn run quickstart --jobs 4
    sojourn run quickstart --set duration=30s \\
        --only workload=household-evening --json
    sudo sojourn run my.toml --on testbed
    ```

    Parameters
    ----------
    study
        Study files (TOML), or names of studies that ship.
    out
        Directory of results, by default results/NAME; with several studies, DIR/NAME for each.
    jobs
        Number of processes; by default the number of cores.
    scheduler
        Address of a Dask scheduler, as tcp://host:8786; its workers must see the same directory.
    on
        `testbed`: between real programs on this machine, over the emulator, in real time and one point after
        the other; by default in results/NAME-testbed. What has no real counterpart is refused before anything
        runs. A point whose bed did not hold is run once more, and then marked: the exit code is 1.
    no_offload
        On the testbed: hosts make single packets, and join none that they receive (no TSO, no GRO). Results
        with and without do not stand for each other.
    set
        KEY=VALUE: replace any key of the study, as path.down.rate=8Mbit. Repeatable.
    only
        AXIS=VALUE: only the points with this label on an axis; "replication" is one. Repeatable.
    precision
        MOS, as 0.1: as many replications as it takes to know the mean opinion score of every cell to this
        (half the 95 % interval between replications), with few calls scored in each; `repeat = "auto"`.
    log
        Keep the packet log of every point (packets/HASH.parquet).
    keep_media
        Keep the worst video stream of every point as it arrived (media/HASH.ts), to be played.
    dry_run
        List the points and whether they are done; write nothing.
    json
        Print one JSON object per point and replication, in study order.
    """
    wanted = selection(only or [])
    sets = assignments(set or [], "--set")
    studies = [Study.load(file, sets) for file in study]
    if precision is not None:
        studies = [
            Study.load(each.file, [*sets, *to_precision(each.document, precision)]) for each in studies
        ]
    names = [each.name for each in studies]
    for name in names:
        if names.count(name) > 1:
            files = ", ".join(each.file for each in studies if each.name == name)
            raise SojournError(f"two of the studies have the same name {name!r}: {files}")
    on_testbed = on == "testbed"
    if on_testbed and (scheduler is not None or (jobs or 1) > 1):
        given = "--scheduler" if scheduler is not None else f"--jobs {jobs}"
        raise SojournError(
            f"{given} does not go with --on testbed: two points at once would disturb each other"
        )
    if no_offload and not on_testbed:
        raise SojournError("--no-offload does not go without --on testbed: simulated hosts have no cards")
    campaigns = [
        Campaign(
            each,
            out / each.name if out and len(studies) > 1 else out,
            only=wanted,
            log=log,
            on_testbed=on_testbed,
            offload=not no_offload,
        )
        for each in studies
    ]
    for campaign in campaigns:
        for note in campaign.notes:
            warn(f"note: {note}")
    if dry_run:
        return _list(campaigns, json)
    return _execute(campaigns, jobs, scheduler, json, keep_media)


def _execute(
    campaigns: list[Campaign], jobs: int | None, scheduler: str | None, as_json: bool, keep_media: bool
) -> int:
    # Polars lets system calls go on after an interrupt: nobody would hear of it before a point is done.
    signal.siginterrupt(signal.SIGINT, True)
    started = time.monotonic()
    before = sum(len(campaign.done) for campaign in campaigns)
    failures = _run_all(campaigns, jobs, scheduler, as_json)
    for campaign in campaigns if keep_media else []:
        kept = campaign.keep_media()
        warn(f"{kept} video streams are in {campaign.store.media}" if kept else "there is no video to keep")
    planned = _planned(campaigns)
    if failures:
        warn(f"{failures} of {counted(planned, 'point')} failed; the same command tries them again")
    not_held = sum(len(campaign.not_held()) for campaign in campaigns)
    if not_held:
        warn(
            f"the bed did not hold in {not_held} of {counted(planned, 'point')}, nor when each was run once "
            "more: such numbers are not the queues' doing alone; the results are marked, and sojourn show "
            "says why"
        )
    if not as_json:
        how = "run on the testbed" if campaigns[0].on_testbed else "simulated"
        ran, took = planned - before - failures, duration(time.monotonic() - started)
        counts = f"{ran} {how}{f' in {took}' if ran else ''}, {before} already there"
        _tell_end(campaigns, counts + (f", {failures} failed" if failures else ""))
    return Exit.FAILED if failures or not_held else Exit.DONE


def _run_all(campaigns: list[Campaign], jobs: int | None, scheduler: str | None, as_json: bool) -> int:
    """Run what is not on disk yet; return how many points failed."""
    missing = sum(len(campaign.todo) for campaign in campaigns)
    done = sum(len(campaign.done) for campaign in campaigns)
    failures = 0
    on_testbed = any(campaign.on_testbed for campaign in campaigns)
    if on_testbed:
        jobs = 1
    grows = any(campaign.may_grow for campaign in campaigns)
    jobs = jobs or cores() if grows else min(jobs or cores(), max(missing, 1))
    with (
        resumable(lambda: f"{sum(each.stored() for each in campaigns)} of {_planned(campaigns)} points"),
        ExitStack() as ended,
        others() if on_testbed else nullcontext([]) as beside,
        open_workers(jobs=jobs, scheduler=scheduler if missing else None) as workers,
    ):
        if workers.note:
            warn(f"note: {workers.note}")
        if beside and missing:
            warn(
                f"note: {told(beside)} on the testbed of this machine, too: networks and results are apart, "
                "but each may hold up the others; the verdicts say if the bed did not hold"
            )
        for campaign in campaigns:
            campaign.prepare()
            ended.callback(campaign.store.tidy)
        with Progress(done + missing, done) as progress:
            for campaign in campaigns:
                failures += _run_one(campaign, workers, progress, as_json)
    return failures


def _tell_end(campaigns: list[Campaign], counts: str) -> None:
    """Print where the results are, what came of rounds, how many points there are, and what to do next."""
    for campaign in campaigns:
        print(f"{campaign.study.name}: results in {campaign.store.path}")
        if taken := campaign.taken_over():
            warn(f"note: {taken}")
        if sentence := rounds.said(Results(campaign.store.path)):
            print(sentence)
    print(f"{counted(_planned(campaigns), 'point')}: {counts}")
    if campaigns[-1].done:
        print("Next:", again("report", campaigns[-1].store.path))


def _planned(campaigns: list[Campaign]) -> int:
    return sum(campaign.planned for campaign in campaigns)


def _run_one(campaign: Campaign, workers: Workers, progress: Progress, as_json: bool) -> int:
    printer = _Printer(campaign, as_json)
    printer.print_ready()
    failures, planned = 0, campaign.planned
    for outcome in campaign.execute(workers):
        if campaign.planned > planned:
            progress.grow(campaign.planned - planned)
            planned = campaign.planned
        if outcome.error is None:
            printer.times[outcome.point.hash] = outcome.wall_s
        else:
            failures += 1
            printer.failed.add(outcome.point.hash)
            progress.note(f"sojourn: point {outcome.point} failed: {outcome.error}")
        progress.advance()
        printer.print_ready()
    return failures


class _Printer:
    """Prints results in study order, each as soon as all before it are there."""

    def __init__(self, campaign: Campaign, as_json: bool) -> None:
        self.campaign = campaign
        self.times = campaign.store.times()
        self.failed: set[str] = set()
        self._as_json, self._printed = as_json, 0

    def print_ready(self) -> None:
        # The list of points may grow while it is printed.
        while self._as_json and self._printed < len(self.campaign.points):
            point = self.campaign.points[self._printed]
            if point.hash not in self.campaign.done | self.failed:
                return
            if point.hash in self.campaign.done:
                print(json.dumps(self.campaign.result(point, self.times), ensure_ascii=False), flush=True)
            self._printed += 1


def _list(campaigns: list[Campaign], as_json: bool) -> int:
    for campaign in campaigns:
        for point in campaign.points:
            done = point.hash in campaign.done
            if as_json:
                entry = {**point.names, "hash": point.hash, "done": done}
                print(json.dumps(entry, ensure_ascii=False))
            else:
                print(f"{'done' if done else 'to do':5}  {point}")
        if not as_json:
            done, to_do = len(campaign.done), len(campaign.todo)
            said = f"{campaign.study.name}: {counted(done + to_do, 'point')}, {done} done, {to_do} to do"
            times = [campaign.store.times().get(point, 0.0) for point in campaign.done]
            if to_do and any(times):
                took = roughly(sum(times) / done * to_do)
                said += f", about {took} of one core if they take as long as those that are done"
            if campaign.may_grow:
                said += '; with repeat = "auto", more if these do not suffice'
            print(said)
    sys.stdout.flush()
    return Exit.DONE
