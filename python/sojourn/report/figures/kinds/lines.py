"""Lines: a number over an axis, with 95 % intervals over replications, one line for each y.

Where the axis is one of names and not of numbers, the points are not joined: there is nothing between them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from sojourn.report.figures.kinds.kind import Kind, one_for_each
from sojourn.report.figures.panels import label_ticks, layout
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import at_least, look, settle
from sojourn.report.figures.values import axis_name, numbers_of, shared_unit, tick


class Lines(Kind):
    """One line for each label of y; the bars are 95 % intervals of the mean."""

    name = "lines"
    listed = compared = True
    bound = "hollow, with an arrow"

    def draw(self, plot: Plot) -> Figure:
        """Draw one line for each label of y; the bars are 95 % intervals of the mean."""
        at = plot.x_at or places(plot.x_labels)
        joined = bool(plot.x_at) or numbers_of(plot.x_labels) is not None
        # Long names stand aslant, and need room below.
        height = 3.2 if joined else 3.1 + 0.055 * max(map(len, plot.x_labels))
        title = f"{axis_name(plot.x)}, placed by {plot.x_unit}" if plot.x_unit else None
        with layout(plot, height=height, x_title=title) as (figure, panels):
            for axes, panel in panels:
                rows = plot.rows(panel)
                for index, y in enumerate(plot.y_labels):
                    there = [(at[x], rows[y, x]) for x in plot.x_labels if (y, x) in rows]
                    if not there:
                        continue
                    there.sort(key=lambda pair: pair[0])
                    f = plot.value.factor
                    style = look(index) if joined else {**look(index), "linestyle": "none"}
                    xs, found = zip(*there, strict=True)
                    axes.plot(
                        xs, [row["value"] * f for row in found], label=y or None, clip_on=False, **style
                    )
                    bounds = [row for _, row in there if (panel, y, row["x"]) in plot.at_least]
                    at_least(
                        axes, [at[row["x"]] for row in bounds], [row["value"] * f for row in bounds], style
                    )
                    bars = [(x, row) for x, row in there if row["low"] is not None]
                    if bars:
                        xs, found = zip(*bars, strict=True)
                        middle = [(row["low"] + row["high"]) / 2 * f for row in found]
                        half = [(row["high"] - row["low"]) / 2 * f for row in found]
                        bar = {"fmt": "none", "ecolor": style["color"], "capsize": 3, "elinewidth": 1}
                        axes.errorbar(xs, middle, half, **bar)
                label_x(axes, plot.x_labels, plot.x_at)
                settle(axes)
                # A value of 0 is a whole mark on the axis, above its label.
                axes.tick_params(axis="x", pad=5)
            # Panels share their scale, which a limit set before the last of them is drawn would freeze.
            highest = max(axes.dataLim.y1 for axes, _ in panels)
            for axes, _ in panels:
                if plot.value.kind == "mos":
                    axes.set_ylim(0.9, 4.6 if plot.value.path.startswith("voice.") else 5.1)
                elif plot.value.unit == "%" or plot.value.better:
                    # Room above the highest is of the whole scale, not of what the values differ by.
                    axes.set_ylim(0, (1 + axes.margins()[1]) * highest if highest > 0 else None)
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what lines and bars are."""
        line = one_for_each(plot.down, "line")
        return f"The {plot.what} over the {plot.across}{line}{clause_of_bars(plot)}"


class Clients(Lines):
    """Lines of a value that is a list: one for each of its entries, as the rates of viewers."""

    name = "clients"
    compared = False

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return the axis that runs across; what runs down are the entries."""
        return super().axes(spec, axes)[0], ""

    def entries(
        self, spec: Spec, result: Mapping[str, Any], across: str, down: str
    ) -> Iterator[tuple[str, str, Any]]:
        """Yield each entry of the list."""
        for cell in super().entries(spec, result, across, down):
            if isinstance(cell[2], list):
                yield from ((across, f"client {n}", entry) for n, entry in enumerate(cell[2], start=1))
            else:
                yield cell

    def explain(self, plot: Plot) -> str:
        """Say what lines and bars are."""
        return f"The {plot.what} over the {plot.across}, one line for each{clause_of_bars(plot)}"

    def csv(self, plot: Plot) -> pl.DataFrame:
        """Return the table with the client of each row."""
        return super().csv(replace(plot, y="client"))


def clause_of_bars(plot: Plot) -> str:
    """Say what the bars are, where there are any: one replication has no interval."""
    if "low" not in plot.frame.columns or plot.frame["low"].null_count() == plot.frame.height:
        return ""
    return "; bars are 95 % intervals over replications"


def places(labels: list[str]) -> dict[str, float]:
    """Return where the labels stand: at their number if all have one, else one after the other."""
    numbers = numbers_of(labels) or [float(place) for place in range(len(labels))]
    return dict(zip(labels, numbers, strict=True))


def label_x(axes: Axes, labels: list[str], x_at: Mapping[str, float] | None = None) -> None:
    """Put a tick at every label, on a logarithmic axis where the numbers span much."""
    at = x_at or places(labels)
    values = sorted(at.values())
    numeric = bool(x_at) or numbers_of(labels) is not None
    if numeric and values[0] > 0 and values[-1] >= 8 * values[0]:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    unit = shared_unit(labels)
    label_ticks(axes, list(at.values()), [tick(label, unit) for label in at])
    axes.margins(x=0.05)
