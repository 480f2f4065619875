"""Figures: one file for each kind, each a function from a table to a matplotlib figure.

>>> from sojourn.report.figures import Spec, draw, gather                          # doctest: +SKIP
>>> plot = gather(Spec("heatmap", "links.up.loss"), results, axes)          # doctest: +SKIP
>>> draw(plot).savefig("loss.png")                                          # doctest: +SKIP
"""

from __future__ import annotations

from matplotlib.figure import Figure

from sojourn.report.figures.box import box
from sojourn.report.figures.cdf import cdf
from sojourn.report.figures.curves import curves
from sojourn.report.figures.flow_boxes import flow_boxes
from sojourn.report.figures.gather import KINDS, Plot, Spec, gather, labels_of
from sojourn.report.figures.heatmap import heatmap
from sojourn.report.figures.lines import lines
from sojourn.report.figures.scatter import against_published, scatter
from sojourn.report.figures.series import series, series_table
from sojourn.report.figures.surface import surface
from sojourn.report.figures.table import table

__all__ = [
    "KINDS",
    "Plot",
    "Spec",
    "against_published",
    "box",
    "cdf",
    "curves",
    "draw",
    "flow_boxes",
    "gather",
    "heatmap",
    "labels_of",
    "lines",
    "scatter",
    "series",
    "series_table",
    "surface",
    "table",
]

_DRAW = {
    "heatmap": heatmap,
    "box": box,
    "lines": lines,
    "clients": lines,
    "cdf": cdf,
    "scatter": scatter,
    "table": table,
    "curves": curves,
    "flow-boxes": flow_boxes,
    "surface": surface,
}


def draw(plot: Plot) -> Figure:
    """Draw a table as the kind of figure that its specification asks for."""
    return _DRAW[plot.spec.kind](plot)
