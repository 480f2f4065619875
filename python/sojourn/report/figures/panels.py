"""One panel beside the other, with a title above and one legend below, for all that is drawn with axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.report.figures.form import form, room
from sojourn.report.figures.plot import Plot
from sojourn.report.figures.style import entitle, styled
from sojourn.report.figures.values import axis_name

_TWO = 9.0
"""The width of two panels beside each other, in inches."""
_FEW_ROWS = 3


@contextmanager
def layout(
    plot: Plot,
    width: float = 6.4,
    height: float = 3.2,
    x_title: str | None = None,
    y_title: str | None = None,
    panels: list[str] | None = None,
) -> Iterator[tuple[Figure, list[tuple[Axes, str]]]]:
    """Give the panels of a plot to draw in; title, axis names and legend are added afterwards."""
    panels = plot.panels if panels is None else panels
    beside = 2 if room(_TWO) > 0.75 * _TWO else 1
    across = min(len(panels), beside)
    down = ceil(len(panels) / across)
    with styled():
        figure = Figure(
            figsize=(room(width if across == 1 else max(width, _TWO)), height * down + 0.4),
            layout="constrained",
        )
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        places = [(axes, panel) for axes, panel in zip(grid.flat, panels, strict=False)]
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        yield figure, places
        entitle(figure, plot.title)
        for index, (axes, panel) in enumerate(places):
            if panel:
                axes.set_title(panel, size=9.5, weight="normal", loc="left")
            if index >= len(panels) - across:
                axes.set_xlabel(x_title or axis_name(plot.x, plot.x_labels))
                axes.tick_params(labelbottom=True)
            if index % across == 0:
                axes.set_ylabel(y_title or _wrapped(plot.value.title))
        handles: dict[str, object] = {}
        for axes, _ in places:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if len(handles) > 1:
            widest = max(map(len, handles))
            columns = max(1, int((figure.get_figwidth() - 0.3) / (0.65 + 0.085 * widest)))
            rows = ceil(len(handles) / columns)
            if form().width_in is not None and rows > _FEW_ROWS:
                # In a narrow column the legend would take the height of what it explains.
                figure.set_figheight(figure.get_figheight() + 0.2 * (rows - _FEW_ROWS))
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower left",
                ncols=min(columns, len(handles)),
                handlelength=2.6,
            )


def label_ticks(axes: Axes, places: list[float], labels: list[str]) -> None:
    """Put labels under an axis, aslant where they would run into one another."""
    axes.set_xticks(places, labels)
    longest = max(map(len, labels), default=0)
    if longest > 4 and 0.085 * longest * len(labels) > 5.0:
        axes.tick_params(axis="x", labelrotation=40)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _wrapped(title: str, at: int = 34) -> str:
    """Break a long axis title where a word ends."""
    if len(title) <= at:
        return title
    cut = title.rfind(" ", 0, at)
    return title if cut < 0 else f"{title[:cut]}\n{title[cut + 1 :]}"
