"""What a figure is asked to show (`Spec`), and the table that it is drawn from (`Plot`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sojourn.report.figures.scales import Scale
from sojourn.report.figures.values import Value, axis_name, lower
from sojourn.study import label_text


@dataclass(frozen=True)
class Spec:
    """One entry of a study's ``[[figures]]``, which the engine's schema has checked."""

    kind: str
    value: str = ""
    x: str | None = None
    y: str | None = None
    scale: str | None = None
    title: str | None = None
    caption: str | None = None
    label: str | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    solo: Mapping[str, str] = field(default_factory=dict)
    published: str | None = None
    published_where: Mapping[str, str] = field(default_factory=dict)
    published_column: str | None = None

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Spec:
        """Read an entry of the study document."""
        known = {key.replace("-", "_"): item for key, item in entry.items() if item}
        only = {axis: tuple(map(label_text, labels)) for axis, labels in known.pop("only", {}).items()}
        where = {column: label_text(label) for column, label in known.pop("published_where", {}).items()}
        return cls(**known, only=only, published_where=where)


@dataclass(frozen=True)
class Plot:
    """A figure's table with all that is needed to draw it.

    `frame` has the columns ``panel``, ``y``, ``x`` (labels), ``value``, ``low``, ``high`` (95 %
    interval of the mean over replications, null for one) and ``n`` (replications); box plots have ``p5`` to
    ``p95`` besides; of a CDF there is one row per observation. Cells that were not run have no row.
    """

    spec: Spec
    value: Value
    scale: Scale
    x: str
    y: str
    x_labels: list[str]
    y_labels: list[str]
    panels: list[str]
    frame: pl.DataFrame
    points: Mapping[tuple[str, str, str], Mapping[str, str]] = field(default_factory=dict)
    """Axis labels of each cell, by (panel, y, x)."""
    x_at: Mapping[str, float] = field(default_factory=dict)
    """Where the labels of x stand, in `x_unit`, if not where their own numbers say."""
    x_unit: str = ""
    panels_are: str = "each of the other settings"
    """What there is one panel for."""
    at_least: frozenset[tuple[str, str, str]] = frozenset()
    """Cells, by (panel, y, x), whose number is a lower bound: too little had ended when the run did."""

    across_at_least: frozenset[tuple[str, str, str]] = frozenset()
    """The same of the number that runs across a scatter plot."""

    @property
    def title(self) -> str:
        """The figure's own title, or the name of what it shows."""
        return self.spec.title or self.value.name

    @property
    def across(self) -> str:
        """The name of the x axis inside a sentence."""
        return lower(axis_name(self.x)) if self.x else ""

    @property
    def down(self) -> str:
        """The name of the y axis inside a sentence."""
        return lower(axis_name(self.y)) if self.y else ""

    @property
    def what(self) -> str:
        """The name of the value, with its unit, inside a sentence."""
        return self.value.phrase + (f" in {self.value.unit}" if self.value.unit else "")

    def words(self, panel: str, y: str, x: str, number: float | None) -> str:
        """Write the number of a cell, a lower bound as one."""
        return "≥ " * ((panel, y, x) in self.at_least) + self.value.text(number)

    def rows(self, panel: str) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the rows of a panel by (y, x)."""
        return {
            (row["y"], row["x"]): row
            for row in self.frame.filter(pl.col("panel") == panel).iter_rows(named=True)
        }


def labels_of(points: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return every axis of the points with its labels, in the order in which they appear."""
    axes: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, label in point.items():
            axes.setdefault(axis, {})[label_text(label)] = None
    return {axis: list(labels) for axis, labels in axes.items()}
