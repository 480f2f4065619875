"""Lines: a number over an axis, with 95 % intervals over replications, one line for each y.

Where the axis is one of names and not of numbers, the points are not joined: there is nothing between them.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from sojourn.report.figures.gather import Plot
from sojourn.report.figures.panels import label_ticks, layout
from sojourn.report.figures.style import look, settle
from sojourn.report.figures.values import number_of, shared_unit, tick


def lines(plot: Plot) -> Figure:
    """Draw one line for each label of y; the bars are 95 % intervals of the mean."""
    at = places(plot.x_labels)
    joined = all(number_of(label) is not None for label in plot.x_labels)
    # Long names stand aslant, and need room below.
    height = 3.2 if joined else 3.1 + 0.055 * max(map(len, plot.x_labels))
    with layout(plot, height=height) as (figure, panels):
        for axes, panel in panels:
            rows = plot.rows(panel)
            for index, y in enumerate(plot.y_labels):
                there = [(at[x], rows[y, x]) for x in plot.x_labels if (y, x) in rows]
                if not there:
                    continue
                there.sort(key=lambda pair: pair[0])
                f = plot.value.factor
                style = look(index) if joined else {**look(index), "linestyle": "none"}
                axes.plot(
                    [x for x, _ in there], [row["value"] * f for _, row in there], label=y or None, **style
                )
                bars = [(x, row) for x, row in there if row["low"] is not None]
                if bars:
                    middle = [(row["low"] + row["high"]) / 2 * f for _, row in bars]
                    half = [(row["high"] - row["low"]) / 2 * f for _, row in bars]
                    axes.errorbar(
                        [x for x, _ in bars],
                        middle,
                        half,
                        fmt="none",
                        ecolor=style["color"],
                        capsize=3,
                        elinewidth=1,
                    )
            label_x(axes, plot.x_labels)
            settle(axes)
        # Panels share their scale, which a limit set before the last of them is drawn would freeze.
        for axes, _ in panels:
            if plot.value.kind == "mos":
                axes.set_ylim(0.9, 4.6 if plot.value.path.startswith("voice.") else 5.1)
            elif plot.value.unit == "%" or plot.value.better:
                axes.set_ylim(bottom=0)
    return figure


def places(labels: list[str]) -> dict[str, float]:
    """Return where the labels stand: at their number if all have one, else one after the other."""
    numbers = [number_of(label) for label in labels]
    if any(number is None for number in numbers) or len(set(numbers)) < len(numbers):
        return {label: float(place) for place, label in enumerate(labels)}
    return {label: number for label, number in zip(labels, numbers, strict=True) if number is not None}


def label_x(axes: Axes, labels: list[str]) -> None:
    """Put a tick at every label, on a logarithmic axis where the numbers span much."""
    at = places(labels)
    values = sorted(at.values())
    if (
        all(number_of(label) is not None for label in labels)
        and values[0] > 0
        and values[-1] >= 8 * values[0]
    ):
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    unit = shared_unit(labels)
    label_ticks(axes, list(at.values()), [tick(label, unit) for label in at])
    axes.margins(x=0.05)
