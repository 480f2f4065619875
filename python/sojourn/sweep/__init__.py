"""Run a study: the points that are not on disk, spread over workers, each stored by the one that ran it."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from sojourn import _core
from sojourn.errors import SojournError, StoreError
from sojourn.results import Results, labelled
from sojourn.results.store import Store
from sojourn.study import RESULT_FORMAT, Point, Study
from sojourn.study.inputs import trace, video
from sojourn.sweep.workers import Workers, open_workers, spread

if TYPE_CHECKING:
    import polars as pl


class Outcome(NamedTuple):
    """What became of a point: `error` is None when its result is on disk."""

    point: Point
    wall_s: float
    error: str | None


@dataclass(frozen=True)
class Done:
    """What a worker hands back: the result as stored, and the time that the simulation took."""

    result: dict[str, Any]
    wall_s: float


@dataclass(frozen=True)
class Failed:
    """Why a worker has no result; `fatal` when no other point can fare better."""

    reason: str
    fatal: bool = False


class Campaign:
    """A study, the directory of its results, and the points of it that are wanted.

    Making one reads and checks everything, and writes nothing.

    Parameters
    ----------
    study
        The study.
    out
        Directory of results; by default ``results/<study name>``.
    only
        For some axes, the labels that are wanted.
    log
        Keep the packet log of every point.
    """

    def __init__(
        self,
        study: Study,
        out: str | os.PathLike[str] | None = None,
        *,
        only: Mapping[str, Iterable[str]] | None = None,
        log: bool = False,
    ) -> None:
        self.study = study
        self.store = Store(out if out is not None else Path("results") / study.name)
        self.points = study.select(only or {})
        # Two points may be one scenario under two names; the first name in study order is the one stored.
        self._named: dict[str, Point] = {}
        for point in study.points:
            self._named.setdefault(point.hash, point)
        self.log = log
        before = self.store.read_study()
        self.done: set[str] = set()
        self._stale: list[Point] = []
        for point in self._wanted():
            if self.store.has(point.hash, packets=self.keeps_packets(point)):
                stored = self.store.read_point(point.hash)
                self.done.add(point.hash)
                if _labels(stored) != (study.name, point.labels, point.replication):
                    self._stale.append(point)
        self.todo = [point for point in self._wanted() if point.hash not in self.done]
        self.unmade = video.unmade(point.document for point in self.todo)
        self.notes = self._differences(before)

    def _wanted(self) -> list[Point]:
        return [self._named[point] for point in dict.fromkeys(point.hash for point in self.points)]

    def keeps_packets(self, point: Point) -> bool:
        """Say whether the packet log of a point is wanted, by `log` or by its scenario."""
        return self.log or bool(_record(json.loads(point.text)).get("packets"))

    def _differences(self, before: dict[str, Any] | None) -> list[str]:
        notes = list(dict.fromkeys(point.note for point in self.todo if point.note))
        if self.unmade:
            what = "1 clip is" if len(self.unmade) == 1 else f"{len(self.unmade)} clips are"
            notes.append(f"{what} encoded first, once for all runs: some seconds each")
        if before is None:
            return notes
        if before["study"] != self.study.name:
            return [
                *notes,
                f"{self.store.path} holds results of the study {before['study']!r}; "
                f"it is now the directory of {self.study.name!r}, and the earlier points stay on disk",
            ]
        left = len(set(self.store.hashes()) - self._named.keys())
        if left:
            return [
                *notes,
                f"{self.store.path} holds {left} points of another version of this study; "
                "they stay on disk and are not part of this one",
            ]
        return notes

    def prepare(self) -> None:
        """Make the directory and write the study into it."""
        self.store.prepare(packets=any(self.keeps_packets(point) for point in self.todo))
        self.store.write_study(
            {
                "format": RESULT_FORMAT,
                "sojourn": _core.version(),
                "study": self.study.name,
                "seed": self.study.document.get("seed"),
                "command": self.study.command,
                "folder": str(Path(self.study.file).parent.absolute()),
                "document": self.study.document,
                "points": [
                    {"hash": point.hash, "point": point.labels, "replication": point.replication}
                    for point in self.study.points
                ],
            }
        )
        for point in self._stale:
            self._store(point, self.store.read_point(point.hash))

    def _store(self, point: Point, stored: dict[str, Any]) -> None:
        names = {"study": self.study.name, "point": point.labels, "replication": point.replication}
        self.store.write_point(point.hash, {**stored, **names})

    def execute(self, workers: Workers) -> Iterator[Outcome]:
        """Simulate the points that are missing; yield what became of each, as they finish.

        Clips that they show and that are not kept yet are encoded first.
        """
        for _, came in spread(workers, video.encode, [(need, need) for need in self.unmade]):
            if came is not None:
                raise SojournError(came if isinstance(came, str) else _reason(came))
        tasks = [
            (point, (point.text, point.hash, str(self.store.path.absolute()), self.keeps_packets(point)))
            for point in self.todo
        ]
        for point, came in spread(workers, simulate_point, tasks):
            if isinstance(came, Done):
                if not self.store.has(point.hash):  # the worker's disk is not ours
                    self.store.record_time(point.hash, came.wall_s)
                    self._store(point, came.result)
                self.done.add(point.hash)
                yield Outcome(point, came.wall_s, None)
            elif isinstance(came, Failed):
                if came.fatal:
                    raise StoreError(came.reason)
                yield Outcome(point, 0.0, came.reason)
            else:
                yield Outcome(point, 0.0, _reason(came))

    def keep_media(self) -> int:
        """Store the worst video stream of every point that is done and has one; return how many there are."""
        kept = 0
        for point in self._wanted():
            if point.hash in self.done:
                worst = (self.store.read_point(point.hash).get("video") or {}).get("worst")
                if worst is not None:
                    kept += 1
                    if not (self.store.media / f"{point.hash}.ts").is_file():
                        self.store.write_media(point.hash, video.arrived(worst))
        return kept

    def result(self, point: Point, times: Mapping[str, float]) -> dict[str, Any]:
        """Return the result of a point, as ``run --json`` prints it."""
        stored = self.store.read_point(point.hash)
        return labelled(stored, self.study.name, point.labels, point.replication, times.get(point.hash))


def simulate_point(text: str, digest: str, out: str, log: bool) -> Done | Failed:
    """Simulate one point and store its result; this is what workers do."""
    try:
        store = Store(out)
        analysed = bool(_record(json.loads(text)).get("losses"))
        try:
            store.points.mkdir(parents=True, exist_ok=True)
            if log or analysed:
                store.packets.mkdir(exist_ok=True)
        except OSError as error:
            return Failed(f"{store.path} cannot be written by a worker: {error.strerror}", fatal=True)
        if log or analysed:
            with store.packets_written(digest, keep=log) as file:
                result, flows, wall_s = simulate(text, file)
        else:
            result, flows, wall_s = simulate(text)
        if flows is not None:
            store.write_flows(digest, flows)
        store.record_time(digest, wall_s)
        store.write_point(digest, result)
        return Done(result, wall_s)
    except StoreError as error:
        return Failed(str(error), fatal=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is not an Exception, and cannot be pickled
        return Failed(_reason(error))


def simulate(text: str, packets: BinaryIO | None = None) -> tuple[dict[str, Any], pl.DataFrame | None, float]:
    """Simulate and score one point.

    Parameters
    ----------
    text
        The point, as JSON.
    packets
        A file that takes the packet log, if one is kept or analysed.

    Returns
    -------
    result, flows, wall_s
        The result without wall time, the table of connections or None, and the time of the simulation.
    """
    from sojourn.qoe.score import score

    point = json.loads(text)
    clips = video.packets(point["document"])
    started = time.perf_counter()
    filled = trace.fill(text)
    if packets is None:
        ran = _core.run(filled, clips=clips)
    else:
        from sojourn.results.packet_log import run_into

        ran = run_into(filled, packets, clips)
    wall_s = round(time.perf_counter() - started, 6)
    summary = json.loads(ran.pop("summary"))
    flows = flow_table(ran.pop("flows")) if "flows" in ran else None
    engine = summary.pop("engine")
    scores = score(point["document"], ran, summary.get("links"))
    links = _record(point).get("losses")
    if packets is not None and links:
        from sojourn.losses import of_point

        packets.flush()
        rates = {link: summary["links"][link]["rate_bps"] for link in links}
        scores["losses"] = of_point(packets.name, flows, point["document"], rates)
    result = {
        "study": point["study"],
        "point": point["point"],
        "replication": point["replication"],
        **summary,
        **scores,
        "engine": {key: value for key, value in engine.items() if key != "wall_s"},
    }
    return result, flows, wall_s


def flow_table(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the engine's table of connections as a data frame, with nulls where nothing was measured."""
    import polars as pl

    return pl.DataFrame(dict(columns)).with_columns(
        pl.Series("link", ["down", "up"], dtype=pl.Enum(["down", "up"])).gather(pl.Series(columns["link"])),
        pl.when(pl.col("end_ns") >= 0).then(pl.col("end_ns")).alias("end_ns"),
        pl.col("mean_cwnd_pkts", "initial_ssthresh_pkts").fill_nan(None),
        pl.when(pl.col("mean_rtt_ns") > 0).then(pl.col("mean_rtt_ns")).alias("mean_rtt_ns"),
    )


def _record(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a point's scenario asks to be kept."""
    return point["document"].get("record") or {}


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

    Returns
    -------
    Results

    Raises
    ------
    SojournError, StudyError
        One sentence on what is wrong with the study or the directory, or on the first points that failed.
    """
    if not isinstance(study, Study):
        study = Study.load(study, (sets or {}).items())
    chosen = {
        axis: [labels] if isinstance(labels, str) else list(labels) for axis, labels in (only or {}).items()
    }
    campaign = Campaign(study, out, only=chosen, log=log)
    campaign.prepare()
    failed = []
    if campaign.todo:
        with open_workers(jobs=jobs, scheduler=scheduler, executor=executor) as workers:
            failed = [outcome for outcome in campaign.execute(workers) if outcome.error]
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more failed)" if len(failed) > 1 else ""
        raise SojournError(f"point {first.point} failed: {first.error}{more}")
    return Results(campaign.store.path)


def _labels(stored: dict[str, Any]) -> tuple[Any, Any, Any]:
    return stored["study"], stored["point"], stored["replication"]


def _reason(error: BaseException) -> str:
    text = next(iter(str(error).splitlines()), "no reason given")
    if isinstance(error, SojournError | _core.StudyError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {text}{place}"
