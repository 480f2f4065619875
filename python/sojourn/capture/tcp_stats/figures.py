"""The study's figures: densities of round-trip times, smallest against largest, and the queueing estimate."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from sojourn.capture.tcp_stats.survey import ALL, LIMITS_MS, Survey
from sojourn.report.figures.style import MUTED, canvas, look, settle

_TICKS_MS = (0.1, 1, 10, 100, 1000, 10_000, 100_000)
_PLAIN = FuncFormatter(lambda number, _: f"{number:,g}".replace(",", " "))


def round_trips(survey: Survey) -> Figure:
    """Draw the densities of the smallest, mean and largest smoothed round-trip time."""
    with _panel("Smoothed round-trip times of a connection", "Density over log10(ms)") as (figure, axes):
        for place, which in enumerate(("min", "avg", "max")):
            middles, density = survey.density(which)
            if middles.size:
                label = {"min": "smallest", "avg": "mean", "max": "largest"}[which]
                _line(axes, middles, density, place, label)
        _time_axis(axes, "Round-trip time (ms)")
        axes.legend()
    return figure


def smallest_against_largest(survey: Survey) -> Figure:
    """Draw the histogram of smallest and largest time; on the diagonal they are equal."""
    with _panel("Smallest against largest round-trip time", "Largest (ms)", 7.0, 5.4) as (figure, axes):
        across, up, counts = survey.grid()
        shown = np.ma.masked_equal(counts.T, 0)
        mesh = axes.pcolormesh(
            across, up, shown, norm=LogNorm(1, max(2.0, counts.max())), cmap="viridis", rasterized=True
        )
        axes.plot([across[0], across[-1]], [across[0], across[-1]], color=MUTED, linewidth=1, linestyle=":")
        _time_axis(axes, "Smallest (ms)")
        places = [np.log10(tick) for tick in _TICKS_MS]
        axes.set_yticks(places, [f"{tick:g}" for tick in _TICKS_MS])
        axes.set(xlim=(across[0], across[-1]), ylim=(up[0], up[-1]))
        bar = figure.colorbar(mesh, ax=axes, label="Connections", format=_PLAIN)
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return figure


def queueing(survey: Survey) -> Figure:
    """Draw the density of the queueing estimate, one line for each class of access."""
    with _panel("Estimated queueing delay", "Density over log10(ms)") as (figure, axes):
        classes = [name for name in survey.classes if name != ALL]
        for place, access in enumerate([ALL, *classes]):
            middles, density = survey.density("queueing", access)
            if middles.size:
                _line(axes, middles, density, place, access)
        _limits(axes)
        _time_axis(axes, "Largest minus smallest smoothed round-trip time (ms)")
        axes.legend()
    return figure


def beyond(survey: Survey) -> Figure:
    """Draw the share of connections above a queueing delay, for all hosts and for those near."""
    with _panel("Share of connections that wait longer", "Share (%)") as (figure, axes):
        for place, near in enumerate((False, True)):
            middles, density = survey.density("queueing", ALL, near)
            if middles.size:
                above = (np.cumsum(density[::-1])[::-1] - density) / density.sum()
                label = f"smallest time at most {survey.near_ms:g} ms" if near else "all hosts"
                shown = above > 0
                _line(axes, middles[shown] + 0.025, above[shown] * 100, place, label)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(_PLAIN)
        _limits(axes)
        _time_axis(axes, "Estimated queueing delay (ms)")
        axes.legend()
    return figure


@contextmanager
def _panel(title: str, y: str, width: float = 6.4, height: float = 3.6) -> Iterator[tuple[Figure, Axes]]:
    with canvas(width, height, title) as (figure, axes):
        axes.set_ylabel(y)
        yield figure, axes
        settle(axes, grid="both")


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, place: int, label: str) -> None:
    style = look(place)
    axes.plot(x, y, color=style["color"], linestyle=style["linestyle"], label=label)


def _limits(axes: Axes) -> None:
    for limit in LIMITS_MS:
        axes.axvline(np.log10(limit), color=MUTED, linewidth=0.8, linestyle=":")


def _time_axis(axes: Axes, title: str) -> None:
    low, high = axes.get_xlim()
    axes.set_xticks([np.log10(tick) for tick in _TICKS_MS], [f"{tick:g}" for tick in _TICKS_MS])
    axes.set(xlim=(max(low, -1.2), high), xlabel=title)
