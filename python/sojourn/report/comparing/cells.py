"""Cells of two studies matched by their labels, and every value of them compared."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from statistics import mean
from typing import Any

from sojourn.errors import SojournError, counted
from sojourn.report.comparing.settings import changed
from sojourn.report.comparing.welch import CONFIDENCE, holm, welch
from sojourn.report.figures import KINDS, labels_of
from sojourn.report.figures.default import SCORES as DRAWN
from sojourn.report.figures.values import Value, lower, value
from sojourn.results import Results, beds, bounded, engines, excess
from sojourn.results.bounded import lower_bounds
from sojourn.results.path import has_connections, link_of, look_up, paths
from sojourn.study import label_text
from sojourn.study.grouped import grouped

SCORES = (
    *(path for shown in DRAWN for path in shown.paths),
    "video.mos.median",
    "web.plt_s.median",
    "call.sends.rate_kbps.mean",
    "call.receives.rate_kbps.mean",
    "adaptive.stall_s",
    "adaptive.switches",
    "adaptive.unfairness",
    "flows.goodput_bps",
)
"""Values that are compared wherever both results have them, beside those of the studies' figures."""
_OF_LINKS = ("utilisation", "loss", "queue_delay_ms.mean", "queue_delay_ms.p95")

Cell = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Difference:
    """One value in one cell of both studies.

    Attributes
    ----------
    cell : tuple of (axis, label)
    value : Value
    first, second : tuple of float
        The value of every replication.
    interval : tuple of float, or None
        95 % interval of the difference of means; None where it cannot be said.
    p : float or None
        Of no difference, by Welch's t.
    holm : bool or None
        Whether it stays larger when all differences are to be right together.
    at_least : bool
        One of the means is a lower bound: what it is of had not ended when the run did. Nothing can be said
        then.
    """

    cell: Cell
    value: Value
    first: tuple[float, ...]
    second: tuple[float, ...]
    interval: tuple[float, float] | None
    p: float | None
    holm: bool | None = None
    at_least: bool = False

    @property
    def difference(self) -> float:
        """Mean of the second less mean of the first."""
        return mean(self.second) - mean(self.first)

    @property
    def larger(self) -> bool | None:
        """Whether the difference is larger than its interval; None where it cannot be said."""
        return None if self.interval is None else not self.interval[0] <= 0.0 <= self.interval[1]

    @property
    def varies(self) -> bool:
        """Whether chance can move it: not where no replication differs from another."""
        return len(set(self.first)) > 1 or len(set(self.second)) > 1

    @property
    def verdict(self) -> str:
        """What may be said of it."""
        if self.at_least:
            return "cannot be said: a lower bound"
        if self.larger is None:
            few = min(len(self.first), len(self.second)) < 2
            return "cannot be said: one replication" if few else "cannot be said: no spread"
        if not self.larger:
            return "not larger than its interval"
        return "larger, also by Holm" if self.holm else "larger than its interval"

    @property
    def better(self) -> bool | None:
        """Whether the second is better, where it is known which way is.

        A link is used by retransmissions, too: more of it used is neither better nor worse for anyone.
        """
        used = self.value.path.startswith("links.") and self.value.kind == "utilisation"
        way = None if used else {"low": -1, "high": 1}.get(self.value.better)
        return None if way is None or not self.difference else self.difference * way > 0


@dataclass(frozen=True)
class Comparison:
    """What two folders of results have in common, and where they differ."""

    names: tuple[str, str]
    axes: dict[str, list[str]]
    cells: int
    same: int
    """Cells whose results are the very same in both."""
    differences: list[Difference]
    not_compared: list[str]
    """A sentence for everything that cannot be compared, with the reason."""
    settings: list[tuple[str, str, str]] = field(default_factory=list)
    """Keys of the study that differ: key, first, second."""
    engines: tuple[list[str], list[str]] = ([], [])
    beds: list[str] = field(default_factory=list)
    """Of results that real programs made: sentences."""
    bounds: list[str] = field(default_factory=list)
    """Of numbers that are lower bounds: sentences."""
    losses: list[str] = field(default_factory=list)
    """Of links that lost more than came, if losses are compared: sentences."""

    @property
    def judged(self) -> list[Difference]:
        """Those of which something can be said."""
        return [one for one in self.differences if one.larger is not None]

    @property
    def larger(self) -> list[Difference]:
        """Those larger than their interval, the surest first."""
        return sorted((one for one in self.judged if one.larger), key=lambda one: one.p or 0.0)

    @property
    def by_chance(self) -> float:
        """How many would be larger than their intervals if nothing differed."""
        return (1 - CONFIDENCE) * sum(one.varies for one in self.judged)


def compare(first: Results, second: Results, values: Sequence[str] = ()) -> Comparison:
    """Compare two folders of results.

    Parameters
    ----------
    first, second
        Results; differences are second less first.
    values
        Dotted paths of a result to compare, in place of the values of figures and the scores.

    Raises
    ------
    SojournError
        One of them is empty, no cell of one has a counterpart in the other, or a value is in neither.
    """
    both = [list(first), list(second)]
    for results, of in zip(both, (first, second), strict=True):
        if not results:
            raise SojournError(f"{of.store.path} holds no finished points; run its study first")
    labels = [labels_of(one["point"] for one in results) for results in both]
    names = _names(first, second)
    shared, notes = _shared_axes(labels, names)
    cells = [_cells(results, shared) for results in both]
    common = [cell for cell in cells[0] if cell in cells[1]]
    if not common:
        raise SojournError(
            f"no cell of {first.store.path} has a counterpart in {second.store.path}: "
            f"the first sweeps {_said(labels[0])}; the second {_said(labels[1])}"
        )
    chosen, missing = _paths(values, first, second, both)
    found, alone = _differences(chosen, [[here[cell] for here in cells] for cell in common], common)
    called = {path: lower(value(path).name) for path in chosen}

    def said(of: Callable[[Sequence[Mapping[str, Any]]], list[str]]) -> list[str]:
        named = zip(names, both, strict=True)
        return [f"{name}: {sentence}" for name, results in named for sentence in of(results)]

    return Comparison(
        names=names,
        axes={axis: [label for label in labels[0][axis] if label in labels[1][axis]] for axis in shared},
        cells=len(common),
        same=sum(_bare(cells[0][cell]) == _bare(cells[1][cell]) for cell in common),
        differences=found,
        not_compared=[*notes, *_without(cells, len(common), (first, second), names), *missing, *alone],
        settings=changed(first.document, second.document),
        engines=(engines(both[0]), engines(both[1])),
        beds=said(beds.said),
        bounds=said(lambda results: bounded.said(results, called)),
        losses=said(excess.said) if any(one.value.kind == "loss" for one in found) else [],
    )


def _without(
    cells: Sequence[Mapping[Cell, Any]], common: int, of: Sequence[Results], names: Sequence[str]
) -> list[str]:
    """Say of each side which cells have no counterpart, and which points are not there yet."""
    notes = [
        f"{len(here) - common} of {len(here)} cells of {name} "
        f"{'has' if len(here) - common == 1 else 'have'} no counterpart."
        for here, name in zip(cells, names, strict=True)
        if len(here) > common
    ]
    for results, name in zip(of, names, strict=True):
        if results.missing:
            are = "is" if results.missing == 1 else "are"
            notes.append(f"{counted(results.missing, 'point')} of {name} {are} not there yet.")
    return notes


def _differences(
    chosen: Sequence[str], runs: Sequence[Sequence[Sequence[Mapping[str, Any]]]], common: Sequence[Cell]
) -> tuple[list[Difference], list[str]]:
    """Compare the chosen numbers in all common cells; say which are in some cells on one side only.

    `runs` has the replications of both sides for each cell.
    """
    found: list[Difference] = []
    alone = []
    for path in chosen:
        sides = [[_numbers(here, path) for here in each] for each in runs]
        found += [
            _difference(
                cell, value(path), *numbers, any(path in lower_bounds(run) for here in each for run in here)
            )
            for cell, each, numbers in zip(common, runs, sides, strict=True)
            if all(numbers)
        ]
        if lonely := sum(any(numbers) and not all(numbers) for numbers in sides):
            alone.append(f"{value(path).name} is in {lonely} of {len(common)} cells on one side only.")
    stays = iter(holm([one.p for one in found if one.p is not None]))
    return [one if one.p is None else replace(one, holm=next(stays)) for one in found], alone


def _names(first: Results, second: Results) -> tuple[str, str]:
    """Name the folders by their last part, or as far up as it takes to tell them apart."""
    parts = [of.store.path.resolve().parts for of in (first, second)]
    for last in range(1, max(map(len, parts))):
        names = ["/".join(path[-last:]) for path in parts]
        if names[0] != names[1]:
            return names[0], names[1]
    return f"{first.name} (first)", f"{second.name} (second)"


def _shared_axes(
    labels: Sequence[Mapping[str, list[str]]], names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the axes by which cells are matched; an axis of one label may be on one side alone."""
    notes = []
    for here, there, name in (
        (labels[0], labels[1], names[0]),
        (labels[1], labels[0], names[1]),
    ):
        for axis, there_are in here.items():
            if axis not in there:
                if len(there_are) > 1:
                    raise SojournError(
                        f"cells cannot be matched: {name} sweeps {axis} over {', '.join(there_are)}, "
                        f"the other sweeps {_said(there)}; name results that share their axes"
                    )
                notes.append(f"Only {name} has the axis {axis}, with one label, {there_are[0]}.")
    return [axis for axis in labels[0] if axis in labels[1]], notes


def _said(labels: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{axis}: {', '.join(there)}" for axis, there in labels.items()) or "nothing"


def _cells(results: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> dict[Cell, list[Mapping[str, Any]]]:
    """Return the replications of every cell, by its labels."""
    return grouped(
        (tuple((axis, label_text(result["point"][axis])) for axis in axes), result) for result in results
    )


def _paths(
    asked: Sequence[str], first: Results, second: Results, both: Sequence[Sequence[Mapping[str, Any]]]
) -> tuple[list[str], list[str]]:
    """Return the paths to compare, and a sentence for each that only one side has."""
    there = [{path for result in results for path in _scalars(result)} for results in both]
    for path in asked:
        if path not in there[0] | there[1]:
            near = get_close_matches(path, sorted(there[0] | there[1]), n=3)
            meant = (
                f"did you mean {' or '.join(near)}?" if near else "`sojourn show RESULTS POINT` lists them"
            )
            raise SojournError(f"--value {path}: no result has this number; {meant}")
    drawn = [
        figure["value"]
        for of in (first, second)
        for figure in of.document.get("figures") or []
        if figure.get("value") and KINDS[figure["kind"]].compared
    ]
    links = sorted(
        {link for side in there for path in side if path.startswith("links.") and (link := link_of(path))}
    )
    scores = [path for path in SCORES if path != "flows.goodput_bps" or any(map(has_connections, both))]
    usual = [*drawn, *scores, *(f"links.{link}.{name}" for link in links for name in _OF_LINKS)]
    wanted = list(dict.fromkeys(asked or usual))
    notes = [
        f"{value(path).name} is only in {'the first' if path in there[0] else 'the second'}."
        for path in wanted
        if (path in there[0]) != (path in there[1])
    ]
    return [path for path in wanted if path in there[0] and path in there[1]], notes


def _scalars(result: Mapping[str, Any]) -> Iterator[str]:
    return (path for path in paths(result) if isinstance(look_up(result, path), int | float))


def _numbers(results: Sequence[Mapping[str, Any]], path: str) -> tuple[float, ...]:
    """Return the value of every replication that has one."""
    found = (look_up(result, path) for result in results)
    return tuple(float(number) for number in found if isinstance(number, int | float))


def _difference(
    cell: Cell, shown: Value, first: tuple[float, ...], second: tuple[float, ...], at_least: bool = False
) -> Difference:
    found = None if at_least else welch(first, second)
    interval, p = (None, None) if found is None else ((found.low, found.high), found.p)
    return Difference(cell, shown, first, second, interval, p, at_least=at_least)


def _bare(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return results without what names their study and engine."""
    named = ("study", "point", "engine", "hash", "sha256", "seed")
    return [{key: part for key, part in result.items() if key not in named} for result in results]
