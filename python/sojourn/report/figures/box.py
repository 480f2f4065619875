"""Box plots of utilisation: 5, 25, 50, 75 and 95 % of its time bins."""

from __future__ import annotations

from matplotlib.figure import Figure

from sojourn.report.figures.gather import Plot
from sojourn.report.figures.panels import label_ticks, layout
from sojourn.report.figures.style import COLOURS, INK, settle
from sojourn.report.figures.values import shared_unit, tick

_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "ooo", "---", "+++")


def box(plot: Plot) -> Figure:
    """Draw a box for every cell: box 25–75 %, line 50 %, whiskers 5–95 %; one colour and hatch for each y."""
    unit = shared_unit(plot.x_labels)
    ticks = [tick(label, unit) for label in plot.x_labels]
    several = [label for label in plot.y_labels if plot.frame.filter(plot.frame["y"] == label).height]
    slot = 0.8 / max(len(several), 1)
    with layout(
        plot, width=max(6.4, 0.9 + 0.2 * len(several) * len(ticks)), height=3.1 + 0.055 * max(map(len, ticks))
    ) as (figure, panels):
        for axes, panel in panels:
            rows = plot.rows(panel)
            for i, y in enumerate(several):
                boxes, places = [], []
                for j, x in enumerate(plot.x_labels):
                    row = rows.get((y, x))
                    if row:
                        f = plot.value.factor
                        boxes.append(
                            {
                                "whislo": row["p5"] * f,
                                "q1": row["p25"] * f,
                                "med": row["p50"] * f,
                                "q3": row["p75"] * f,
                                "whishi": row["p95"] * f,
                            }
                        )
                        places.append(j - 0.4 + slot * (i + 0.5))
                if not boxes:
                    continue
                drawn = axes.bxp(
                    boxes,
                    positions=places,
                    widths=slot * 0.78,
                    showfliers=False,
                    patch_artist=True,
                    manage_ticks=False,
                    boxprops={
                        "facecolor": COLOURS[i % len(COLOURS)] + "66",
                        "edgecolor": COLOURS[i % len(COLOURS)],
                        "hatch": _HATCHES[i % len(_HATCHES)],
                    },
                    medianprops={"color": INK, "linewidth": 1.6},
                    whiskerprops={"color": COLOURS[i % len(COLOURS)]},
                    capprops={"color": COLOURS[i % len(COLOURS)]},
                )
                if y and len(several) > 1:
                    drawn["boxes"][0].set_label(y)
            label_ticks(axes, [float(j) for j in range(len(ticks))], ticks)
            axes.set_xlim(-0.5, len(ticks) - 0.5)
            for edge in range(1, len(ticks)):
                axes.axvline(edge - 0.5, color="#e8eaee", linewidth=0.7, zorder=0)
            axes.set_ylim(-3 if plot.value.unit == "%" else None, 103 if plot.value.unit == "%" else None)
            settle(axes)
    return figure
