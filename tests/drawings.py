"""A figure in words: its panels, axes and ticks, and every mark with its place, colour and label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.spines import Spine
from matplotlib.text import Text

_MOST = 12
"""Points of a mark that are written out; of more, the first ones, how many, and their means."""


def described(figure: Figure) -> list[str]:
    """Return a line for each panel, axis and mark of a figure."""
    width, height = figure.get_size_inches()
    lines = [f"figure {_numbers((width, height))}"]
    lines += _texts(figure.texts)
    for legend in figure.legends:
        lines.append(_legend(legend))
    for axes in figure.axes:
        lines += _panel(axes)
    return lines


def _panel(axes: Axes) -> Iterator[str]:
    if not axes.get_visible():
        yield "panel, hidden"
        return
    names = [axes.get_title(loc=place) for place in ("left", "center", "right")]
    yield f"panel {' '.join(filter(None, names))!r}".replace(" ''", "")
    for name in ("x", "y", "z"):
        if hasattr(axes, f"get_{name}lim"):
            yield _axis(axes, name)
    legend = axes.get_legend()
    if legend is not None:
        yield _legend(legend)
    for artist in axes.get_children():
        if artist.get_visible() and artist is not axes.patch and not isinstance(artist, Spine):
            yield from map("  ".__add__, _mark(artist))
    for child in getattr(axes, "child_axes", ()):
        yield from map("    ".__add__, _panel(child))


def _axis(axes: Axes, name: str) -> str:
    axis, limits = getattr(axes, f"{name}axis"), getattr(axes, f"get_{name}lim")()
    low, high = sorted(limits)
    places = [place for place in axis.get_majorticklocs() if low <= place <= high]
    ticks = [text for text in axis.get_major_formatter().format_ticks(places) if text]
    scale = getattr(axes, f"get_{name}scale")()
    label = getattr(axes, f"get_{name}label")()
    return f"{name} {label!r} {scale} {_numbers(limits)} at {_numbers(places)}: {' | '.join(ticks)}"


def _mark(artist: Artist) -> Iterator[str]:
    label = str(artist.get_label() or "")
    called = f" {label!r}" if label and not label.startswith("_") else ""
    if isinstance(artist, Line2D):
        look = [to_hex(artist.get_color()), str(artist.get_linestyle()), str(artist.get_marker())]
        step = artist.get_drawstyle()
        look += [step] if step != "default" else []
        at = np.column_stack([np.ravel(np.asarray(each, dtype=float)) for each in artist.get_data()])
        yield f"line{called} {' '.join(look)}: {_points(at)}"
    elif isinstance(artist, Patch):
        corners = artist.get_patch_transform().transform(artist.get_path().vertices)
        hatch = artist.get_hatch() or ""
        yield f"patch{called} {to_hex(artist.get_facecolor())}{hatch}: {_points(corners)}"
    elif isinstance(artist, Collection):
        colours = {to_hex(colour): None for colour in (*artist.get_facecolor(), *artist.get_edgecolor())}
        if hasattr(artist, "_segments3d") or hasattr(artist, "_faces"):
            yield f"{type(artist).__name__}{called}"
            return
        yield f"{type(artist).__name__}{called} {' '.join(colours)}"
        offsets = np.asarray(artist.get_offsets(), dtype=float)
        if offsets.any():
            yield f"  at {_points(offsets)}"
        else:
            yield from (f"  {_points(path.vertices)}" for path in artist.get_paths()[:_MOST])
    elif isinstance(artist, Text):
        yield from _texts([artist])


def _texts(texts: Iterable[Any]) -> list[str]:
    return [
        f"text {text.get_text()!r} {to_hex(text.get_color())} {_numbers(text.get_position())}"
        for text in texts
        if text.get_text()
    ]


def _legend(legend: Legend) -> str:
    title = legend.get_title().get_text()
    return f"legend {title}: " + " | ".join(text.get_text() for text in legend.get_texts())


def _points(at: Any) -> str:
    shown = " ".join(_numbers(point) for point in at[:_MOST])
    if len(at) <= _MOST:
        return shown
    return f"{shown} … {len(at)} with means {_numbers(np.nanmean(at, axis=0))}"


def _numbers(values: Iterable[Any]) -> str:
    # A zero of either sign, and what a sum of halves leaves of one.
    return ",".join(f"{0.0 if abs(value) < 1e-9 else value:.4g}" for value in map(_number, values))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
