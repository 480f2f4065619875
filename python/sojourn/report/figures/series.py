"""A look inside one cell: delay, utilisation and drops over time."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from sojourn.errors import SojournError
from sojourn.report.figures.style import COLOURS, MUTED, canvas, settle

COLUMNS = ("queue_delay_ms", "utilisation", "dropped_pkts")


def series_table(result: Mapping[str, Any], link: str) -> pl.DataFrame:
    """Return the time series of a link: ``time_s``, ``queue_delay_ms``, ``utilisation``, ``dropped_pkts``."""
    found = result.get("links", {}).get(link, {}).get("series")
    if not found or not found.get("bin_s"):
        raise SojournError(f"link {link!r} of this point has no time series")
    bins = max(len(found.get(name, ())) for name in COLUMNS)
    return pl.DataFrame(
        {"time_s": [round(i * found["bin_s"], 9) for i in range(bins)]}
        | {
            name: pl.Series(
                [*found.get(name, ()), *[None] * (bins - len(found.get(name, ())))], dtype=pl.Float64
            )
            for name in COLUMNS
        }
    )


def series(frame: pl.DataFrame, title: str) -> Figure:
    """Draw the three series of a link above one another, over the same time, the last bin in full."""
    if frame.height > 1:
        width = frame["time_s"][1] - frame["time_s"][0]
        frame = pl.concat([frame, frame.tail(1).with_columns(pl.col("time_s") + width)])
    time = frame["time_s"].to_numpy()
    with canvas(8.0, 5.0, title, nrows=3, sharex=True, height_ratios=(2, 1.2, 1.2)) as (figure, panels):
        delay, busy, drops = panels
        delay.plot(time, frame["queue_delay_ms"], color=COLOURS[0], drawstyle="steps-post", linewidth=1.2)
        top = frame["queue_delay_ms"].max() or 0.0
        for limit in (150, 400):
            if top > limit * 0.6:
                delay.axhline(limit, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
                delay.annotate(
                    f"{limit} ms",
                    (1, limit),
                    xycoords=("axes fraction", "data"),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    size=8.5,
                    color=MUTED,
                )
        delay.set_ylabel("Queueing\ndelay (ms)")
        busy.plot(time, frame["utilisation"] * 100, color=COLOURS[2], drawstyle="steps-post", linewidth=1.2)
        busy.set(ylabel="Utilisation\n(%)", ylim=(0, 104))
        drops.fill_between(
            time, frame["dropped_pkts"].fill_null(0), step="post", color=COLOURS[1], linewidth=0
        )
        drops.set(ylabel="Dropped\n(packets a bin)", xlabel="Time (s)")
        for axes in panels:
            settle(axes)
            axes.margins(x=0)
        for axes in (delay, drops):
            axes.set_ylim(bottom=0)
        figure.align_ylabels()
    return figure
