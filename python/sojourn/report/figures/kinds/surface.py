"""A log-scale diagram over time: octave across, time into the depth, energy up."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  (registers the projection)

from sojourn.report.figures.kinds.kind import Whole
from sojourn.report.figures.plot import Plot
from sojourn.report.figures.style import entitle, styled


class Surface(Whole):
    """Energy over time and octave."""

    name = "surface"

    def entries_of(self, lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
        """Yield a row for each time and octave."""
        start, octave, energy = (lists[name] for name in ("start_s", "octave", "log2_energy"))
        for at, of_window in zip(start, energy, strict=True):
            for j, height in zip(octave, of_window, strict=True):
                yield {"start_s": at, "octave": j, "log2_energy": height}

    def draw(self, plot: Plot) -> Figure:
        """Draw one surface for each panel; where a window has no losses at a scale there is a hole."""
        across = min(len(plot.panels), 2)
        down = -(-len(plot.panels) // across)
        least, most = plot.frame["log2_energy"].min(), plot.frame["log2_energy"].max()
        with styled():
            figure = Figure(figsize=(4.9 * across + 0.4, 4.2 * down + 0.5))
            figure.subplots_adjust(
                left=0.01,
                right=0.94,
                bottom=0.05,
                top=1 - 0.75 / (4.2 * down + 0.5),
                wspace=0.12,
                hspace=0.14,
            )
            for place, panel in enumerate(plot.panels, start=1):
                axes = figure.add_subplot(down, across, place, projection="3d")
                rows = plot.frame.filter(pl.col("panel") == panel, pl.col("n") == 0)
                octaves, times = rows["octave"].unique().sort(), rows["start_s"].unique().sort()
                height = (
                    rows.sort("start_s", "octave")["log2_energy"]
                    .fill_null(np.nan)
                    .to_numpy()
                    .reshape(len(times), len(octaves))
                )
                x, y = np.meshgrid(octaves.to_numpy(), times.to_numpy())
                axes.plot_surface(
                    x,
                    y,
                    height,
                    cmap="viridis",
                    vmin=least,
                    vmax=most,
                    rstride=1,
                    cstride=1,
                    linewidth=0.2,
                    edgecolor="#00000040",
                )
                axes.set_zlim(least, most)
                axes.set_xlabel("Octave j", labelpad=0)
                axes.set_ylabel("Time (s)", labelpad=4)
                axes.set_zlabel("log2 of the energy", labelpad=0)
                axes.tick_params(labelsize=8, pad=0)
                axes.view_init(elev=26, azim=-60)
                axes.set_title(panel, size=9.5, weight="normal", loc="left")
            entitle(figure, plot.title)
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what runs where."""
        return (
            "The octaves run across (octave j is a scale of 2^j ms), time runs back; height is the energy of "
            "the losses at that scale in a window of 60 s"
        )
