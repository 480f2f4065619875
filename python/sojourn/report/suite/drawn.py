"""The figures of a suite's pages: ellipses, distributions, and numbers over an axis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sojourn.report.figures.form import fit
from sojourn.report.figures.style import canvas, for_page, look, settle, styled, svg
from sojourn.report.files import Picture
from sojourn.report.suite.ellipse import Ellipse

Points = tuple[Sequence[float], Sequence[float]]
_MOST_PANELS = 12
_FEW_PANELS, MOST_LOOKS = 6, 8
_KNOB = re.compile(r" (?:target|limit)=(\S+)")
_PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
"""Numbers as words: powers of ten would be set as formulas, which pages do not have."""


def picture(figure: Figure, slug: str, says: str) -> Picture:
    """Return a figure as it stands in a page; no files are written beside it."""
    fit(figure)
    with styled():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    width = figure.get_figwidth()
    return Picture(
        slug, Markup(for_page(svg(figure, slug), says)), says, round(min(width * 69, 760)), width > 8
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
        looks = _looks(panels)
        for axes, (name, schemes) in zip(grid, shown.items(), strict=False):
            _join(axes, schemes, looks)
            for scheme, (delay, goodput) in schemes.items():
                style = looks[scheme].style
                colour, marker = style["color"], style["marker"]
                axes.plot(delay, goodput, marker, color=colour, markersize=2.5, alpha=0.55)
                fitted = Ellipse.of(delay, goodput)
                if fitted is not None:
                    axes.plot(*fitted.outline(), color=colour, linewidth=1.2)
                if delay:
                    axes.plot(
                        [median(delay)], [median(goodput)], marker, color=colour, markersize=7,
                        markerfacecolor="none", markeredgewidth=1.6, label=looks[scheme].name,
                    )  # fmt: skip
                    axes.annotate(
                        looks[scheme].knob, (median(delay), median(goodput)), (4, 4),
                        textcoords="offset points", fontsize=6, color=colour,
                    )  # fmt: skip
            _entitled(axes, name, len(shown))
            axes.set(xlabel="Mean queueing delay (ms)", ylabel="Goodput (Mbit/s)")
            axes.margins(0.12)
        _legend(figure, grid)
    return figure


def _join(axes: Axes, schemes: Mapping[str, Points], looks: Mapping[str, Look]) -> None:
    """Join the medians of the settings of one discipline, in the order of its knob."""
    families: dict[str, list[tuple[float, float]]] = {}
    for scheme, (delay, goodput) in schemes.items():
        if delay and looks[scheme].knob:
            line = families.setdefault(looks[scheme].name, [])
            line.append((median(delay), median(goodput)))
            colour = looks[scheme].style["color"]
            axes.plot(*zip(*line[-2:], strict=True), color=colour, linewidth=0.8, alpha=0.6)


def distributions(panels: Mapping[tuple[str, str], Mapping[str, Sequence[float]]], title: str) -> Figure:
    """Draw cumulative distributions, a panel for each quantity, a line for each scheme.

    Parameters
    ----------
    panels
        By name and axis of the panel, and by scheme: quantiles of equal steps.
    title
        Of the figure.
    """
    with _panels(len(panels), title) as (figure, grid):
        looks = _looks(panels)
        for axes, ((name, label), schemes) in zip(grid, panels.items(), strict=False):
            for scheme, values in schemes.items():
                axes.plot(
                    values, np.linspace(0, 1, len(values)), color=looks[scheme].style["color"],
                    linestyle=looks[scheme].style["linestyle"], linewidth=1.5, label=looks[scheme].name,
                )  # fmt: skip
            if "interval" in label:
                # Packets of one burst are dropped at once: intervals of zero have their place, too.
                axes.set_xscale("symlog", linthresh=1)
                axes.set_xlim(left=0)
                axes.xaxis.set_major_formatter(_PLAIN)
            axes.set(ylim=(0, 1), xlabel=label, ylabel="Share at or below")
            _entitled(axes, name, len(panels))
        _legend(figure, grid)
    return figure


def shares(lines: Mapping[str, Sequence[float]], step_s: float, title: str, delta: float = 0.1) -> Figure:
    """Draw the share of a flow over the time since it began, a line a scheme, and the band of fair shares."""
    with _panels(1, title) as (figure, grid):
        axes = grid[0]
        axes.axhspan((1 - delta) / 2, (1 + delta) / 2, color="#5b616b", alpha=0.18, linewidth=0)
        looks = _looks({"": lines})
        for scheme, values in lines.items():
            axes.plot(
                np.arange(1, len(values) + 1) * step_s, values, color=looks[scheme].style["color"],
                linestyle=looks[scheme].style["linestyle"], linewidth=1.4, label=looks[scheme].name,
            )  # fmt: skip
        axes.set(
            ylim=(0, 1),
            xlim=(0, None),
            xlabel="Time since the second flow began (s)",
            ylabel="Share of the second flow",
        )
        _entitled(axes, "", 1)
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
        looks = _looks(panels)
        for number, (axes, (name, schemes), unit) in enumerate(
            zip(grid, panels.items(), units, strict=False)
        ):
            for scheme, values in schemes.items():
                style = looks[scheme].style
                axes.plot(
                    range(len(labels)), [np.nan if value is None else value for value in values],
                    color=style["color"], linestyle=style["linestyle"], marker=style["marker"],
                    markersize=4, linewidth=1.4, label=looks[scheme].name,
                )  # fmt: skip
            if level is not None and number == 0:
                axes.axhline(level, color="#5b616b", linewidth=0.9)
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter(_PLAIN)
                axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_xticks(range(len(labels)), labels, rotation=60 if len(labels) > 6 else 0)
            axes.set(xlabel=across, ylabel=unit)
            _entitled(axes, name, len(panels))
        _legend(figure, grid)
    return figure


@contextmanager
def _panels(count: int, title: str) -> Iterator[tuple[Figure, list[Axes]]]:
    """Give a figure with a number of panels, as a list: at most two in a row, four where there are many."""
    columns = min(2 if count <= _FEW_PANELS else 4, max(1, count))
    rows = -(-max(1, count) // columns)
    width, height = {1: (5.2, 2.7), 2: (7.6, 2.7)}.get(columns, (11.5, 2.3))
    with canvas(width, 0.5 + height * rows, title, nrows=rows, ncols=columns, squeeze=False) as (
        figure,
        grid,
    ):
        flat = list(grid.flat)
        for axes in flat[count:]:
            axes.set_visible(False)
        yield figure, flat[:count]


class Look(NamedTuple):
    """How a scheme is drawn: its style, its name in the legend, and its knob if there are many schemes."""

    style: dict[str, object]
    name: str
    knob: str = ""


def _looks(panels: Mapping[Any, Mapping[str, Any]]) -> dict[str, Look]:
    """Return the look of each scheme: the same in all panels, also where one has nothing to show.

    More schemes than can be told apart are settings of a few: those of one discipline share a look.
    """
    schemes = list(dict.fromkeys(scheme for panel in panels.values() for scheme in panel))
    if len(schemes) <= MOST_LOOKS:
        return {scheme: Look(look(place), scheme) for place, scheme in enumerate(schemes)}
    families = {scheme: _KNOB.sub("", scheme) for scheme in schemes}
    order = list(dict.fromkeys(families.values()))
    return {
        scheme: Look(look(order.index(family)), family, ", ".join(knob[1] for knob in _KNOB.finditer(scheme)))
        for scheme, family in families.items()
    }


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
            ncols=_columns(figure, list(found)),
            frameon=False,
        )


def _columns(figure: Figure, names: Sequence[str]) -> int:
    """Return how many columns of a legend fit: some eleven letters an inch, and the mark before each name."""
    longest = max(map(len, names)) + 7
    return max(1, min(4, len(names), int(figure.get_figwidth() * 11) // longest))
