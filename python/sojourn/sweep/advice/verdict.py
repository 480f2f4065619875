"""The advice as plain JSON: the contract of ``sojourn recommend --json``."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

from sojourn.report.answer.goals import Goal
from sojourn.report.answer.scores import MATTERS
from sojourn.report.answer.verdicts import CLOSE, find
from sojourn.report.configure import links_of, routers
from sojourn.report.configure.tc import Link
from sojourn.results.bounded import lower_bounds
from sojourn.study.links import WAYS
from sojourn.sweep.advice import Found, elimination
from sojourn.sweep.advice.candidates import Candidate
from sojourn.sweep.advice.elimination import Numbers, worst_cell
from sojourn.sweep.advice.search import confidence

_DIGITS = 4


class Verdict:
    """Reads a search's findings for its answer."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.opinions = found.findings.scores(opinions=True)

    def as_json(self) -> dict[str, Any]:
        """Return the answer."""
        found = self.found
        chosen = found.chosen
        return {
            "recommended": _queues(found.candidates[chosen]),
            "scores": self._scores(chosen),
            "fifo_only": self._beside(found.best_fifo),
            "pareto": self._pareto(),
            "rules_of_thumb": self._rules(),
            "by_load": self._by_load(),
            "certain": found.decided == "worst" and not self._not_worse,
            "decided_by": found.decided,
            "alike": [_queues(found.candidates[name]) for name in found.standing.alike if name != chosen],
            "fifos_alike": [_queues(found.candidates[name]) for name in self._fifos_alike],
            "fifos_not_worse": [
                _queues(found.candidates[name])
                for name in self._not_worse
                if chosen != found.best_fifo and name in found.fifos and name not in found.race
            ],
            **self._fifos_decided(),
            "points": found.findings.points,
            "size": {way: routers.size(link) for way, link in self.links[0].items()},
            "configure": self._configure(),
            "goals": self._goals(),
            "line": {"down": found.asked.line.down, "up": found.asked.line.up, "rtt": found.asked.line.rtt},
            "users": found.asked.users,
            "candidates": found.asked.kinds,
            "unscored": found.findings.unscored(),
            "differs": list(dict.fromkeys(note for notes in self.links[1].values() for note in notes)),
            "tried": [self._beside(name) for name in self._tried()],
        }

    @cached_property
    def _not_worse(self) -> list[str]:
        """Than which candidates, sizes of a FIFO among them if it is one, the advice may not be better."""
        those = self._tried() if "fifo" in self.found.asked.kinds else self.found.race
        alike = self.found.findings.standing(those).alike
        return [name for name in those if name in alike and name != self.found.chosen]

    @cached_property
    def _fifos_alike(self) -> list[str]:
        """The sizes of a FIFO that cannot be told from the best one, those with the best scores first."""
        alike = self.found.findings.standing(self.found.fifos).alike
        others = [name for name in self.found.fifos if name in alike and name != self.found.best_fifo]
        return sorted(others, key=lambda name: -elimination.worth(self.opinions[name]))

    def _fifos_decided(self) -> dict[str, str]:
        """Return what decided between the sizes of a FIFO, where some cannot be told from the best one."""
        if not self._fifos_alike:
            return {}
        chosen, decided, _ = self.found.findings.choose(self.found.fifos)
        return {"fifos_decided_by": decided} if chosen == self.found.best_fifo else {}

    @cached_property
    def links(self) -> tuple[dict[str, Link], dict[str, list[str]]]:
        """The links of the line with the advice's queues, as routers are told of them."""
        return self._links_with(self.found.chosen)

    def _links_with(self, name: str) -> tuple[dict[str, Link], dict[str, list[str]]]:
        line, candidate = self.found.asked.line, self.found.candidates[name]
        ways = {way: {"rate": getattr(line, way), "queue": getattr(candidate, way)} for way in WAYS}
        return links_of({**ways, "rtt": line.rtt})

    def _configure(self) -> dict[str, str]:
        """Return the lines for Linux and OpenWrt; for a plain router those of the best FIFO."""
        links, fifo = self.links[0], self._links_with(self.found.best_fifo)[0]
        return {
            "linux-tc": routers.linux(links["down"], links["up"]),
            "openwrt-sqm": routers.openwrt(links["down"], links["up"]),
            "plain": routers.plain(fifo["down"], fifo["up"]),
        }

    def _scores(self, name: str) -> dict[str, Any]:
        numbers = self.opinions[name]
        cell, worst = worst_cell(numbers)
        return {
            "worst": round(worst, _DIGITS),
            "interval": self._among(self.found.race, name),
            "load": cell[0],
            "user": cell[1],
            "by_user": {
                who: self._of_user(numbers, who)
                for who in dict.fromkeys(who.split(".")[0] for _, who in numbers)
            },
            "utilisation": round(self.found.findings.utilisation(name), _DIGITS),
            **({"first_picture_ms": waits} if (waits := self.found.findings.first_picture(name)) else {}),
            "without_score": self.found.findings.without_score(name),
        }

    def _of_user(self, numbers: Numbers, kind: str) -> dict[str, Any]:
        mine = {cell: found for cell, found in numbers.items() if cell[1].split(".")[0] == kind}
        cell, worst = worst_cell(mine)
        return {
            "mos": round(worst, _DIGITS),
            "interval": self._interval(mine, cell),
            "load": cell[0],
            "by_load": {
                load: round(elimination.worth({c: n for c, n in mine.items() if c[0] == load}), _DIGITS)
                for load in dict.fromkeys(load for load, _ in mine)
            },
        }

    def _among(self, names: Sequence[str], name: str) -> list[float] | None:
        """Return the interval of a choice; it reaches to the best mean of those it was chosen among.

        Of candidates that cannot be told apart the chosen one need not have the best mean. Goals choose by
        something else, so then it is that of the score alone.
        """
        found = self._interval(self.opinions[name], worst_cell(self.opinions[name])[0])
        if found is None or self.found.asked.goals:
            return found
        best = max(elimination.worth(self.opinions[each]) for each in names)
        return [found[0], max(found[1], round(best, _DIGITS))]

    def _interval(self, numbers: Numbers, cell: tuple[str, str]) -> list[float] | None:
        ends = elimination.interval(list(numbers[cell].values()), 1.0, 5.0, confidence())
        return None if ends is None else [round(end, _DIGITS) for end in ends]

    def _beside(self, name: str) -> dict[str, Any]:
        """Return what a candidate is worth, and what it loses against the advice."""
        chosen, other = self.opinions[self.found.chosen], self.opinions[name]
        its, worth = worst_cell(other)
        lost = elimination.advantage(chosen, other, 0.95)
        return {
            **_queues(self.found.candidates[name]),
            "worst": round(worth, _DIGITS),
            "interval": self._among(self.found.fifos, name)
            if name == self.found.best_fifo
            else self._interval(other, its),
            "load": its[0],
            "user": its[1],
            "loss_mos": round(lost.mean, _DIGITS),
            "loss_within": None if lost.half is None else round(lost.half, _DIGITS),
            "utilisation": round(self.found.findings.utilisation(name), _DIGITS),
            "replications": len(other[its]),
            "without_score": self.found.findings.without_score(name),
        }

    def _goals(self) -> list[dict[str, Any]]:
        """Return, goal by goal, whether the advice keeps it under each load, and which other queues do."""
        chosen, loads = self.found.chosen, self.found.findings.cells(self.found.chosen).keys()
        said = []
        for goal in self.found.asked.goals:
            by_load = self._judged(goal, chosen)
            others = (name for name in self._tried() if name != chosen)
            kept_by = [name for name in others if self._keeps(goal, name, loads)]
            queues = [_queues(self.found.candidates[name]) for name in kept_by]
            said.append({"goal": goal.stated, "value": goal.path, "by_load": by_load, "kept_by": queues})
        return said

    def _judged(self, goal: Goal, name: str) -> dict[str, Any]:
        """Return whether a candidate keeps a goal, by load; loads without a number are left out."""
        by_load: dict[str, Any] = {}
        for load, cell in self.found.findings.cells(name).items():
            if (sample := goal.sample(cell, None)) is not None:
                bounded = any(goal.path in lower_bounds(result) for result in cell)
                kept = find(goal, sample, confidence(), bounded, goal.lacking(cell))
                by_load[load] = {
                    "mean": round(kept.mean, _DIGITS),
                    "interval": None
                    if kept.interval is None
                    else [round(end, _DIGITS) for end in kept.interval],
                    "verdict": "not certain" if kept.word == CLOSE else kept.word,
                    "without_number": kept.lacking,
                    "at_least": kept.at_least,
                }
        return by_load

    def _keeps(self, goal: Goal, name: str, loads: Iterable[str]) -> bool:
        """Tell whether a candidate keeps a goal under all of these loads, for certain."""
        judged = self._judged(goal, name)
        return all(load in judged and judged[load]["verdict"] == "yes" for load in loads)

    def _tried(self) -> list[str]:
        return list(dict.fromkeys([*self.found.race, *self.found.fifos]))

    def _rules(self) -> list[dict[str, Any]]:
        said = []
        for rule in self.found.rules:
            down, up = (f"{packets}pkt" for packets in rule.limits)
            about = self._beside(f"fifo {down}/{up}")
            limit = down if down == up else f"{down} down, {up} up"
            said.append({"rule": rule.name, "limit": limit, **about})
        return said

    def _pareto(self) -> list[dict[str, Any]]:
        """Return the candidates that none beats in both the worst score and utilisation, best score first."""
        names = self._tried()
        places = {
            name: (elimination.worth(self.opinions[name]), self.found.findings.utilisation(name))
            for name in names
        }
        front = [
            name
            for name in names
            if not any(_beats(places[other], places[name]) for other in names if other != name)
        ]
        front.sort(key=lambda name: (-places[name][0], -places[name][1], name))
        return [self._beside(name) for name in front]

    def _by_load(self) -> dict[str, Any]:
        """Return, load by load, what the advice gives and which queue would be best for that load alone."""
        said: dict[str, Any] = {}
        scores, found = self.found.findings.scores(), self.found
        for load in dict.fromkeys(load for load, _ in scores[found.chosen]):
            here = {
                name: {cell: numbers for cell, numbers in scores[name].items() if cell[0] == load}
                for name in found.race
            }
            standing = elimination.stand(here, found.asked.precision, confidence())
            opinions = {
                name: {cell: n for cell, n in self.opinions[name].items() if cell[0] == load}
                for name in found.race
            }
            behind = 0.0 if found.chosen == standing.best else standing.behind[found.chosen].mean
            alike = found.chosen in standing.alike or behind <= MATTERS
            best = found.chosen if alike else standing.best
            said[load] = {
                "recommended": _queues(found.candidates[best]),
                "same": alike,
                "worst": round(elimination.worth(opinions[best]), _DIGITS),
                "with_advice": round(elimination.worth(opinions[found.chosen]), _DIGITS),
                "most": round(self._most(load), _DIGITS),
                "users": {
                    who: round(fmean(n.values()), _DIGITS) for (_, who), n in opinions[found.chosen].items()
                },
            }
        return said

    def _most(self, load: str) -> float:
        """Return the most that the worst-off user gets under a load, of all that was tried."""
        return max(
            elimination.worth({cell: n for cell, n in self.opinions[name].items() if cell[0] == load})
            for name in self._tried()
        )


def _queues(candidate: Candidate) -> dict[str, Any]:
    return {"down": candidate.down, "up": candidate.up}


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other
