"""Figures of passive measurement: mean delay of hosts, delay over time, the same host under TCP and uTP."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sojourn.errors import counted
from sojourn.report.figures.style import COLOURS, INK, MUTED, at_least, canvas, look, settle

MARKED = 30
"""Hosts that have a mark each; more are a curve."""
NAMES = {"tcp": "TCP timestamps", "utp": "uTP"}

Hosts = Sequence[Mapping[str, Any]]


def delay_cdf(hosts: Hosts) -> Figure:
    """Draw the distribution of the mean queueing delay of hosts, one step curve for each protocol."""
    with canvas(6.4, 3.8) as (figure, axes):
        of = {name: sorted(_means(hosts, name)) for name in NAMES}
        means = {name: np.array([mean for mean, _ in found]) for name, found in of.items()}
        bounds = {name: np.array([bound for _, bound in found], dtype=bool) for name, found in of.items()}
        highest = max((values[-1] for values in means.values() if values.size), default=1.0)
        # Nobody waited.
        right = highest * 1.05 or 1.0
        for place, (name, values) in enumerate(means.items()):
            if not values.size:
                continue
            style = look(place)
            share = np.arange(1, values.size + 1) / values.size * 100
            label = f"{NAMES[name]} ({counted(values.size, 'host')})"
            # A few hosts hardly make a curve: marks show where they are.
            axes.step(
                np.concatenate([[0.0], values, [right]]),
                np.concatenate([[0.0], share, [100.0]]),
                where="post",
                color=style["color"],
                linestyle=style["linestyle"],
                label=label,
            )
            if values.size <= MARKED:
                axes.plot(values, share, linestyle="none", marker=style["marker"], color=style["color"])
                bound = bounds[name]
                at_least(axes, values[bound], share[bound], style, towards=(1, 0))
        axes.set(
            xlim=(0, right),
            ylim=(0, 102),
            xlabel="Mean queueing delay of a host (ms)",
            ylabel="Share of hosts (%)",
        )
        settle(axes, grid="both")
        axes.legend(loc="best")
    return figure


def _means(hosts: Hosts, protocol: str) -> list[tuple[float, bool]]:
    """Return the mean delays of hosts, and which of them are lower bounds."""
    return [
        (host["mean_ms"], bool(host.get("lower_bound"))) for host in hosts if host["protocol"] == protocol
    ]


def delay_over_time(hosts: Hosts) -> Figure:
    """Draw mean (line) and maximum (shade) of the queueing delay over time, a panel for each host."""
    grid = {"nrows": len(hosts), "sharex": True, "squeeze": False}
    with canvas(8.0, 1.0 + 1.7 * len(hosts), **grid) as (figure, panels):
        for axes, host in zip(panels[:, 0], hosts, strict=True):
            place = list(NAMES).index(host["protocol"])
            rows = np.array(host["series"]["rows"], dtype=float).reshape(-1, 3)
            at, mean, most = _with_gaps(rows, host["series"]["bin_s"])
            axes.fill_between(at, mean, most, step="post", color=COLOURS[place], alpha=0.25, linewidth=0)
            axes.step(at, mean, where="post", color=COLOURS[place], linewidth=1.2)
            least = ": at least" if host.get("lower_bound") else ""
            axes.set_title(f"{host['remote']}, {NAMES[host['protocol']]}{least}", loc="left")
            axes.set(ylabel="Delay (ms)", ylim=(0, None))
            axes.margins(x=0.005)
            settle(axes)
        panels[-1, 0].set_xlabel("Time since the first packet (s)")
        figure.align_ylabels()
    return figure


def _with_gaps(rows: np.ndarray, bin_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the three columns with breaks where bins have no samples, so that no line spans silence."""
    parts: list[np.ndarray] = []
    for place, row in enumerate(rows):
        parts.append(row)
        ends = row[0] + bin_s
        if place + 1 == len(rows) or rows[place + 1][0] > ends + bin_s / 2:
            parts.append(np.array([ends, row[1], row[2]]))
            parts.append(np.array([ends, np.nan, np.nan]))
    columns = np.array(parts).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def tcp_against_utp(hosts: Hosts) -> Figure:
    """Draw hosts that were seen with both protocols: mean delay under uTP against that under TCP."""
    by = {(host["remote"], host["protocol"]): host for host in hosts}
    pairs = [
        (by[name, "tcp"], by[name, "utp"])
        for name, kind in sorted(by)
        if kind == "tcp" and (name, "utp") in by
    ]
    both = [[host["mean_ms"] for host in pair] for pair in pairs]
    bounds = [tuple(int(bool(host.get("lower_bound"))) for host in pair) for pair in pairs]
    with canvas(4.8, 4.4) as (figure, axes):
        values = np.array(both, dtype=float)
        low, high = max(values.min(), 0.1) / 1.6, max(values.max(), 1.0) * 1.6
        axes.plot([low, high], [low, high], color=MUTED, linewidth=1, linestyle=(0, (4, 3)), label="the same")
        axes.axhline(100, color=MUTED, linewidth=0.9, linestyle=":", label="LEDBAT's target, 100 ms")
        axes.plot(
            *np.maximum(values, low).T,
            linestyle="none",
            marker="o",
            color=COLOURS[0],
            markeredgecolor=INK,
            markeredgewidth=0.4,
            alpha=0.85,
            label=f"host (n = {len(both)})",
        )
        style = {"marker": "o", "color": COLOURS[0]}
        for towards in sorted({*bounds} - {(0, 0)}):
            there = np.maximum(values, low)[[bound == towards for bound in bounds]]
            at_least(axes, *there.T, style, towards=towards)
        axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        axes.set(
            xlim=(low, high),
            ylim=(low, high),
            aspect="equal",
            xlabel="Mean queueing delay under TCP (ms)",
            ylabel="Mean queueing delay under uTP (ms)",
        )
        settle(axes, grid="both")
        axes.legend(loc="upper left", fontsize=8.5)
    return figure
