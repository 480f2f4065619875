"""Scatter plots: one number of the results against another."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from sojourn.errors import SojournError
from sojourn.report.figures.kinds.kind import Kind, is_number
from sojourn.report.figures.panels import layout
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import at_least, look, settle
from sojourn.report.figures.values import axis_name, lower, number_of, value
from sojourn.results.path import look_up
from sojourn.study import label_text


class Scatter(Kind):
    """One number of the results, or an axis, against another: a mark for each cell."""

    name = "scatter"
    pooled = True
    bound = "hollow, with an arrow"

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return the axis that gives marks their shape."""
        if not spec.x:
            raise SojournError(
                f"figure {spec.value!r}: a scatter figure needs `x`, an axis or a number of the results"
            )
        return super().axes(spec, axes)

    def numbers(self, spec: Spec) -> list[str]:
        """Return the paths of both numbers."""
        return [spec.value, spec.x or ""]

    def entries(
        self, spec: Spec, result: Mapping[str, Any], across: str, down: str
    ) -> Iterator[tuple[str, str, Any]]:
        """Yield where the result stands."""
        x, y, point = spec.x or "", spec.y, result["point"]
        at = number_of(label_text(point[x])) if x in point else look_up(result, x)
        cell = ", ".join(label_text(label) for axis, label in point.items() if axis != y)
        yield cell, down, (at, look_up(result, spec.value))

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the mean of both numbers over replications."""
        pairs = [pair for pair in found if all(is_number(n) for n in pair)]
        if pairs:
            xs, ys = zip(*pairs, strict=True)
            yield {"at": fmean(xs), "value": fmean(ys), "n": len(pairs)}

    def draw(self, plot: Plot) -> Figure:
        """Draw one mark for each cell, its shape and colour by the label of y."""
        across = value(plot.spec.x or "")
        with layout(plot, x_title=across.title, height=3.8, panels=[""]) as (figure, panels):
            axes, _ = panels[0]
            for index, y in enumerate(plot.y_labels):
                rows = plot.frame.filter(pl.col("y") == y)
                if rows.height:
                    style = look(index)
                    axes.plot(
                        rows["at"].to_numpy() * across.factor,
                        rows["value"].to_numpy() * plot.value.factor,
                        linestyle="none",
                        marker=style["marker"],
                        color=style["color"],
                        alpha=0.85,
                        label=y or None,
                    )
                    for row in rows.iter_rows(named=True):
                        cell = ("", y, row["x"])
                        towards = (int(cell in plot.across_at_least), int(cell in plot.at_least))
                        if any(towards):
                            place = [row["at"] * across.factor], [row["value"] * plot.value.factor]
                            at_least(axes, *place, style, towards)
            settle(axes, grid="both")
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what a mark is, and where it stands."""
        mark = f", its shape the {plot.down}" if plot.down else ""
        found = value(plot.spec.x or "")
        named = found.phrase if "." in found.path or found.kind != "plain" else axis_name(found.path)
        return f"Each mark is one cell{mark}; {lower(named)} runs across and {plot.value.phrase} up"

    def csv(self, plot: Plot) -> pl.DataFrame:
        """Return the table with the names of both numbers."""
        named = {"x": "cell", "y": plot.y, "at": plot.spec.x or "at", "value": plot.value.path}
        spare = ["panel", *([] if plot.y else ["y"])]
        return plot.frame.drop(spare).rename({column: name for column, name in named.items() if name})
