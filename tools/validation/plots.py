"""The figures of the validation page."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from sojourn.report.figures.style import COLOURS, MUTED, look, save, settle, styled

from tools.validation import theory
from tools.validation.checks import Check
from tools.validation.study import Comparison


def waits(checks: Sequence[Check], stem: Path) -> None:
    """Draw mean waits over the load, and the window over the loss, with their formulas."""
    with styled():
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        loads = [i / 200 for i in range(40, 194)]
        for i, (name, formula) in enumerate((("M/D/1", theory.md1_wait), ("M/M/1", theory.mm1_wait))):
            left.plot(loads, [formula(load, theory.SERVICE_MS) for load in loads], color=COLOURS[i])
            _points(left, _of(checks, name, "wait"), i, name)
        _plain_logs(left, "y")
        left.set(xlabel="load", ylabel="mean wait (ms)", title="One queue, service of 1 ms")
        losses = [10 ** (-3.2 + i * 0.05) for i in range(34)]
        law = [theory.random_loss_window(p, theory.ACKED_AT_ONCE) for p in losses]
        right.plot(losses, law, color=COLOURS[0])
        for i, ack_delay in enumerate(theory.LAW_ACK_DELAYS[::-1]):
            rows = _of(checks, f"square-root-{ack_delay}", "window")
            _points(right, rows, i, f"New Reno, ACKs after {ack_delay}")
        _plain_logs(right, "xy")
        right.set(ylim=(4, 100), xlabel="loss", ylabel="mean window (packets)")
        right.set_title("Inverse square root of the loss")
        for axes in (left, right):
            settle(axes, grid="both")
            axes.legend()
        save(figure, stem)


def _of(checks: Sequence[Check], name: str, quantity: str) -> list[Check]:
    return [c for c in checks if c.key.startswith(f"theory/{name}/") and c.key.endswith(f"/{quantity}")]


def _points(axes: Axes, rows: Sequence[Check], index: int, label: str) -> None:
    at = [float(check.key.split("/")[-2]) for check in rows]
    ours = [check.ours for check in rows]
    down = [max(0.0, check.ours - check.spread[0]) for check in rows]
    up = [max(0.0, check.spread[1] - check.ours) for check in rows]
    axes.errorbar(at, ours, yerr=[down, up], label=label, **look(index) | {"linestyle": "none"})


def against(checks: Sequence[Check], stem: Path, other: str) -> None:
    """Draw delay and loss of ours over those of the others, which are joined where there are several."""
    with styled():
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        for axes, quantity, unit in zip(figure.subplots(1, 2), ("delay", "loss"), (" (ms)", ""), strict=True):
            rows = [
                check
                for check in checks
                if check.key.endswith(f"/{quantity}")
                and check.ours > 0
                and all(value > 0 for _, value in check.references)
            ]
            for check in rows:
                values = [value for _, value in check.references]
                colour = COLOURS[0] if check.ok else COLOURS[1]
                axes.plot([min(values), max(values)], [check.ours] * 2, color=colour, linewidth=1.2)
                axes.plot(values, [check.ours] * len(values), linestyle="none", color=colour, marker="o")
            _diagonal(
                axes, [value for check in rows for _, value in check.references], [c.ours for c in rows]
            )
            _plain_logs(axes, "xy")
            axes.set(title=quantity.capitalize())
            axes.set(xlabel=f"{other}{unit}", ylabel=f"sojourn{unit}")
            axes.plot([], [], linestyle="none", marker="o", color=COLOURS[0], label="the rule holds")
            axes.plot([], [], linestyle="none", marker="o", color=COLOURS[1], label="outside")
            settle(axes, grid="both")
            axes.legend()
        save(figure, stem)


def scatter(comparison: Comparison, stem: Path) -> None:
    """Draw our cells over the published ones, a mark for each workload."""
    with styled():
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        axes = figure.subplots()
        workloads = list(dict.fromkeys(pair.workload for pair in comparison.pairs))
        for i, workload in enumerate(workloads):
            pairs = [pair for pair in comparison.pairs if pair.workload == workload]
            published, ours = [p.published for p in pairs], [p.ours for p in pairs]
            axes.plot(published, ours, label=workload, **look(i) | {"linestyle": "none"})
        published = [pair.published for pair in comparison.pairs]
        ours = [pair.ours for pair in comparison.pairs]
        values = [value for value in published + ours if value > 0]
        if values and max(values) > 20 * min(values) and len(values) == len(published + ours):
            _plain_logs(axes, "xy")
        _diagonal(axes, published, ours)
        axes.set(xlabel="published", ylabel="sojourn", title=comparison.title)
        settle(axes, grid="both")
        axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1, 0.5))
        save(figure, stem)


def _plain_logs(axes: Axes, which: str) -> None:
    """Make axes (`x`, `y` or `xy`) logarithmic, with plain numbers at the decades."""
    for name in which:
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _diagonal(axes: Axes, first: Sequence[float], second: Sequence[float]) -> None:
    values = [value for value in (*first, *second) if math.isfinite(value)]
    if values:
        ends = [min(values), max(values)]
        axes.plot(ends, ends, color=MUTED, linewidth=0.9, zorder=0)
