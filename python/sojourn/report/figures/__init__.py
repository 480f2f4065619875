"""Figures: tables gathered from results, and pictures drawn from tables. One file for each kind in `kinds/`.

>>> from sojourn.report.figures import Spec, draw, gather                          # doctest: +SKIP
>>> plot = gather(Spec("heatmap", "links.up.loss"), results, axes)          # doctest: +SKIP
>>> draw(plot).savefig("loss.png")                                          # doctest: +SKIP
"""

from matplotlib.figure import Figure

from sojourn.report.figures.gather import gather
from sojourn.report.figures.kinds import KINDS
from sojourn.report.figures.plot import Plot, Spec, labels_of
from sojourn.report.figures.series import series, series_table

__all__ = ["KINDS", "Plot", "Spec", "draw", "gather", "labels_of", "series", "series_table"]


def draw(plot: Plot) -> Figure:
    """Draw a table as the kind of figure that its specification asks for."""
    return KINDS[plot.spec.kind].draw(plot)
