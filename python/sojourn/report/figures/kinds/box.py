"""Box plots of utilisation: 5, 25, 50, 75 and 95 % of its time bins."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.errors import SojournError
from sojourn.report.figures.kinds.kind import Kind, is_number, one_for_each
from sojourn.report.figures.panels import label_ticks, layout
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import COLOURS, INK, settle
from sojourn.report.figures.values import shared_unit, tick

QUANTILES = ("p5", "p25", "p50", "p75", "p95")
_MARKS = ("whislo", "q1", "med", "q3", "whishi")
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "ooo", "---", "+++")


class Box(Kind):
    """A box for every cell; the value is an object with quantiles."""

    name = "box"

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the mean of each quantile over replications."""
        boxes = [item for item in found if isinstance(item, Mapping)]
        if not boxes:
            raise SojournError(
                f"a box figure needs quantiles; {spec.value!r} is a single number; "
                "expected, for example, 'links.down.utilisation_quantiles'"
            )
        middle = {name: fmean(box[name] for box in boxes if is_number(box.get(name))) for name in QUANTILES}
        yield {"value": middle["p50"], "n": len(boxes), **middle}

    def draw(self, plot: Plot) -> Figure:
        """Draw a box per cell: box 25–75 %, line 50 %, whiskers 5–95 %; a colour and hatch for each y."""
        unit = shared_unit(plot.x_labels)
        ticks = [tick(label, unit) for label in plot.x_labels]
        several = [label for label in plot.y_labels if plot.frame.filter(plot.frame["y"] == label).height]
        slot = 0.8 / max(len(several), 1)
        with layout(
            plot,
            width=max(6.4, 0.9 + 0.2 * len(several) * len(ticks)),
            height=3.1 + 0.055 * max(map(len, ticks)),
        ) as (figure, panels):
            for axes, panel in panels:
                rows = plot.rows(panel)
                for i, y in enumerate(several):
                    there = [(j, rows[y, x]) for j, x in enumerate(plot.x_labels) if (y, x) in rows]
                    if not there:
                        continue
                    boxes = {j - 0.4 + slot * (i + 0.5): row for j, row in there}
                    drawn = draw_boxes(axes, boxes, plot.value.factor, slot * 0.78, i)
                    if y and len(several) > 1:
                        drawn["boxes"][0].set_label(y)
                label_ticks(axes, [float(j) for j in range(len(ticks))], ticks)
                axes.set_xlim(-0.5, len(ticks) - 0.5)
                for edge in range(1, len(ticks)):
                    axes.axvline(edge - 0.5, color="#e8eaee", linewidth=0.7, zorder=0)
                axes.set_ylim(-3 if plot.value.unit == "%" else None, 103 if plot.value.unit == "%" else None)
                settle(axes)
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what box, line and whiskers are."""
        return (
            "A box spans the middle half of all time bins of a cell, the line in it is the median, "
            f"and the whiskers reach from 5 to 95 %{one_for_each(plot.down)}"
        )


def draw_boxes(
    axes: Axes, boxes: Mapping[float, Mapping[str, float]], factor: float, width: float, look: int = 0
) -> dict[str, Any]:
    """Draw boxes of the quantiles of rows, by where they stand, in the colour and hatch of a number."""
    colour = COLOURS[look % len(COLOURS)]
    return axes.bxp(
        [
            {mark: row[name] * factor for mark, name in zip(_MARKS, QUANTILES, strict=True)}
            for row in boxes.values()
        ],
        positions=list(boxes),
        widths=width,
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour + "66", "edgecolor": colour, "hatch": _HATCHES[look % len(_HATCHES)]},
        medianprops={"color": INK, "linewidth": 1.6},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
