"""The figures of a suite's pages: ellipses, distributions, and numbers over an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.report.figures.form import fit
from sojourn.report.figures.style import canvas, for_page, look, settle, styled, svg
from sojourn.report.files import Picture
from sojourn.report.suite.ellipse import Ellipse

Points = tuple[Sequence[float], Sequence[float]]
_MOST_PANELS = 12


def picture(figure: Figure, slug: str, says: str) -> Picture:
    """Return a figure as it stands in a page; no files are written beside it."""
    fit(figure)
    with styled():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    width = figure.get_figwidth()
    return Picture(
        slug, Markup(for_page(svg(figure, slug), says)), says, round(min(width * 69, 620)), width > 6.6
    )


def ellipses(panels: Mapping[str, Mapping[str, Points]], title: str) -> Figure:
    """Draw goodput over queueing delay, a panel for each class or setting, an ellipse for each scheme.

    Parameters
    ----------
    panels
        By panel and scheme: queueing delays in ms and goodputs in Mbit/s, one of each for every run.
    title
        Of the figure.
    """
    shown = dict(list(panels.items())[:_MOST_PANELS])
    with _panels(len(shown), title) as (figure, grid):
        for axes, (name, schemes) in zip(grid, shown.items(), strict=False):
            for place, (scheme, (delay, goodput)) in enumerate(schemes.items()):
                style = look(place)
                colour, marker = style["color"], style["marker"]
                axes.plot(delay, goodput, marker, color=colour, markersize=2.5, alpha=0.55)
                fitted = Ellipse.of(delay, goodput)
                if fitted is not None:
                    axes.plot(*fitted.outline(), color=colour, linewidth=1.2)
                if delay:
                    axes.plot(
                        [median(delay)], [median(goodput)], marker, color=colour, markersize=7,
                        markerfacecolor="none", markeredgewidth=1.6, label=scheme,
                    )  # fmt: skip
            _entitled(axes, name, len(shown))
            axes.set_xlabel("Mean queueing delay (ms)")
            axes.set_ylabel("Goodput (Mbit/s)")
            axes.margins(0.12)
        _legend(figure, grid)
    return figure


def distributions(
    panels: Mapping[str, Mapping[str, Sequence[float]]], across: Sequence[str], title: str
) -> Figure:
    """Draw cumulative distributions, a panel for each quantity, a line for each scheme.

    Parameters
    ----------
    panels
        By panel and scheme: quantiles of equal steps.
    across
        The name of each panel's x axis.
    title
        Of the figure.
    """
    with _panels(len(panels), title) as (figure, grid):
        for axes, (name, schemes), label in zip(grid, panels.items(), across, strict=False):
            for place, (scheme, values) in enumerate(schemes.items()):
                if len(values):
                    style = look(place)
                    axes.plot(
                        values, np.linspace(0, 1, len(values)), color=style["color"],
                        linestyle=style["linestyle"], linewidth=1.5, label=scheme,
                    )  # fmt: skip
            if "interval" in label and any(len(values) and min(values) > 0 for values in schemes.values()):
                axes.set_xscale("log")
            axes.set_ylim(0, 1)
            axes.set_xlabel(label)
            axes.set_ylabel("Share at or below")
            _entitled(axes, name, len(panels))
        _legend(figure, grid)
    return figure


def over_axis(
    panels: Mapping[str, Mapping[str, Sequence[float | None]]],
    labels: Sequence[str],
    across: str,
    units: Sequence[str],
    title: str,
    level: float | None = None,
) -> Figure:
    """Draw numbers over an axis of the case, a panel for each number, a line for each scheme."""
    with _panels(len(panels), title) as (figure, grid):
        for number, (axes, (name, schemes), unit) in enumerate(
            zip(grid, panels.items(), units, strict=False)
        ):
            for place, (scheme, values) in enumerate(schemes.items()):
                style = look(place)
                axes.plot(
                    range(len(labels)), [np.nan if value is None else value for value in values],
                    color=style["color"], linestyle=style["linestyle"], marker=style["marker"],
                    markersize=4, linewidth=1.4, label=scheme,
                )  # fmt: skip
            if level is not None and number == 0:
                axes.axhline(level, color="#5b616b", linewidth=0.9)
                axes.set_yscale("log")
            axes.set_xticks(range(len(labels)), labels, rotation=60 if len(labels) > 6 else 0)
            axes.set_xlabel(across)
            axes.set_ylabel(unit)
            _entitled(axes, name, len(panels))
        _legend(figure, grid)
    return figure


def _panels(count: int, title: str):  # type: ignore[no-untyped-def]
    """Give a figure with so many panels, at most two in a row, as a list."""
    from contextlib import contextmanager

    columns = min(2, max(1, count))
    rows = -(-max(1, count) // columns)

    @contextmanager
    def opened():  # type: ignore[no-untyped-def]
        with canvas(
            7.6 if columns == 2 else 5.2, 0.5 + 2.7 * rows, title, nrows=rows, ncols=columns, squeeze=False
        ) as (
            figure,
            grid,
        ):
            flat = list(grid.flat)
            for axes in flat[count:]:
                axes.set_visible(False)
            yield figure, flat[:count]

    return opened()


def _entitled(axes: Axes, name: str, panels: int) -> None:
    if panels > 1:
        axes.set_title(name, loc="left")
    settle(axes, grid="both")


def _legend(figure: Figure, grid: Sequence[Axes]) -> None:
    """Write one legend for all panels, of all that any of them has."""
    found = {}
    for axes in grid:
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in found}
    if found:
        figure.legend(
            list(found.values()),
            list(found),
            loc="outside lower center",
            ncols=min(4, len(found)),
            frameon=False,
        )
