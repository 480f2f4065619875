"""Ours against what was published: one mark for each cell; on the diagonal both are the same."""

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from sojourn.report.figures.style import INK, MUTED, canvas, look, settle
from sojourn.report.figures.values import Value


def against_published(frame: pl.DataFrame, shown: Value) -> Figure:
    """Draw ours against what was published, one mark for each cell; on the diagonal both are the same."""
    both = frame.filter(pl.col("published").is_not_null() & pl.col("ours").is_not_null())
    ours = both["ours"].to_numpy() * shown.factor
    theirs = both["published"].to_numpy() * shown.factor
    everything = [*ours, *theirs]
    low, high = (min(everything), max(everything)) if everything else (0.0, 1.0)
    logarithmic = low > 0 and high > 30 * low
    wide = 0 <= low < high / 10 and high > 200 and not logarithmic
    with canvas(4.7, 4.5) as (figure, axes):
        if logarithmic:
            axes.set(xscale="log", yscale="log")
            span = (low / 1.5, high * 1.5)
        elif wide:
            axes.set_xscale("symlog", linthresh=10, linscale=0.5)
            axes.set_yscale("symlog", linthresh=10, linscale=0.5)
            span = (-1.0, high * 1.5)
        else:
            margin = 0.06 * (high - low or 1.0)
            span = (low - margin, high + margin)
        axes.plot(span, span, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), label="the same")
        for index, y in enumerate(both["y"].unique(maintain_order=True)):
            style = look(index)
            mine = (both["y"] == y).to_numpy()
            axes.plot(
                theirs[mine],
                ours[mine],
                linestyle="none",
                marker=style["marker"],
                color=style["color"],
                markeredgecolor=INK,
                markeredgewidth=0.4,
                alpha=0.85,
                label=y or None,
            )
        axes.set(xlim=span, ylim=span)
        if logarithmic or wide:
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
                axis.set_minor_locator(NullLocator())
        axes.set_aspect("equal")
        unit = f" ({shown.unit})" if shown.unit else ""
        axes.set(xlabel=f"Published{unit}", ylabel=f"Ours{unit}")
        settle(axes, grid="both")
        figure.suptitle("Ours against published", x=0.02, ha="left", weight="bold", size=11.5)
        figure.legend(loc="outside lower left", ncols=2, fontsize=8.5, handlelength=1.6)
    return figure
