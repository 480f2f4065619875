"""The search: a study run in rounds, in which candidates drop out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from sojourn.errors import SojournError
from sojourn.report.answer import scores
from sojourn.report.answer.goals import Goal
from sojourn.study import Point, Study
from sojourn.study.grouped import grouped
from sojourn.sweep.advice import elimination
from sojourn.sweep.advice.elimination import Cell, Standing
from sojourn.sweep.advice.loads import IDLE, NONE
from sojourn.sweep.advice.question import FIRST, MOST, Question

Pair = tuple[str, ...]
"""A candidate as its study labels it: the labels of the axes of its queues."""


class Run(NamedTuple):
    """One point that was run: its load, its replication, and its result."""

    load: str
    replication: int
    result: Mapping[str, Any]
    users: Sequence[Mapping[str, Any]]


class Findings:
    """What was found of all candidates, whichever study ran them."""

    def __init__(self, asked: Question) -> None:
        self.asked = asked
        self.runs: dict[str, list[Run]] = {}
        self._known: set[str] = set()

    @property
    def points(self) -> int:
        """Number of simulations that were looked at."""
        return len(self._known)

    def take(
        self, points: Sequence[Point], results: Sequence[Mapping[str, Any]], names: Mapping[Pair, str]
    ) -> None:
        """Take the results of points, each once; `names` of their candidates by label."""
        for point, result in zip(points, results, strict=True):
            if point.hash not in self._known:
                self._known.add(point.hash)
                run = Run(load_of(point), point.replication, result, point.document["users"])
                self.runs.setdefault(names[pair_of(point)], []).append(run)

    def first_picture(self, name: str) -> dict[str, dict[str, Any]]:
        """Return how long viewers wait for the first picture under each load, the mean over replications."""
        waits = [(run.load, wait) for run in self.runs[name] if (wait := scores.first_picture_ms(run.result))]
        return {
            load: {
                "median": round(fmean(ms for ms, _ in found), 3),
                "at_least": any(late for _, late in found),
            }
            for load, found in grouped(waits).items()
        }

    def _read(self, goals: Sequence[Goal]) -> dict[str, list[tuple[Run, dict[str, float]]]]:
        """Return every run with its places on the scales of these goals, or its opinion scores if none."""
        return {
            name: [
                (run, scores.on_scale(run.result, goals) if goals else scores.opinions(run.result, run.users))
                for run in runs
            ]
            for name, runs in self.runs.items()
        }

    def without_score(self, name: str) -> list[dict[str, Any]]:
        """Return which users have no score in how many runs of a candidate, load by load.

        Users without a score in any run of any candidate are left out; see :meth:`unscored`.
        """
        read = self._read([])
        everyone = dict.fromkeys(who for rows in read.values() for _, found in rows for who in found)
        said = []
        for load, rows in grouped((run.load, found) for run, found in read[name]).items():
            for who in everyone:
                if count := sum(who not in found for found in rows):
                    said.append({"load": load, "user": who, "runs": count, "of": len(rows)})
        return said

    def scores(self, *, opinions: bool = False) -> dict[str, dict[Cell, dict[int, float]]]:
        """Return the numbers that decide: opinion scores, or places on the scales of the user's own goals.

        A user who has no score in a run (no call was over when it ended) has the worst there is, as long as
        any run has one.
        """
        goals = [] if opinions else self.asked.goals
        least = 0.0 if goals else 1.0
        read = self._read(goals)
        everyone = list(dict.fromkeys(who for rows in read.values() for _, found in rows for who in found))
        if read and not everyone:
            what = "a value for any of the goals" if goals else "a score of any of the users"
            raise SojournError(f"no run has {what}, so that nothing tells the queues apart")
        made: dict[str, dict[Cell, dict[int, float]]] = {}
        for name, rows in read.items():
            cells: dict[Cell, dict[int, float]] = {}
            for run, found in sorted(rows, key=lambda row: row[0].replication):
                for who in everyone:
                    cells.setdefault((run.load, who), {})[run.replication] = found.get(who, least)
            made[name] = cells
        return made

    def unscored(self) -> list[str]:
        """Return the kinds of users that have a score in no run."""
        scored = {who.split(".")[0] for numbers in self.scores(opinions=True).values() for _, who in numbers}
        asked = (user["kind"] for runs in self.runs.values() for run in runs for user in run.users)
        return [kind for kind in dict.fromkeys(asked) if kind not in scored]

    def cells(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """Return the results of a candidate by load, each with its replication."""
        runs = sorted(self.runs[name], key=lambda run: run.replication)
        return grouped((run.load, {**run.result, "replication": run.replication}) for run in runs)

    def delays(self) -> dict[str, dict[int, float]]:
        """Return, by candidate and replication, the mean queueing delay over loads, in ms."""
        return {name: self._over_loads(name, scores.delay_ms) for name in self.runs}

    def utilisation(self, name: str) -> float:
        """Return the mean utilisation of the busiest link over the loads with traffic."""
        loaded = [run for run in self.runs[name] if run.load != IDLE] or self.runs[name]
        return fmean(number for run in loaded if (number := scores.utilisation(run.result)) is not None)

    def _over_loads(self, name: str, measure: Callable[[Mapping[str, Any]], float]) -> dict[int, float]:
        by_time = grouped((run.replication, measure(run.result)) for run in self.runs[name])
        return {at: fmean(numbers) for at, numbers in sorted(by_time.items())}

    def standing(self, among: Iterable[str]) -> Standing:
        """Return where some candidates stand now."""
        found = self.scores()
        there = {name: found[name] for name in among if name in found}
        return elimination.stand(there, self.asked.precision, confidence())

    def choose(self, among: Iterable[str]) -> tuple[str, str, Standing]:
        """Return the choice among some candidates, what decided, and where they stand."""
        found, names = self.scores(), [name for name in among if name in self.runs]
        standing = self.standing(names)
        mine = {name: found[name] for name in names}
        chosen, decided = elimination.choose(
            mine, self.delays(), standing, self.asked.precision, confidence()
        )
        return chosen, decided, standing


class Rounds:
    """Which points a study runs next; a policy of :class:`sojourn.sweep.campaign.Campaign`.

    Parameters
    ----------
    findings
        What was found so far; it is told of all results.
    names
        By the labels of its queues, the candidates of the study.
    first
        Those of the first round.
    more
        Names candidates that join after a round.
    most
        Replications that a candidate gets at most.
    """

    def __init__(
        self,
        findings: Findings,
        names: Mapping[Pair, str],
        first: Iterable[str],
        more: Callable[[Findings], Iterable[str]] | None = None,
        most: int = MOST,
    ) -> None:
        self.findings, self._names, self._more, self._most = findings, names, more, most
        self.had = dict.fromkeys(first, FIRST)

    def first(self, point: Point) -> bool:
        """Say whether a point is of the first round."""
        return self._name(point.labels) in self.had

    def further(
        self, study: Study, points: Sequence[Point], results: Sequence[Mapping[str, Any]]
    ) -> list[Point]:
        """Return the points of the next round, none when nothing is left to settle."""
        self.findings.take(points, results, self._names)
        around = self._more(self.findings) if self._more is not None else ()
        if joining := [name for name in around if name not in self.had]:
            self.had |= dict.fromkeys(joining, FIRST)
            return study.replicated(dict.fromkeys(joining, range(FIRST)), self._name)
        standing = self.findings.standing(self.had)
        wanted = {}
        for name in (standing.best, *standing.open) if standing.open else ():
            if self.had[name] < self._most:
                wanted[name] = range(self.had[name], 2 * self.had[name])
                self.had[name] *= 2
        return study.replicated(wanted, self._name)

    def _name(self, labels: Mapping[str, Any]) -> str:
        return self._names[_pair(labels)]


def looks() -> int:
    """Return how often candidates may be compared."""
    count, times = 1, FIRST
    while times < MOST:
        count, times = count + 1, 2 * times
    return count


def confidence() -> float:
    """Return the confidence of one comparison, so that all looks at one pair of candidates have 95 %."""
    return 1 - 0.05 / looks()


def pair_of(point: Point) -> Pair:
    """Return the labels of a point's queues."""
    return _pair(point.labels)


def load_of(point: Point) -> str:
    """Return the load of a point, as people call it."""
    label = str(point.labels["workload"])
    return IDLE if label == NONE else label


def _pair(labels: Mapping[str, Any]) -> Pair:
    return tuple(str(label) for axis, label in labels.items() if axis != "workload")
