"""Responsiveness: round trips a minute of both kinds of probes and their mean, with the draft's classes.

A queue with a line for each flow hides self-inflicted delay from new connections, so the halves stand beside
the score. The axis is logarithmic: what counts is how many times as long a round trip takes.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from sojourn.errors import SojournError
from sojourn.report.figures.kinds.kind import Kind, is_number
from sojourn.report.figures.kinds.lines import clause_of_bars, label_x, places
from sojourn.report.figures.panels import layout
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import GRID, MUTED, look, settle
from sojourn.report.figures.values import axis_name
from sojourn.results.interval import half_width
from sojourn.results.path import look_up

SCORE = "responsiveness.rpm.median"
HALVES = {
    "score": SCORE,
    "new connections": "responsiveness.foreign_rpm.median",
    "load connections": "responsiveness.self_rpm.median",
}
"""What is drawn, and where results have it."""
CLASSES = ((300, "fair"), (1000, "good"), (6000, "excellent"))
"""Where the classes of draft-ietf-ippm-responsiveness-06 begin, in round trips a minute."""


class Responsiveness(Kind):
    """The score and its halves over an axis."""

    name = "responsiveness"
    value = SCORE

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return the axis that runs across; what runs down is the score and its halves."""
        return super().axes(spec, axes)[0], ""

    def numbers(self, spec: Spec) -> list[str]:
        """Return the paths of the results that the figure shows."""
        return list(HALVES.values())

    def entries(
        self, spec: Spec, result: Mapping[str, Any], across: str, down: str
    ) -> Iterator[tuple[str, str, Any]]:
        """Yield the score and both halves."""
        for name, path in HALVES.items():
            if is_number(found := look_up(result, path)):
                yield across, name, found

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the mean over replications, and its 95 % interval."""
        numbers = [float(number) for number in found]
        half, mean = half_width(numbers), fmean(numbers)
        low, high = (None, None) if half is None else (max(mean - half, 1.0), mean + half)
        yield {"value": mean, "low": low, "high": high, "n": len(numbers)}

    def draw(self, plot: Plot) -> Figure:
        """Draw a mark for each, with 95 % intervals, over the classes."""
        at = plot.x_at or places(plot.x_labels)
        title = axis_name(plot.x) if plot.x else None
        with layout(plot, height=3.6, x_title=title) as (figure, panels):
            for axes, panel in panels:
                rows = plot.rows(panel)
                if not rows:
                    raise SojournError("no test of responsiveness came to a score here")
                for index, name in enumerate(HALVES):
                    there = [(at[x], rows[name, x]) for x in plot.x_labels if (name, x) in rows]
                    if not there:
                        continue
                    style = {**look(index), "linestyle": "none"}
                    xs, found = zip(*there, strict=True)
                    axes.plot(xs, [row["value"] for row in found], label=name, **style)
                    for x, row in there:
                        if row["low"] is not None:
                            axes.plot([x, x], [row["low"], row["high"]], color=style["color"], linewidth=1)
                label_x(axes, plot.x_labels, plot.x_at)
                settle(axes)
            for axes, _ in panels:
                axes.set_yscale("log")
                low, high = axes.get_ylim()
                axes.set_ylim(min(low, 200), max(high, 7000))
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_minor_locator(NullLocator())
                axes.grid(visible=False, axis="y")  # Only the classes have lines across.
                axes.yaxis.set_major_formatter(FuncFormatter(lambda rpm, _: f"{rpm:g}"))
                for rpm, name in CLASSES:
                    axes.axhline(rpm, color=GRID, linewidth=1, zorder=0)
                    here = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": "bottom"}
                    axes.annotate(f"{name} from {rpm}", (0.995, rpm), fontsize=7, color=MUTED, **here)
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what the marks and lines are."""
        return (
            f"Round trips a minute under load over the {plot.across or 'study'}: of new connections, of the "
            f"connections that load the path, and the score, the mean of both{clause_of_bars(plot)}. "
            "Lines are where responsiveness becomes fair (300 RPM), good (1000) and excellent (6000) in "
            "draft-ietf-ippm-responsiveness-06; the axis is logarithmic"
        )
