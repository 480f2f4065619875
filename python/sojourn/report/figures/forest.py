"""Differences with their intervals, one line for each cell."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from sojourn.report.figures.style import COLOURS, MUTED, canvas, settle

Row = tuple[str, float, tuple[float, float] | None]
"""Name of the cell, difference, its interval or none."""


def forest(rows: Sequence[Row], title: str, across: str) -> Figure:
    """Draw differences as marks with their intervals, zero as a line; filled where zero is outside."""
    with canvas(5.6, 1.25 + 0.24 * len(rows), title) as (figure, axes):
        axes.axvline(0.0, color=MUTED, linewidth=1.0)
        for place, (_, difference, interval) in enumerate(rows):
            beyond = interval is not None and not interval[0] <= 0.0 <= interval[1]
            colour = COLOURS[1] if beyond else COLOURS[0] if interval else MUTED
            if interval:
                axes.plot(interval, (place, place), color=colour, linewidth=1.6, solid_capstyle="butt")
            axes.plot(
                [difference],
                [place],
                marker="D" if beyond else "o",
                markersize=5.5,
                color=colour,
                markerfacecolor=colour if beyond else "#ffffff",
            )
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=across)
        axes.locator_params(axis="x", nbins=7)  # labels of three digits with a sign do not touch
        settle(axes, grid="x")
    return figure
