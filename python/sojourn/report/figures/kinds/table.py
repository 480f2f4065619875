"""A table as a figure: for papers and slides; in the report the same numbers are text."""

from matplotlib.figure import Figure

from sojourn.report.figures.kinds.kind import Kind
from sojourn.report.figures.plot import Plot
from sojourn.report.figures.style import GRID, INK, MUTED, styled
from sojourn.report.figures.values import axis_name, shared_unit, tick


class Table(Kind):
    """Numbers in rows and columns."""

    name = "table"
    listed = compared = True
    bound = "≥"

    def draw(self, plot: Plot) -> Figure:
        """Write the numbers in rows and columns, panels one below the other."""
        unit = shared_unit(plot.x_labels)
        heads = [tick(label, unit) for label in plot.x_labels]
        first = 0.4 + 0.088 * max(len(label) for label in [*plot.y_labels, axis_name(plot.y, plot.y_labels)])
        column = max(0.75, 0.25 + 0.09 * max(map(len, heads)))
        wide = max(first + column * len(heads) + 0.2, 4.2)
        per_panel = len(plot.y_labels) + 2
        tall = 0.5 + 0.3 * per_panel * len(plot.panels)
        with styled():
            figure = Figure(figsize=(wide, tall))
            axes = figure.add_axes((0, 0, 1, 1))
            axes.set_axis_off()
            axes.set(xlim=(0, wide), ylim=(0, tall))
            axes.text(
                0.12,
                tall - 0.22,
                plot.value.title if not plot.spec.title else plot.title,
                weight="bold",
                size=11.5,
            )
            top = tall - 0.55
            for panel in plot.panels:
                rows = plot.rows(panel)
                name = axis_name(plot.x, plot.x_labels) if plot.x else ""
                axes.text(0.12, top, panel or axis_name(plot.y, plot.y_labels), size=9, color=MUTED)
                axes.text(first, top, name, size=9, color=MUTED)
                top -= 0.28
                for j, head in enumerate(heads):
                    axes.text(first + column * (j + 0.8), top, head, ha="right", weight="bold", size=9.5)
                axes.plot([0.12, wide - 0.12], [top - 0.08] * 2, color=INK, linewidth=0.9)
                for y in plot.y_labels:
                    top -= 0.29
                    axes.text(0.12, top, y, size=9.5)
                    for j, x in enumerate(plot.x_labels):
                        words = plot.words(panel, y, x, rows[y, x]["value"]) if (y, x) in rows else "–"
                        axes.text(first + column * (j + 0.8), top, words, ha="right", size=9.5)
                    axes.plot([0.12, wide - 0.12], [top - 0.08] * 2, color=GRID, linewidth=0.6)
                top -= 0.35
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what rows and columns are."""
        return (
            f"Rows are the {plot.down or 'study'}, columns the {plot.across}; each number is the {plot.what}"
        )
