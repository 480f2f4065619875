"""What the worst-off user gets against how full the line is: all candidates, and the best of them."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from sojourn.report.advice.names import named
from sojourn.report.figures.style import COLOURS, INK, MUTED, canvas, settle

_APART = 0.25


def front(about: Mapping[str, Any]) -> Figure:
    """Draw every candidate as a mark, the front as a line, the advice filled."""
    with canvas(6.2, 4.2, "What the worst-off user gets, and how full the line is") as (figure, axes):
        tried, best = about["tried"], about["pareto"]
        shown = {(one["worst"], one["utilisation"]) for one in best}
        others = [one for one in tried if (one["worst"], one["utilisation"]) not in shown]
        axes.plot(
            *_places(others), linestyle="", marker="o", color=MUTED, markerfacecolor="#ffffff", label="others"
        )
        axes.plot(*_places(best), color=COLOURS[0], marker="o", label="none is better in both")
        chosen = [one for one in tried if _pair(one) == _pair(about["recommended"])]
        axes.plot(
            *_places(chosen), linestyle="", marker="D", color=COLOURS[1], markersize=8, label="the advice"
        )
        heights: list[float] = []
        for one in [*chosen, *best]:
            if any(abs(one["worst"] - height) < _APART for height in heights):
                continue  # names would cover one another
            heights.append(one["worst"])
            axes.annotate(
                named(one),
                (100 * one["utilisation"], one["worst"]),
                xytext=(-6, 5),
                textcoords="offset points",
                ha="right",
                fontsize=8.5,
                color=INK,
            )
        axes.set(
            xlabel="utilisation of the busiest link under load (%)",
            ylabel="score of the worst-off user (1 to 5)",
        )
        low, high = axes.get_xlim()
        axes.set_xlim(low - 0.3 * (high - low), high)  # room for the names
        axes.set_ylim(0.9, 5.0)
        axes.legend(loc="upper left")
        settle(axes, grid="both")
    return figure


def _places(ones: list[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    return [100 * one["utilisation"] for one in ones], [one["worst"] for one in ones]


def _pair(one: Mapping[str, Any]) -> tuple[Any, Any]:
    return one["down"], one["up"]
