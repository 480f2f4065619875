"""Heatmaps: the number printed in every cell, its class as colour and letter, missing cells hatched."""

from dataclasses import replace
from math import ceil
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from sojourn.report.figures.kinds.kind import Kind
from sojourn.report.figures.plot import Plot
from sojourn.report.figures.scales import SCALES, Scale, ink, source_of
from sojourn.report.figures.style import GRID, INK, MUTED, styled
from sojourn.report.figures.values import axis_name, shared_unit, tick
from sojourn.results.bounded import awaited
from sojourn.study.units import decimals_of

_CELL_W, _CELL_H = 0.66, 0.46
_CHAR = 0.079
_DECIMALS = 5


class Heatmap(Kind):
    """Cells coloured by value, x across and y down."""

    name = "heatmap"
    listed = compared = True
    bound = "≥"

    def draw(self, plot: Plot) -> Figure:
        """Draw one panel for each combination of the axes that are neither x nor y."""
        return heatmap(plot)

    def explain(self, plot: Plot) -> str:
        """Say what numbers and letters are."""
        letter = ""
        if plot.scale.letters:
            source = source_of(plot.scale, plot.value)
            letter = f", and the letter below it is its class{f' of {source}' if source else ''}"
        return f"Across runs the {plot.across}, down the {plot.down}; each number is the {plot.what}{letter}"

    def beside(self, plot: Plot, published: pl.DataFrame, title: str) -> dict[str, tuple[str, Figure]]:
        """Return a heatmap of the rows that were published, and one of the difference, in our colours."""
        known = published.filter(pl.col("difference").is_not_null())["y"].unique().to_list()
        columns = published.select("panel", "x", "y", "published", "difference")
        theirs = replace(
            plot,
            y_labels=[label for label in plot.y_labels if label in known],
            frame=plot.frame.join(columns, on=["panel", "x", "y"]).filter(pl.col("y").is_in(known)),
        )
        span = (plot.frame["value"].min(), plot.frame["value"].max())
        titles = {"published": f"Published: {title}", "difference": "Ours − published"}
        return {column: (words, heatmap(theirs, column, words, span)) for column, words in titles.items()}


def heatmap(
    plot: Plot, column: str = "value", title: str | None = None, span: tuple[float, float] | None = None
) -> Figure:
    """Draw one panel for each combination of the axes that are neither x nor y.

    Parameters
    ----------
    plot
        The table.
    column
        The column to show: ``value``, ``published`` or ``difference``.
    title
        In place of the plot's own.
    span
        The range of a colour ramp, in place of that of the numbers.
    """
    numbers = plot.frame[column].drop_nulls().to_list()
    scale = SCALES["difference"] if column == "difference" else plot.scale
    if column == "difference" or span is None:
        span = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    if column == "difference":
        span = -max(map(abs, span)), max(map(abs, span))
    unit_x, unit_y = shared_unit(plot.x_labels), shared_unit(plot.y_labels)
    x_ticks = [tick(label, unit_x) for label in plot.x_labels]
    y_ticks = [tick(label, unit_y) for label in plot.y_labels]
    cell_w = max(_CELL_W, 0.12 + _CHAR * max(map(len, x_ticks)) if max(map(len, x_ticks)) < 16 else 1.5)
    left = 0.32 + _CHAR * max(map(len, y_ticks))
    across = min(len(plot.panels), max(1, int(11.0 // (left + cell_w * len(x_ticks)))), 3)
    down = ceil(len(plot.panels) / across)
    legend = _legend(scale, plot, column)
    with styled():
        wide = max(across * (left + cell_w * len(x_ticks)) + 0.15, 4.4)
        legend_columns = max(1, min(len(legend), int(wide // 2.75)))
        legend_h = 0.18 * ceil(len(legend) / legend_columns) + 0.08 if legend else 0.0
        title_h = 0.55 + (0.26 if len(plot.panels) > 1 or plot.panels[0] else 0.0)
        panel_h = _CELL_H * len(y_ticks) + 0.55
        heads = 0.3 if len(plot.panels) > 1 else 0.0
        tall = title_h + down * (panel_h + heads) + legend_h
        figure = Figure(figsize=(wide, tall))
        figure.text(0.12 / wide, 1 - 0.2 / tall, title or plot.title, weight="bold", size=11.5, va="center")
        note = _note(plot) if column == "value" else plot.value.unit
        figure.text(0.12 / wide, 1 - 0.43 / tall, note, size=9, color=MUTED, va="center")
        for index, panel in enumerate(plot.panels):
            row, place = divmod(index, across)
            bottom = tall - title_h - (row + 1) * (panel_h + heads) + 0.48
            box = (
                (place * (left + cell_w * len(x_ticks)) + left) / wide,
                bottom / tall,
                cell_w * len(x_ticks) / wide,
                _CELL_H * len(y_ticks) / tall,
            )
            axes = figure.add_axes(box)
            _panel(axes, plot, panel, column, scale, span, cell_w)
            axes.set_xticks(range(len(x_ticks)), x_ticks)
            axes.set_yticks(range(len(y_ticks)), y_ticks)
            axes.set_xlabel(axis_name(plot.x, plot.x_labels) if plot.x else "", labelpad=3)
            if panel:
                axes.set_title(panel, size=9.5, weight="normal", loc="left", pad=4)
        if legend:
            figure.legend(
                handles=legend,
                loc="lower left",
                ncols=legend_columns,
                bbox_to_anchor=(0.0, 0.0),
                borderaxespad=0.3,
                handlelength=1.5,
                columnspacing=1.2,
                fontsize=8.5,
            )
    return figure


def _panel(
    axes: Axes, plot: Plot, panel: str, column: str, scale: Scale, span: tuple[float, float], cell_w: float
) -> None:
    rows = plot.rows(panel)
    for i, y in enumerate(plot.y_labels):
        for j, x in enumerate(plot.x_labels):
            row: dict[str, Any] = rows.get((y, x)) or {}
            number = row.get(column)
            corner = (j - 0.5, i - 0.5)
            if number is None:
                axes.add_patch(
                    Rectangle(corner, 1, 1, facecolor="white", edgecolor=GRID, hatch="////", linewidth=0)
                )
                continue
            # A time that had not ended is of no class, and no short one.
            at_least = column == "value" and (panel, y, x) in plot.at_least
            colour = to_rgb("white") if at_least else scale.colour(number, *span)
            edge = GRID if at_least else "white"
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor=edge, linewidth=1.5))
            words = _words(plot, column, number, scale)
            words = f"≥ {words}" if at_least else words
            size = min(10.5, 10.5 * cell_w * 0.86 / (0.085 * max(len(words), 1)))
            letter = "" if at_least else scale.letter(number)
            axes.text(
                j, i - (0.11 if letter else 0), words, ha="center", va="center", size=size, color=ink(colour)
            )
            if letter:
                axes.text(j, i + 0.29, letter, ha="center", va="center", size=7.5, color=ink(colour))
    axes.set(xlim=(-0.5, len(plot.x_labels) - 0.5), ylim=(len(plot.y_labels) - 0.5, -0.5))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _words(plot: Plot, column: str, number: float, scale: Scale) -> str:
    """Write a number; ours with as many decimals as it takes to read it as one of its class."""
    if column == "difference":
        return plot.value.difference(number)
    if column == "published":
        return plot.value.as_printed(number)
    words = plot.value.text(number)
    for decimals in range(decimals_of(words), _DECIMALS):
        finer = plot.value.finer(number, decimals)
        if scale.rank(float(finer.replace("−", "-")) / plot.value.factor) == scale.rank(number):
            return finer
    return words


def _legend(scale: Scale, plot: Plot, column: str) -> list[Patch]:
    """Return what colours mean, and cells without a number or with a lower bound, where there are such."""
    legend = [] if column == "difference" else _classes(scale, plot, column)
    if plot.frame[column].count() < len(plot.panels) * len(plot.y_labels) * len(plot.x_labels):
        legend.append(Patch(facecolor="white", edgecolor=MUTED, hatch="////", label="no value"))
    if plot.at_least and column == "value":
        label = f"≥ lower bound: {awaited([plot.value.path])} had not ended"
        legend.append(Patch(facecolor="white", edgecolor=GRID, label=label))
    return legend


def _classes(scale: Scale, plot: Plot, column: str) -> list[Patch]:
    if not scale.letters:
        return []
    there = {scale.rank(row) for row in plot.frame[column] if row is not None}
    classes = zip(scale.letters, scale.meanings, scale.colours, range(len(scale.letters)), strict=True)
    shown = [
        Patch(facecolor=colour, edgecolor=INK, linewidth=0.4, label=f"{letter}  {meaning}")
        for letter, meaning, colour, rank in classes
        if rank in there
    ]
    return sorted(shown, key=lambda patch: patch.get_label())


def _note(plot: Plot) -> str:
    counts = sorted({row for row in plot.frame["n"] if row})
    some = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    runs = "1 replication" if counts == [1] else f"{some} replications"
    unit = f"{plot.value.unit}; " if plot.value.unit else ""
    centre = "median" if plot.value.path.endswith((".median", ".p50")) else "mean"
    return f"{unit}{runs} a cell" if counts == [1] else f"{unit}{centre} of {runs} a cell"
