"""Curves that results hold whole: distributions, densities, and log-scale diagrams with their intervals."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from sojourn.report.figures.kinds.kind import Whole, first_axis, one_for_each
from sojourn.report.figures.panels import layout
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import look, settle
from sojourn.report.figures.values import upper

# Column → title and scale of its axis.
AXES = {
    "ms": ("Queueing delay (ms)", "symlog"),
    "length_pkts": ("Length of the burst (packets)", "log"),
    "share": ("Share", "linear"),
    "backlog_pkts": ("Backlog (packets)", "linear"),
    "bytes": ("Flow size (bytes)", "log2"),
    "from_bytes": ("Flow size (bytes)", "log2"),
    "octave": ("Octave j (2^j ms)", "integer"),
    "log2_energy": ("log2 of the energy", "linear"),
    "mean_cwnd_pkts": ("Mean congestion window (packets)", "log"),
    "initial_ssthresh_pkts": ("Initial slow-start threshold (packets)", "log"),
}
_LABELS = ("panel", "y", "x", "n")
_MOST_MARKERS = 24


class Curves(Whole):
    """The curves that the results hold, one for each label of y and each replication."""

    name = "curves"

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return the axis that has a curve for each of its labels."""
        return "", spec.y or first_axis(axes)

    def draw(self, plot: Plot) -> Figure:
        """Draw a curve for each label of y: first list across, second up, `low` and `high` a band."""
        across, up = [name for name in plot.frame.columns if name not in _LABELS][:2]
        x_title, x_scale = AXES.get(across, (across.replace("_", " "), "linear"))
        y_title, y_scale = AXES.get(up, (up.replace("_", " "), "linear"))
        if plot.spec.value.endswith("ccdf"):
            y_title, y_scale = "Share that is at least so large", "log"
        elif plot.spec.value.endswith("density"):
            y_title, y_scale = "Share of arrivals", "log"
        elif across == "ms":
            y_title = "Share of packets"
        with layout(plot, x_title=x_title, y_title=y_title) as (figure, panels):
            for axes, panel in panels:
                inside = plot.frame.filter(pl.col("panel") == panel)
                for index, y in enumerate(plot.y_labels):
                    style = look(index)
                    for (n,), rows in inside.filter(pl.col("y") == y).group_by("n", maintain_order=True):
                        xs, ys = rows[across].to_numpy(), rows[up].to_numpy()
                        drawn = {
                            **style,
                            "linewidth": 1.4,
                            "markersize": 4,
                            "markevery": max(1, len(xs) // _MOST_MARKERS),
                        }
                        if across == "ms":
                            drawn["markevery"] = max(1, len(xs) // 5)
                        if plot.frame.height > 4 * _MOST_MARKERS and across == "backlog_pkts":
                            drawn["marker"] = None
                        axes.plot(xs, ys, label=(y or None) if n == 0 else None, **drawn)
                        if "low" in rows.columns:
                            axes.fill_between(
                                xs, rows["low"], rows["high"], color=style["color"], alpha=0.18, linewidth=0
                            )
                set_scale(axes, "x", x_scale)
                set_scale(axes, "y", y_scale)
                settle(axes, grid="both")
            if y_scale == "linear" and up == "share":
                panels[0][0].set_ylim(bottom=0)
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what curves and bands are."""
        if plot.spec.value.endswith("queue_delay_cdf"):
            each = (
                f", one for each {plot.down} and replication" if plot.down else ", one for each replication"
            )
            return f"A curve is the share of packets that wait at most so long{each}"
        curve = one_for_each(plot.down, "curve")
        bands = "; shaded bands are intervals" if "low" in plot.frame.columns else ""
        return f"{upper(plot.value.phrase)}{curve}{bands}"


def set_scale(axes: Axes, which: str, scale: str) -> None:
    """Give an axis its scale and its ticks."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if scale == "integer":
        axis.set_major_locator(MaxNLocator(integer=True))
    elif scale == "symlog":
        getattr(axes, f"set_{which}scale")("symlog", linthresh=1.0)
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    elif scale == "log":
        getattr(axes, f"set_{which}scale")("log")
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        axis.set_minor_locator(NullLocator())
    elif scale == "log2":
        getattr(axes, f"set_{which}scale")("log", base=2)
        axis.set_major_locator(LogLocator(base=2, numticks=9))
        axis.set_major_formatter(FuncFormatter(lambda number, _: size_text(number)))
        axis.set_minor_locator(NullLocator())


def size_text(number: float) -> str:
    """Write a power of two bytes: ``512 k``, ``32 M``."""
    power = int(np.log2(number) // 10) if number >= 1 else 0
    return f"{number / 1024**power:g}{' ' if power else ''}{('', 'k', 'M', 'G', 'T')[min(power, 4)]}"
