"""Sawtooths: congestion windows, rates and the queue over the same time."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.errors import SojournError
from sojourn.report.figures.kinds.kind import Kind
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import COLOURS, DASHES, INK, entitle, settle, styled
from sojourn.study.links import WAYS

SERIES = "series"
"""Where a result has its two tables over time, as `flows` and `queues`, while a report is made."""
MOST_PANELS = 12
_ROWS = (
    ("cwnd_pkts", "Window\n(packets)", 1.0),
    ("rate_bps", "Rate\n(Mb/s)", 1e-6),
    ("backlog_pkts", "Queue\n(packets)", 1.0),
)
_PANEL_W, _ROW_H = 4.7, 1.35


class Sawtooth(Kind):
    """A column of three panels for each combination of the axes: windows, rates, and the queue."""

    name = "sawtooth"

    def axes(self, spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
        """Return no axis: every combination has a panel."""
        return "", ""

    def numbers(self, spec: Spec) -> list[str]:
        """Return what the results must hold."""
        return [SERIES]

    def entries(
        self, spec: Spec, result: Mapping[str, Any], across: str, down: str
    ) -> Iterator[tuple[str, str, Any]]:
        """Yield the tables of the first replication."""
        if result["replication"] == 0 and SERIES in result:
            yield "", "", result[SERIES]

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield a row for each sample of a flow, and for each of a queue that these flows fill."""
        flows, queues = found[0]["flows"], found[0]["queues"]
        time = (pl.col("time_ns") / 1e9).alias("time_s")
        flows = flows.select(time, pl.col("group").cast(pl.String), "number", "cwnd_pkts", "rate_bps")
        queues = queues.select(time, pl.col("link").cast(pl.String), "backlog_pkts")
        if not flows.height:
            raise SojournError("a sawtooth needs flows, and no flow was open long enough for one sample")
        yield from flows.iter_rows(named=True)
        busy = queues.filter(pl.col("backlog_pkts") > 0)["link"].unique().to_list() or WAYS[:1]
        yield from queues.filter(pl.col("link").is_in(busy)).iter_rows(named=True)

    def draw(self, plot: Plot) -> Figure:
        """Draw windows, rates and queue of each panel above one another, over the same time."""
        if len(plot.panels) > MOST_PANELS:
            raise SojournError(
                f"a sawtooth would have {len(plot.panels)} panels; choose at most {MOST_PANELS} with `only`"
            )
        frame = plot.frame
        groups = [group for group in frame["group"].unique(maintain_order=True) if group is not None]
        # One scale for all panels, so that they can be compared.
        tops = {name: 1.06 * ((frame[name].max() or 0.0) * scale or 1.0) for name, _, scale in _ROWS}
        across = min(2, len(plot.panels))
        blocks = ceil(len(plot.panels) / across)
        with styled():
            size = (_PANEL_W * across + (1.3 if across == 1 else 0.2), (3 * _ROW_H + 0.6) * blocks + 0.6)
            figure = Figure(figsize=size, layout="constrained")
            entitle(figure, plot.title)
            drawn: dict[str, Any] = {}
            for block, outer in enumerate(figure.subfigures(blocks, 1, squeeze=False)[:, 0]):
                grid = outer.subplots(3, across, squeeze=False, sharex=True, sharey="row")
                for place in range(across):
                    column = grid[:, place]
                    if block * across + place >= len(plot.panels):
                        for axes in column:
                            axes.set_visible(False)
                        continue
                    panel = plot.panels[block * across + place]
                    drawn = _column(column, frame.filter(pl.col("panel") == panel), groups, tops) | drawn
                    if panel:
                        column[0].set_title(panel, size=9.5, weight="normal", loc="left")
                    column[-1].set_xlabel("Time (s)")
                    for axes, (_, title, _) in zip(column, _ROWS, strict=True):
                        if place == 0:
                            axes.set_ylabel(title)
                outer.align_ylabels()
            drawn = dict(sorted(drawn.items(), key=lambda item: [*groups, item[0]].index(item[0])))
            columns = max(1, int((figure.get_figwidth() - 0.3) / (0.7 + 0.085 * max(map(len, drawn)))))
            figure.legend(
                list(drawn.values()), list(drawn), loc="outside lower left", ncols=min(columns, len(drawn))
            )
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what lines and colours are."""
        return (
            "From above: congestion windows, rates of delivery, and the packets that waited. "
            "Time counts from the beginning of the run, warm-up included; the run is the first "
            "replication. A colour is a group of flows and a line one flow; a group has eight at most"
        )

    def csv(self, plot: Plot) -> pl.DataFrame:
        """Return the samples."""
        return plot.frame.drop("x", "y", *([] if len(plot.panels) > 1 else ["panel"]))


def _column(
    column: Sequence[Axes], frame: pl.DataFrame, groups: Sequence[str], tops: Mapping[str, float]
) -> dict[str, Any]:
    """Draw the three panels of one combination; return a line of each kind by its label."""
    drawn: dict[str, Any] = {}
    for name, axes, scale in zip((row[0] for row in _ROWS), column, (row[2] for row in _ROWS), strict=True):
        if name == "backlog_pkts":
            for place, ((link,), rows) in enumerate(_parts(frame, "link")):
                dash = DASHES[(WAYS.index(link) if link in WAYS else place) % len(DASHES)]
                (line,) = axes.plot(
                    rows["time_s"],
                    rows[name],
                    color=INK,
                    linewidth=0.9,
                    linestyle=dash,
                    label=f"queue {link}",
                )
                drawn[f"queue {link}"] = line
        else:
            for (group, number), rows in _parts(frame, "group", "number", name):
                dash = DASHES[int(number) % len(DASHES)] if name == "cwnd_pkts" else "-"
                (line,) = axes.plot(
                    rows["time_s"],
                    rows[name] * scale,
                    color=COLOURS[groups.index(group) % len(COLOURS)],
                    linewidth=1.1,
                    linestyle=dash,
                    alpha=1.0 if number == 0 else 0.75,
                )
                drawn.setdefault(group, line)
        settle(axes)
        axes.set_ylim(0, tops[name])
        axes.margins(x=0)
    return drawn


def _parts(frame: pl.DataFrame, *names: str) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Yield the rows of each line by what tells lines apart: the last of three names is the number drawn."""
    there = frame.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in names))
    yield from there.partition_by(*names[:2], as_dict=True, maintain_order=True).items()
