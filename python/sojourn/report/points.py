"""The table of all points: one row for each cell, every user's score with its interval over replications.

Its cells carry the number itself beside what is printed, so that a page can sort by it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sojourn.errors import spaced
from sojourn.report.figures.default import links_of, score_paths
from sojourn.report.figures.kinds.kind import is_number
from sojourn.report.figures.values import Value, axis_name, number_of, numbers_of, value
from sojourn.results.bounded import lower_bounds
from sojourn.results.distinct import distinct
from sojourn.results.interval import half_width
from sojourn.results.limits import Cell, by_cell
from sojourn.results.path import has_connections, look_up

_LIMITS = {"limit_pkts": "packets", "limit_bytes": "bytes", "limit_ms": "ms"}


@dataclass(frozen=True)
class Column:
    """A column: its heading, and whether it sorts as numbers or as text."""

    title: str
    sorts: str
    words: bool = False
    """It holds labels, which stand on the left."""


@dataclass(frozen=True)
class Entry:
    """What is printed in one place of the table, and the number that it is sorted by."""

    text: str
    number: float | None = None

    @property
    def sort(self) -> str:
        """The text that a page sorts by: the number, nothing where there is none, or the words."""
        return self.text if self.number is None and self.text != "–" else _plain(self.number)


@dataclass(frozen=True)
class Points:
    """The table; `heads` of the columns, and a row for each cell."""

    columns: list[Column]
    rows: list[list[Entry]]
    replicated: bool
    """Some cell has an interval."""


def points_table(
    results: Sequence[Mapping[str, Any]],
    axes: Mapping[str, list[str]],
    limits: Mapping[Cell, Mapping[str, float | None]],
    more: Sequence[str] = (),
    places: Callable[[str], tuple[dict[str, float], str] | None] = lambda _: None,
    runs: bool = True,
) -> Points:
    """Return a row for each cell in study order.

    Parameters
    ----------
    results
        All results.
    axes
        The axes of the sweep with their labels.
    limits
        By cell, the limits that differ, as :func:`sojourn.results.limits.columns` gives them.
    more
        Paths of numbers to show beside the users' scores and the links' delay, utilisation and loss.
    places
        Where the labels of an axis stand that are numbers of different units.
    runs
        Say how many replications a cell has; captures have none.
    """
    usual = [
        f"links.{link}.{name}"
        for link in links_of(results)
        for name in ("queue_delay_ms.mean", "queue_delay_ms.p95", "utilisation", "loss")
    ]
    goodput = ["flows.goodput_bps"] if has_connections(results) else []
    paths = dict.fromkeys([*score_paths(results), *more, *usual, *goodput])
    shown = [value(path) for path in paths if any(is_number(look_up(one, path)) for one in results)]
    cells = by_cell(results)
    named = {axis: _sorted_by(labels, places(axis)) for axis, labels in axes.items()}
    held = list(dict.fromkeys(name for cell in cells for name in limits.get(cell, {})))
    columns = [
        *(Column(axis_name(axis), "number" if numbers else "text", True) for axis, numbers in named.items()),
        *(Column(_limit_title(name), "number") for name in held),
        *([Column("Runs", "number")] if runs else []),
        *(Column(one.title, "number") for one in shown),
    ]
    rows = []
    drawn = {cell: distinct(found) for cell, found in cells.items()}
    for cell, found in cells.items():
        labels = dict(cell)
        row = [Entry(labels.get(axis, ""), named[axis].get(labels.get(axis, ""))) for axis in axes]
        row += [_limit(limits.get(cell, {}).get(name)) for name in held]
        row += [Entry(str(len(found)), len(found))] if runs else []
        for one in shown:
            numbers = [float(n) for result in drawn[cell] if is_number(n := look_up(result, one.path))]
            at_least = any(one.path in lower_bounds(result) for result in found)
            row.append(_mean(numbers, one, at_least))
        rows.append(row)
    return Points(columns, rows, any(len(found) > 1 for found in drawn.values()))


def _mean(numbers: Sequence[float], shown: Value, at_least: bool) -> Entry:
    if not numbers:
        return Entry("–")
    mean, half = fmean(numbers), half_width(numbers)
    if at_least:
        # Nobody knows how far a lower bound is from what it bounds.
        return Entry(f"≥ {shown.text(mean)}", mean * shown.factor)
    text = shown.text(mean) if half is None else " ± ".join(shown.alike(mean, half))
    return Entry(text, mean * shown.factor)


def _sorted_by(labels: list[str], stand: tuple[dict[str, float], str] | None) -> dict[str, float]:
    """Return the number that each label of an axis is sorted by, nothing where they are names."""
    if numbers_of(labels) is not None:
        return {label: number for label in labels if (number := number_of(label)) is not None}
    return stand[0] if stand else {}


def _limit(number: float | None) -> Entry:
    if number is None:
        return Entry("–")
    return Entry(f"{number:,.4g}" if number < 100 else spaced(number), number)


def _limit_title(name: str) -> str:
    *_, where, _, limit = name.split(".")
    return f"{where.capitalize()}link buffer ({_LIMITS[limit]})"


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:.9g}"
