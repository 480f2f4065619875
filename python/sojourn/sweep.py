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
from typing import Any, NamedTuple

from sojourn import _core
from sojourn.errors import SojournError, StoreError
from sojourn.results import Results, labelled
from sojourn.store import Store
from sojourn.study import RESULT_FORMAT, Point, Study
from sojourn.workers import Workers, open_workers, spread


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
        self.notes = self._differences(before)

    def _wanted(self) -> list[Point]:
        return [self._named[point] for point in dict.fromkeys(point.hash for point in self.points)]

    def keeps_packets(self, point: Point) -> bool:
        """Say whether the packet log of a point is wanted, by `log` or by its scenario."""
        return self.log or bool((point.document.get("record") or {}).get("packets"))

    def _differences(self, before: dict[str, Any] | None) -> list[str]:
        notes = list(dict.fromkeys(point.note for point in self.todo if point.note))
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
        """Simulate the points that are missing; yield what became of each, as they finish."""
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

    def result(self, point: Point, times: Mapping[str, float]) -> dict[str, Any]:
        """Return the result of a point, as ``run --json`` prints it."""
        stored = self.store.read_point(point.hash)
        return labelled(stored, self.study.name, point.labels, point.replication, times.get(point.hash))


def simulate_point(text: str, digest: str, out: str, log: bool) -> Done | Failed:
    """Simulate one point and store its result; this is what workers do."""
    try:
        result, packets, wall_s = simulate(text, log=log)
        store = Store(out)
        try:
            store.points.mkdir(parents=True, exist_ok=True)
            if packets is not None:
                store.packets.mkdir(exist_ok=True)
        except OSError as error:
            return Failed(f"{store.path} cannot be written by a worker: {error.strerror}", fatal=True)
        if packets is not None:
            store.write_packets(digest, packet_log(packets))
        store.record_time(digest, wall_s)
        store.write_point(digest, result)
        return Done(result, wall_s)
    except StoreError as error:
        return Failed(str(error), fatal=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is not an Exception, and cannot be pickled
        return Failed(_reason(error))


def simulate(text: str, *, log: bool = False) -> tuple[dict[str, Any], dict[str, Any] | None, float]:
    """Simulate and score one point.

    Returns
    -------
    result, packets, wall_s
        The result without wall time, the packet log's columns or None, and the time of the simulation.
    """
    from sojourn.qoe.score import score

    point = json.loads(text)
    started = time.perf_counter()
    ran = _core.run(text, log)
    wall_s = round(time.perf_counter() - started, 6)
    summary = json.loads(ran.pop("summary"))
    packets = ran.pop("packets", None)
    names = {key: ran.pop(key) for key in ("packet_kinds", "drop_causes") if key in ran}
    engine = summary.pop("engine")
    result = {
        "study": point["study"],
        "point": point["point"],
        "replication": point["replication"],
        **summary,
        **score(point["document"], ran, summary.get("links")),
        "engine": {key: value for key, value in engine.items() if key != "wall_s"},
    }
    return result, ({**names, **packets} if packets is not None else None), wall_s


def packet_log(columns: dict[str, Any]) -> Any:
    """Return a packet log as a data frame, with names in the place of codes and nulls where nothing was."""
    import polars as pl

    order = "link packet flow kind size_bytes arrive_ns depart_ns drop_cause backlog_pkts backlog_bytes seq"
    codes = pl.DataFrame({name: columns[name] for name in order.split()})

    def named(column: str, names: list[str]) -> pl.Expr:
        # Codes without a name, as the 255 of a packet that was not dropped, become null.
        kind = pl.Enum(names)
        return pl.col(column).replace_strict(list(range(len(names))), names, default=None, return_dtype=kind)

    return codes.with_columns(
        named("link", ["down", "up"]),
        named("kind", list(columns["packet_kinds"])),
        pl.when(pl.col("depart_ns") >= 0).then(pl.col("depart_ns")).alias("depart_ns"),
        named("drop_cause", list(columns["drop_causes"])),
    )


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
