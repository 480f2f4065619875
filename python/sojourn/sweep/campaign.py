"""A study while it is run: the points that are not on disk, over workers, each stored by whoever ran it."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sojourn import _core
from sojourn.errors import SojournError, StoreError, counted
from sojourn.results import BEFORE_BUILDS, beds, labelled
from sojourn.results.store import DamagedFile, Store
from sojourn.study import Point, Study, idle, quantities
from sojourn.study.buffers import buffers, starved
from sojourn.study.identity import RESULT_FORMAT, engine
from sojourn.study.inputs import adaptive, video
from sojourn.study.replications import AUTO
from sojourn.study.starts import silent, too_late, too_slow
from sojourn.sweep import rounds, testbed
from sojourn.sweep.simulation import Done, Failed, reason, simulate_point
from sojourn.sweep.workers import Workers, spread

_ASIDE = ("users", "path", "record")
"""Keys that, set aside from the file, may take away what its figures show: that is said, and not refused."""


class Outcome(NamedTuple):
    """What became of a point: `error` is None when its result is on disk."""

    point: Point
    wall_s: float
    error: str | None


class Policy(Protocol):
    """Which points of a study are run, where neither all are nor `repeat` says how often."""

    def first(self, point: Point) -> bool:
        """Say whether a point is of the first round."""
        ...

    def further(
        self, study: Study, points: Sequence[Point], results: Sequence[Mapping[str, Any]]
    ) -> list[Point]:
        """Return the points of the next round; `points` were run and gave `results`."""
        ...


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
    policy
        Which points are run, round by round.
    on_testbed
        Run them between real programs instead of simulating them; by default in ``results/<study
        name>-testbed``.
    offload
        Hosts of the testbed have network cards that cut what they send into packets, and join what they
        receive (GRO). Without, acknowledgements are as frequent as simulated ones.
    """

    def __init__(
        self,
        study: Study,
        out: str | os.PathLike[str] | None = None,
        *,
        only: Mapping[str, Iterable[str]] | None = None,
        log: bool = False,
        policy: Policy | None = None,
        on_testbed: bool = False,
        offload: bool = True,
    ) -> None:
        self.study = study
        self.on_testbed = on_testbed
        self.offload = offload
        default = testbed.default_folder(study) if on_testbed else Path("results") / study.name
        self.store = Store(out if out is not None else default)
        self.points = [
            self._here(point) for point in study.select(only or {}) if policy is None or policy.first(point)
        ]
        if on_testbed:
            testbed.refuse(self.points, study.file)
        self._unknown = quantities.unknown(study.document, [point.document for point in study.points])
        if self._unknown and not any(key.split(".")[0] in _ASIDE for key, _ in study.sets):
            raise SojournError(f"{study.file}: {self._unknown[0]}")
        if absent := quantities.absent_tables(study.document, study.folder):
            raise SojournError(f"{study.file}: {absent[0]}")
        self.log = log
        once = study.document.get("repeat") != AUTO or "replication" in (only or {})
        self._further = policy.further if policy is not None else None if once else rounds.next_round
        self._before = self.store.read_study()
        self._plan: list[Point] = []
        self._named: dict[str, Point] = {}
        self.done: set[str] = set()
        self._stale: list[Point] = []
        self._damaged: dict[str, str] = {}
        self.todo: list[Point] = []
        self._take(list(map(self._here, study.points)) if policy is None else self.points)
        while not self.todo and self._another_round():
            pass
        self.unmade = video.unmade(point.document for point in self.todo)
        self.notes = self._differences(self._before)

    def _here(self, point: Point) -> Point:
        """Return a point under the name of its result where it is run."""
        return testbed.named(point, self.offload) if self.on_testbed else point

    def _take(self, points: Sequence[Point]) -> None:
        """Put points into the plan, and see which of them are still to do."""
        self._plan += points
        # Two points may be one scenario under two names; the first name in study order is the one stored.
        for point in points:
            self._named.setdefault(point.hash, point)
        wanted = self._wanted()
        new = {point.hash for point in points}
        for point in wanted:
            if point.hash in new and self.store.has(point.hash, packets=self.keeps_packets(point)):
                self._look_at(point)
        self.todo = [point for point in wanted if point.hash not in self.done]

    def _another_round(self) -> bool:
        """Plan the next round, if there are rounds; say whether there is one."""
        if self._further is None:
            return False
        results = [{**self.store.read_point(point.hash), **point.names} for point in self.points]
        more = [self._here(point) for point in self._further(self.study, self.points, results)]
        self.points += more
        self._take(more)
        return bool(more)

    @property
    def may_grow(self) -> bool:
        """Whether the results of what is still to do may ask for another round."""
        return self._further is not None and bool(self.todo)

    @property
    def planned(self) -> int:
        """Number of simulations that are wanted, as far as is known now."""
        return len(self._wanted())

    def stored(self) -> int:
        """Return how many of the wanted points are on disk now, told of or not."""
        return sum(self.store.has(point.hash) for point in self._wanted())

    def taken_over(self) -> str | None:
        """Say of whom the directory is now, if another run made it its own while this one ran."""
        try:
            now = self.store.read_study()
        except StoreError:
            return None
        if now is None or (now["study"], now["document"]) == (self.study.name, self.study.document):
            return None
        whose = (
            "another version of this study"
            if now["study"] == self.study.name
            else f"the study {now['study']!r}"
        )
        return (
            f"{self.store.path} became the directory of {whose} while this ran, and its page will show that; "
            "the points of both are on disk, and the same command makes the page this one's again"
        )

    def _wanted(self) -> list[Point]:
        return [self._named[point] for point in dict.fromkeys(point.hash for point in self.points)]

    def keeps_packets(self, point: Point) -> bool:
        """Say whether the packet log of a point is wanted, by `log` or by its scenario."""
        return self.log or bool(point.recorded.get("packets"))

    def _look_at(self, point: Point) -> None:
        """Count the stored result of a point as done, or as damaged."""
        try:
            stored = self.store.read_point(point.hash)
        except DamagedFile as error:
            self._damaged[point.hash] = error.found
            return
        if stored["engine"].get("build") != engine():
            self._damaged[point.hash] = (
                f"{self.store.point_file(point.hash)} is damaged: it names another engine"
            )
            return
        self.done.add(point.hash)
        if any(stored[key] != named for key, named in point.names.items()):
            self._stale.append(point)

    def _differences(self, before: dict[str, Any] | None) -> list[str]:
        """Return what the user should know before anything runs, in sentences."""
        notes = list(dict.fromkeys(point.note for point in self.todo if point.note))
        if self.on_testbed:
            notes += dict.fromkeys(note for point in self.todo for note in testbed.notes(point))
        cells = _cells(self.points)
        notes += starved(map(buffers, cells)) + too_late(cells) + too_slow(cells) + silent(cells)
        notes += [f"{wrong}; it is left out of the report" for wrong in self._unknown]
        notes += idle.said((point.labels, point.replication, point.hash) for point in self.study.points)
        axes = {axis: label for point in self.study.points for axis, label in point.labels.items()}
        notes += idle.unread(axes, self.study.document)
        notes += [f"{found}; it is computed again" for found in self._damaged.values()]
        if self.unmade:
            what = "1 clip is" if len(self.unmade) == 1 else f"{len(self.unmade)} clips are"
            notes.append(f"{what} encoded first, once for all runs: some seconds each")
        if before is None:
            return notes
        if before["study"] != self.study.name:
            notes.append(
                f"{self.store.path} holds results of the study {before['study']!r}; "
                f"a run makes it the directory of {self.study.name!r}, and the earlier points stay on disk"
            )
            return notes
        left = sorted(set(self.store.hashes()) - self._named.keys())
        others = [build for build in map(self.store.build_of, left) if build != engine()]
        if others:
            builds = ", ".join(sorted({build or BEFORE_BUILDS for build in others}))
            notes.append(
                f"{self.store.path} holds {counted(len(others), 'result')} of another engine ({builds}), "
                f"which stay as they are; this engine ({engine()}) computes its own"
            )
        if before := len(left) - len(others):
            notes.append(
                f"{self.store.path} holds {counted(before, 'point')} of another version of this study, kept "
                "on disk and not part of this one"
            )
        return notes

    def prepare(self) -> None:
        """Make the directory, write the study into it, and remove damaged results.

        Players in Python are imported here for the first time.
        """
        if self.on_testbed and self.todo:
            testbed.require()
        adaptive.import_players(point.document for point in self.todo)
        self.store.prepare(packets=any(self.keeps_packets(point) for point in self.todo))
        self._write_study()
        for damaged in self._damaged:
            self.store.remove_point(damaged)
        for point in self._stale:
            self._store(point, self.store.read_point(point.hash))

    @property
    def _where(self) -> str:
        return (" --on testbed" + ("" if self.offload else " --no-offload")) if self.on_testbed else ""

    def _write_study(self) -> None:
        """Write the study and its plan."""
        self.store.write_study(
            {
                "format": RESULT_FORMAT,
                "sojourn": _core.version(),
                "engine": engine(),
                "study": self.study.name,
                "seed": self.study.points[0].seed,
                "command": self.study.command + self._where,
                "out": str(self.store.path),
                "folder": str(self.study.folder.absolute()),
                "document": self.study.document,
                **({"testbed": testbed.identity(self.offload)} if self.on_testbed else {}),
                "points": rounds.in_order(self._entries(), self.study.points),
            }
        )

    def _entries(self) -> list[dict[str, Any]]:
        """Return the plan, and what earlier rounds of other cells of the same study have left on disk."""
        entries = [
            {"hash": point.hash, "point": point.labels, "replication": point.replication}
            for point in self._plan
        ]
        before = self._before or {}
        if self.study.document.get("repeat") == AUTO and before.get("document") == self.study.document:
            planned = {entry["hash"] for entry in entries}
            entries += rounds.further(before["points"], planned, self.store.has)
        return entries

    def _store(self, point: Point, stored: dict[str, Any]) -> None:
        self.store.write_point(point.hash, {**stored, **point.names})

    def execute(self, workers: Workers) -> Iterator[Outcome]:
        """Simulate the points that are missing; yield what became of each, as they finish.

        Clips that they show and that are not kept yet are encoded first. With ``repeat = "auto"`` further
        rounds follow, unless a point failed.
        """
        failed = False
        while True:
            for outcome in self._round(workers):
                failed = failed or outcome.error is not None
                yield outcome
            self.unmade = []
            if failed or not self._another_round():
                return
            self._write_study()

    def _round(self, workers: Workers) -> Iterator[Outcome]:
        for _, came in spread(workers, video.encode, [(need, need) for need in self.unmade]):
            if came is not None:
                raise SojournError(came if isinstance(came, str) else reason(came))
        out = str(self.store.path.absolute())
        tasks = [(point, (point, out, self.keeps_packets(point), engine())) for point in self.todo]
        on_testbed = partial(testbed.run_point, offload=self.offload)
        for point, came in spread(workers, on_testbed if self.on_testbed else simulate_point, tasks):
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
                yield Outcome(point, 0.0, reason(came))

    def not_held(self) -> list[Point]:
        """Return the points of the testbed whose bed did not hold, nor in a second attempt."""
        done = [point for point in self._wanted() if point.hash in self.done] if self.on_testbed else []
        return [point for point in done if not beds.held(self.store.read_point(point.hash))]

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


def _cells(points: Iterable[Point]) -> list[dict[str, Any]]:
    """Return the scenario of each cell; replications differ in nothing that notes are about."""
    return list({json.dumps(point.labels): point.document for point in points}.values())
