"""Distribution functions: the share of observations that are at most so large."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sojourn.report.figures.gather import Plot
from sojourn.report.figures.panels import layout
from sojourn.report.figures.style import look, settle


def cdf(plot: Plot) -> Figure:
    """Draw one step curve for each label of y over all its points, replications and, for lists, entries."""
    with layout(plot, x_title=plot.value.title, y_title="Share of observations (%)", panels=[""]) as (
        figure,
        panels,
    ):
        axes, _ = panels[0]
        for index, y in enumerate(plot.y_labels):
            numbers = np.sort(plot.frame.filter(pl.col("y") == y)["value"].to_numpy()) * plot.value.factor
            if not numbers.size:
                continue
            share = np.arange(1, numbers.size + 1) / numbers.size * 100
            style = look(index)
            axes.step(
                np.concatenate([numbers[:1], numbers]),
                np.concatenate([[0.0], share]),
                where="post",
                label=f"{y} (n = {numbers.size})" if y else None,
                color=style["color"],
                linestyle=style["linestyle"],
            )
        axes.set_ylim(0, 101)
        settle(axes, grid="both")
    return figure
