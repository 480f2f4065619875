"""Measured and simulated over the same time: throughput above, round trips below."""

import polars as pl
from matplotlib.figure import Figure

from sojourn.report.figures.style import COLOURS, DASHES, canvas, settle
from sojourn.report.measured.cells import Cell
from sojourn.report.measured.measurement import Measurement, Series
from sojourn.study import links

WAYS = {way: links.called(way) for way in links.WAYS}
_OURS = {"down": COLOURS[0], "up": COLOURS[3]}
_THEIRS = {"down": COLOURS[1], "up": COLOURS[5]}


def lines(measured: Measurement, cell: Cell) -> dict[str, list[tuple[str, str, Series]]]:
    """Return by quantity the lines that are drawn: whose it is, which link, and the series."""
    found: dict[str, list[tuple[str, str, Series]]] = {"throughput_mbps": [], "rtt_ms": []}
    for link, series in sorted(measured.throughput.items()):
        found["throughput_mbps"].append(("measured", link, series))
        if ours := cell.carried_mbps(link):
            found["throughput_mbps"].append(("simulated", link, ours))
    if measured.rtt_ms:
        found["rtt_ms"].append(("measured", "", measured.rtt_ms))
        if ours := cell.round_trip_ms():
            found["rtt_ms"].append(("simulated", "", ours))
    return {quantity: drawn for quantity, drawn in found.items() if drawn}


def table(drawn: dict[str, list[tuple[str, str, Series]]]) -> pl.DataFrame:
    """Return all that is drawn as rows: ``quantity``, ``whose``, ``link``, ``time_s``, ``value``."""
    return pl.concat(
        pl.DataFrame({"time_s": series.time_s, "value": series.values}).select(
            pl.lit(quantity).alias("quantity"),
            pl.lit(whose).alias("whose"),
            pl.lit(link).alias("link"),
            pl.all(),
        )
        for quantity, parts in drawn.items()
        for whose, link, series in parts
    )


def picture(drawn: dict[str, list[tuple[str, str, Series]]], title: str) -> Figure:
    """Draw each quantity in a panel of its own, measured and simulated over the same time."""
    height = 1.2 + 2.0 * len(drawn)
    with canvas(8.0, height, title, nrows=len(drawn), sharex=True, squeeze=False) as (figure, panels):
        for (quantity, parts), axes in zip(drawn.items(), panels[:, 0], strict=True):
            for whose, link, series in parts:
                ours = whose == "simulated"
                colours = _OURS if ours else _THEIRS
                axes.plot(
                    series.time_s,
                    series.values,
                    color=colours[link or "down"],
                    linestyle=DASHES[0] if not ours else DASHES[1],
                    marker="o" if len(series.values) == 1 else None,
                    linewidth=1.4,
                    label=f"{whose}, {WAYS[link]}" if link else whose,
                )
            axes.set(
                ylabel="Throughput\n(Mbit/s)" if quantity == "throughput_mbps" else "Round trip\n(ms)",
                ylim=(0, None),
            )
            axes.margins(x=0)
            axes.legend(loc="best", ncols=2)
            settle(axes)
        panels[-1, 0].set_xlabel("Time (s)")
        figure.align_ylabels()
    return figure
