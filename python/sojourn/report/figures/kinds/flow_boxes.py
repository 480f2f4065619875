"""Loss of flows by their size: box plots of those that lost packets, and the share of those that did not."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.losses.flows import LEAST_FLOWS
from sojourn.report.figures.kinds.box import draw_boxes
from sojourn.report.figures.kinds.curves import size_text
from sojourn.report.figures.kinds.kind import Whole
from sojourn.report.figures.panels import layout
from sojourn.report.figures.plot import Plot
from sojourn.report.figures.style import COLOURS, MUTED, settle


class FlowBoxes(Whole):
    """The loss of flows by octave of their size."""

    name = "flow-boxes"

    def draw(self, plot: Plot) -> Figure:
        """Draw a box for each octave of size that has ten flows, and under it a bar for the happy ones."""
        sizes = sorted(plot.frame.filter(pl.col("flows") >= LEAST_FLOWS)["from_bytes"].unique().to_list())
        places = {size: place for place, size in enumerate(sizes)}
        with layout(plot, x_title="Flow size (bytes, from)", y_title="Lost packets of a flow (%)") as (
            figure,
            panels,
        ):
            for axes, panel in panels:
                inside = plot.frame.filter(
                    pl.col("panel") == panel, pl.col("n") == 0, pl.col("flows") >= LEAST_FLOWS
                )
                rows = [(places[row["from_bytes"]], row) for row in inside.iter_rows(named=True)]
                _boxes(axes, rows)
                _happy(axes, rows)
                step = 2 if len(sizes) > 10 else 1
                shown = list(enumerate(sizes))[::step]
                axes.set_xticks([place for place, _ in shown], [size_text(size) for _, size in shown])
                axes.set_xlim(-0.7, len(sizes) - 0.3)
                settle(axes)
            for axes, _ in panels:
                axes.set_ylim(bottom=-0.28 * axes.get_ylim()[1])
                axes.set_yticks([tick for tick in axes.get_yticks() if tick >= 0])
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what boxes, bars and the line are."""
        return (
            "Flows are grouped by octave of size. A box spans the middle half of the unhappy ones, "
            "those that lost packets, its whiskers 5 to 95 %; the bar below is the share of happy flows, "
            "which lost nothing, and the line the mean over both"
        )


def _boxes(axes: Axes, rows: list[tuple[int, dict[str, float]]]) -> None:
    draw_boxes(axes, {place: row for place, row in rows if row["p50"] is not None}, 100, 0.6)
    axes.plot(
        [place for place, _ in rows],
        [row["mean"] * 100 for _, row in rows],
        color=COLOURS[1],
        marker="s",
        markersize=4,
        linewidth=1.4,
        label="mean of all flows",
    )


def _happy(axes: Axes, rows: list[tuple[int, dict[str, float]]]) -> None:
    """Draw the share of happy flows as bars in a strip below zero, full height for all."""
    strip = axes.inset_axes((0, 0, 1, 0.2), sharex=axes)
    strip.bar(
        [place for place, _ in rows],
        [row["happy_share"] for _, row in rows],
        width=0.6,
        color=COLOURS[2] + "99",
        label="share of happy flows (bar)",
    )
    strip.set_ylim(0, 1.05)
    strip.set_axis_off()
    for place, row in rows:
        strip.annotate(
            f"{100 * row['happy_share']:.0f}",
            (place, min(row["happy_share"], 0.65)),
            ha="center",
            va="bottom",
            size=6.5,
            color=MUTED,
        )
