"""Matrices: who suffers from whom."""

from matplotlib.figure import Figure

from sojourn.report.figures.kinds.heatmap import Heatmap, heatmap
from sojourn.report.figures.plot import Plot


class Matrix(Heatmap):
    """A row for the one that suffers, a column for its competitor; a panel for each of the other settings."""

    name = "matrix"
    compared = False

    def draw(self, plot: Plot) -> Figure:
        """Draw the cells as a heatmap, its axes named by their parts."""
        figure = heatmap(plot)
        for axes in figure.axes:
            axes.set_xlabel("competitor (rows: the one that suffers)", labelpad=3)
        return figure

    def explain(self, plot: Plot) -> str:
        """Say who is in a row, and who in a column."""
        return (
            f"A row is the one that suffers (its {plot.down}), a column its competitor (the {plot.across}); "
            f"each number is the {plot.what}"
        )
