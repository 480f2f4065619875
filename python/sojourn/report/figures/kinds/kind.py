"""What all kinds of figures have in common: what they gather, draw and explain."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from statistics import fmean, median
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from sojourn.errors import SojournError
from sojourn.report.figures.plot import Plot, Spec
from sojourn.results.interval import half_width
from sojourn.results.path import look_up
from sojourn.study.bounds import bounds


class Kind(ABC):
    """A kind of figure of one number per cell; other kinds replace what they do otherwise."""

    name: str
    """As a study file writes it."""
    value = ""
    """The number that it shows where a study names none."""
    listed = False
    """The page has the numbers as text, too."""
    compared = False
    """A published table can be set beside it: it has one number for each cell of its two axes."""
    pooled = False
    """The axes that are neither x nor y go into one picture, in place of a panel for each of their labels."""

    bound = ""
    """How it marks a number that is a lower bound; nothing: it does not."""

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return the axes of the sweep that run across and down, nothing where none does."""
        if self.pooled:
            return "", spec.y or first_axis(axes)
        several = [axis for axis, labels in axes.items() if len(labels) > 1]
        x = spec.x or next((axis for axis in several[::-1] if axis != spec.y), "")
        return x, spec.y or next((axis for axis in several if axis != x), "")

    def numbers(self, spec: Spec) -> list[str]:
        """Return the paths of the results that the figure shows."""
        return [spec.value]

    def entries(
        self, spec: Spec, result: Mapping[str, Any], across: str, down: str
    ) -> Iterator[tuple[str, str, Any]]:
        """Yield what a result adds to its cells: the cell's labels across and down, and what was found."""
        found = look_up(result, spec.value)
        if found is not None:
            yield across, down, found

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a cell from what its replications hold."""
        numbers = [float(number) for number in found if is_number(number)]
        if numbers:
            centre = median if spec.value.endswith((".median", ".p50")) else fmean
            half = half_width(numbers)
            mean = fmean(numbers)
            least, most = bounds(spec.value)
            low, high = (
                (None, None) if half is None else (max(mean - half, least), min(mean + half, max(most, mean)))
            )
            yield {"value": centre(numbers), "low": low, "high": high, "n": len(numbers)}
        elif any(number is not None for number in found):
            raise SojournError(
                f"figure {spec.value!r}: this is no single number in the results; expected one"
            )

    @abstractmethod
    def draw(self, plot: Plot) -> Figure:
        """Draw the table."""

    @abstractmethod
    def explain(self, plot: Plot) -> str:
        """Return a sentence, without its full stop, on what the marks of the figure are."""

    def beside(self, plot: Plot, published: pl.DataFrame, title: str) -> dict[str, tuple[str, Figure]]:
        """Return pictures of what was published in the same form, by name, each with its title.

        `published` has the columns ``panel``, ``x``, ``y``, ``published`` and ``difference``; `title` names
        the publication.
        """
        return {}

    def csv(self, plot: Plot) -> pl.DataFrame:
        """Return the table with the axes' own names and the value's full path."""
        renamed = {"value": plot.value.path, "x": plot.x, "y": plot.y}
        dropped = [column for column, axis in renamed.items() if not axis]
        dropped += ["panel"] if plot.panels == [""] else []
        return plot.frame.drop(dropped).rename({k: v for k, v in renamed.items() if v})


class Whole(Kind):
    """A kind whose value is a whole picture: an object of lists of one length, for each replication."""

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return no axis: every combination has a panel."""
        return "", ""

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield a row for each entry of the lists, replication after replication."""
        for replication, lists in enumerate(found):
            if not isinstance(lists, Mapping) or not all(isinstance(item, list) for item in lists.values()):
                raise SojournError(
                    f"a {self.name} figure needs an object of lists, which {spec.value!r} is not; "
                    "expected, for example, 'losses.down.bursts.ccdf'"
                )
            yield from ({"n": replication, **row} for row in self.entries_of(lists))

    def entries_of(self, lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
        """Yield the rows of one replication."""
        for row in zip(*lists.values(), strict=True):
            yield dict(zip(lists, row, strict=True))

    def csv(self, plot: Plot) -> pl.DataFrame:
        """Return the table with the y axis' own name and the replication of each row."""
        named = {"n": "replication", **({"y": plot.y} if plot.y else {})}
        spare = ["x", *([] if plot.y else ["y"]), *(["panel"] if plot.panels == [""] else [])]
        return plot.frame.drop(spare).rename(named)


def first_axis(axes: Mapping[str, list[str]]) -> str:
    """Return the first axis that has several labels, else the first of all."""
    return next((axis for axis, labels in axes.items() if len(labels) > 1), next(iter(axes), ""))


def one_for_each(axis: str, mark: str = "") -> str:
    """Return a clause that says what there is one of for each label of an axis, nothing without axis."""
    return f", one {mark + ' ' if mark else ''}for each {axis}" if axis else ""


def is_number(item: Any) -> bool:
    """Say whether something is a finite number."""
    return isinstance(item, int | float) and not isinstance(item, bool) and isfinite(item)
