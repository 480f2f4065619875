"""Figures: one file for each kind, each a function from a table to a matplotlib figure.

>>> from sojourn.figures import Spec, draw, gather                          # doctest: +SKIP
>>> plot = gather(Spec("heatmap", "links.up.loss"), results, axes)          # doctest: +SKIP
>>> draw(plot).savefig("loss.png")                                          # doctest: +SKIP
"""

from __future__ import annotations

from matplotlib.figure import Figure

from sojourn.figures.box import box
from sojourn.figures.cdf import cdf
from sojourn.figures.cells import KINDS, Plot, Spec, gather, labels_of
from sojourn.figures.curves import curves
from sojourn.figures.flow_boxes import flow_boxes
from sojourn.figures.heatmap import heatmap
from sojourn.figures.lines import lines
from sojourn.figures.scatter import against_published, scatter
from sojourn.figures.series import series, series_table
from sojourn.figures.surface import surface
from sojourn.figures.table import table

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
