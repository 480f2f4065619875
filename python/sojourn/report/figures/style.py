"""The look of all figures, and writing them so that the same figure is the same bytes."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.report.figures.form import fit, form, room

INK, MUTED, GRID = "#16181d", "#5b616b", "#d9dce1"

# Okabe and Ito's colours, ordered so that neighbours differ in lightness; with them go marker and dash.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#56b4e9", "#8a4a75", "#b07d00", "#16181d", "#7f8790")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (3, 3)))

_RC = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.7,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "sojourn",
    "path.simplify": True,
    "text.usetex": False,
    "text.parse_math": False,
    "figure.dpi": 100,
    "savefig.dpi": 144,
}

FORMATS = ("svg", "png", "pdf")
"""The formats that every figure is written in."""

_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""What would name a date or a version of the drawing library, and so change bytes."""


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the one look, whatever the user's own settings are."""
    with style.context(["default", _RC, {"pdf.fonttype": form().font_type}]):
        yield


@contextmanager
def canvas(width: float, height: float, title: str = "", **grid: Any) -> Iterator[tuple[Figure, Any]]:
    """Give a figure in the one look and its panels: one, or those that `Figure.subplots` makes of `grid`."""
    with styled():
        figure = Figure(figsize=(room(width), height), layout="constrained")
        if title:
            entitle(figure, title)
        yield figure, figure.subplots(**grid)


def entitle(figure: Figure, title: str) -> None:
    """Write the title of a figure."""
    figure.suptitle(title, x=0.012, ha="left", weight="bold", size=11.5)


def look(index: int) -> dict[str, object]:
    """Return colour, marker and dash of a line: three ways to tell it from the next."""
    turn = index // len(COLOURS)
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[(index + turn) % len(MARKERS)],
        "linestyle": DASHES[(index + turn) % len(DASHES)],
    }


def at_least(
    axes: Axes,
    xs: Sequence[float],
    ys: Sequence[float],
    style: Mapping[str, Any],
    towards: tuple[int, int] = (0, 1),
) -> None:
    """Draw over points that are lower bounds: hollow, with an arrow towards where they may be."""
    if not len(xs):
        return
    hollow = {"marker": style["marker"], "color": style["color"], "markerfacecolor": "white"}
    axes.plot(xs, ys, linestyle="none", zorder=3, **hollow)
    arrow = {"arrowstyle": "<|-", "color": style["color"], "shrinkA": 0, "shrinkB": 3, "mutation_scale": 9}
    tip = (15 * towards[0], 15 * towards[1])
    for place in zip(xs, ys, strict=True):
        axes.annotate("", place, tip, textcoords="offset points", arrowprops=arrow)


def settle(axes: Axes, *, grid: str = "y") -> None:
    """Give a panel its grid and let ticks stand back."""
    axes.grid(True, axis=grid)
    axes.tick_params(length=0)


def svg(figure: Figure, name: str = "figure") -> str:
    """Return a figure as an SVG element that can stand inside a page, its ids beginning with `name`."""
    buffer = io.StringIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # matplotlib's ids depend on addresses in memory, and repeat from figure to figure: number them anew.
    used = dict.fromkeys(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    names = {old: f"{name}-{number}" for number, old in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda at: f' id="{names[at[1]]}"' if at[1] in names else "", text)
    text = re.sub(r'(url\(#|href="#)([^)"]+)', lambda at: at[1] + names[at[2]], text)
    return re.sub(r"'DejaVu Sans'(, sans-serif)?", "'DejaVu Sans', Verdana, Arial, sans-serif", text)


def for_page(drawn: str, says: str) -> str:
    """Return an SVG element as it stands in a page: with a role, a name and the page's paper."""
    escaped = says.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    named = drawn.replace("<svg ", f'<svg role="img" aria-label="{escaped}" ', 1)
    return re.sub(r'(<path [^>]*style="fill: )#ffffff', r"\1var(--paper, #fff)", named)


def written(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file of a format, the same bytes for the same figure."""
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, stem: Path) -> str:
    """Write ``stem.svg``, ``stem.png`` and ``stem.pdf``; return the SVG."""
    fit(figure)
    with styled():
        # Laid out once, and not anew for each format.
        if engine := figure.get_layout_engine():
            engine.execute(figure)
        figure.set_layout_engine(None)
    text = svg(figure, stem.name)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    stem.with_name(stem.name + ".svg").write_text(head + text, encoding="utf-8")
    for kind in _METADATA:
        stem.with_name(f"{stem.name}.{kind}").write_bytes(written(figure, kind))
    return text
