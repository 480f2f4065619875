"""From results to the table that a figure is drawn from: one row per cell, replications together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import product
from math import isfinite
from statistics import fmean, median
from typing import Any

import polars as pl

from sojourn.errors import SojournError
from sojourn.report.figures.scales import Scale, scale_for
from sojourn.report.figures.values import Value, axis_name, number_of, value
from sojourn.results.interval import half_width as interval
from sojourn.results.path import look_up, paths

KINDS = ("heatmap", "box", "lines", "clients", "cdf", "scatter", "table", "curves", "flow-boxes", "surface")
WHOLE = ("curves", "flow-boxes", "surface")
"""Kinds whose value holds a whole picture: an object of lists of one length."""
QUANTILES = ("p5", "p25", "p50", "p75", "p95")
MOST_PANELS = 24


@dataclass(frozen=True)
class Spec:
    """One entry of a study's ``[[figures]]``."""

    kind: str
    value: str = ""
    x: str | None = None
    y: str | None = None
    scale: str | None = None
    title: str | None = None
    caption: str | None = None
    label: str | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: str | None = None
    published_where: Mapping[str, str] = field(default_factory=dict)
    published_column: str | None = None

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Spec:
        """Read an entry of the study document."""
        kind = entry.get("kind")
        if kind not in KINDS:
            raise SojournError(f"figure kind {kind!r} is not known; expected one of {', '.join(KINDS)}")
        names = ("value", "x", "y", "scale", "title", "caption", "label", "published")
        known = {name: entry[name] for name in names if entry.get(name)}
        if not known.get("value"):
            raise SojournError(
                f"a {kind} figure needs `value`, a number of the results such as 'links.down.loss'"
            )
        return cls(
            kind,
            **known,
            only={axis: tuple(map(text, labels)) for axis, labels in (entry.get("only") or {}).items()},
            published_where={
                column: text(label) for column, label in (entry.get("published-where") or {}).items()
            },
            published_column=entry.get("published-column"),
        )


@dataclass(frozen=True)
class Plot:
    """A figure's table with all that is needed to draw it.

    `frame` has the columns ``panel``, ``y``, ``x`` (labels), ``value``, ``low``, ``high`` (95 %
    interval of the mean over replications, null for one) and ``n`` (replications); box plots have ``p5`` to
    ``p95`` besides; of a CDF there is one row per observation. Cells that were not run have no row.
    """

    spec: Spec
    value: Value
    scale: Scale
    x: str
    y: str
    x_labels: list[str]
    y_labels: list[str]
    panels: list[str]
    frame: pl.DataFrame
    points: Mapping[tuple[str, str, str], Mapping[str, str]] = field(default_factory=dict)
    """Axis labels of each cell, by (panel, y, x)."""

    @property
    def title(self) -> str:
        """The figure's own title, or the name of what it shows."""
        return self.spec.title or self.value.name

    def rows(self, panel: str) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the rows of a panel by (y, x)."""
        return {
            (row["y"], row["x"]): row
            for row in self.frame.filter(pl.col("panel") == panel).iter_rows(named=True)
        }


def text(label: Any) -> str:
    """Write an axis label, which may be any JSON value."""
    return label if isinstance(label, str) else json.dumps(label, ensure_ascii=False)


def labels_of(points: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return every axis of the points with its labels, in the order in which they appear."""
    axes: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, label in point.items():
            axes.setdefault(axis, {})[text(label)] = None
    return {axis: list(labels) for axis, labels in axes.items()}


def gather(spec: Spec, results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]]) -> Plot:
    """Build the table of a figure from results and the axes of their sweep."""
    shown = value(spec.value, spec.label)
    for axis in spec.only:
        if axis not in axes:
            raise SojournError(
                f"figure {spec.value!r}: `only` names {axis!r}, which is no axis; {_axes_are(axes)}"
            )
    axes = {
        axis: [label for label in labels if label in spec.only.get(axis, labels)]
        for axis, labels in axes.items()
    }
    chosen = [
        result
        for result in results
        if all(text(label) in axes.get(axis, ()) for axis, label in result["point"].items())
    ]
    if not chosen:
        raise SojournError(f"figure {spec.value!r}: there is no result for any of its cells")
    x, y = _axes(spec, axes)
    pooled = spec.kind in ("cdf", "scatter")
    each = spec.kind == "clients"
    if each:
        y = ""
    spare = [] if pooled else [axis for axis in axes if axis not in (x, y) and len(axes[axis]) > 1]
    cells: dict[tuple[str, str, str], list[Any]] = {}
    points: dict[tuple[str, str, str], Mapping[str, str]] = {}
    for result in chosen:
        point = result["point"]
        found = look_up(result, spec.value)
        if spec.kind == "scatter":
            found = (_across(spec.x or "", result), found)
        across = _cell(point, y) if spec.kind == "scatter" else text(point.get(x, ""))
        if found is None:
            continue
        entries = [(text(point.get(y, "")), found)]
        if each and isinstance(found, list):
            entries = [(f"client {number}", entry) for number, entry in enumerate(found, start=1)]
        for row, entry in entries:
            key = (_panel(point, spare), row, across)
            cells.setdefault(key, []).append(entry)
            points.setdefault(key, {axis: text(label) for axis, label in point.items()})
    rows = [
        {"panel": panel, "y": y_label, "x": x_label, **row}
        for (panel, y_label, x_label), found in cells.items()
        for row in _together(spec, found)
    ]
    if not rows:
        raise SojournError(
            _nothing([spec.value, *([spec.x] if spec.kind == "scatter" and spec.x else [])], chosen)
        )
    known = {row["panel"] for row in rows}
    order = [
        _panel(dict(zip(spare, labels, strict=True)), spare) for labels in product(*(axes[a] for a in spare))
    ]
    panels = [panel for panel in order if panel in known]
    if len(panels) > MOST_PANELS:
        raise SojournError(
            f"figure {spec.value!r} would have {len(panels)} panels, one for each combination of "
            f"{', '.join(spare)}; choose some labels with `only`"
        )
    return Plot(
        spec,
        shown,
        scale_for(shown, spec.scale),
        x,
        y,
        list(axes.get(x, [""])),
        list(dict.fromkeys(row for _, row, _ in cells)) if each else list(axes.get(y, [""])),
        panels,
        pl.DataFrame(rows, infer_schema_length=None),
        points,
    )


def _across(path: str, result: Mapping[str, Any]) -> Any:
    """Return where a result stands along the x of a scatter plot: an axis or a value."""
    if path in result["point"]:
        return number_of(text(result["point"][path]))
    return look_up(result, path)


def _together(spec: Spec, found: list[Any]) -> Iterator[dict[str, Any]]:
    """Put the replications of a cell together."""
    if spec.kind in WHOLE:
        yield from _whole(spec, found)
    elif spec.kind == "cdf":
        numbers = [n for item in found for n in (item if isinstance(item, list) else [item]) if _is_number(n)]
        yield from ({"value": float(number)} for number in sorted(numbers))
    elif spec.kind == "scatter":
        pairs = [pair for pair in found if all(_is_number(n) for n in pair)]
        if pairs:
            xs, ys = zip(*pairs, strict=True)
            yield {"at": fmean(xs), "value": fmean(ys), "n": len(pairs)}
    elif spec.kind == "box":
        boxes = [item for item in found if isinstance(item, Mapping)]
        if not boxes:
            raise SojournError(
                f"a box figure needs quantiles; {spec.value!r} is a single number; "
                "expected, for example, 'links.down.utilisation_quantiles'"
            )
        middle = {name: fmean(box[name] for box in boxes if _is_number(box.get(name))) for name in QUANTILES}
        yield {"value": middle["p50"], "n": len(boxes), **middle}
    else:
        numbers = [float(number) for number in found if _is_number(number)]
        if numbers:
            centre = median if spec.value.endswith((".median", ".p50")) else fmean
            half = interval(numbers)
            mean = fmean(numbers)
            low, high = (None, None) if half is None else (mean - half, mean + half)
            yield {"value": centre(numbers), "low": low, "high": high, "n": len(numbers)}
        elif any(not _is_number(number) and number is not None for number in found):
            raise SojournError(
                f"figure {spec.value!r}: this is no single number in the results; expected one"
            )


def _whole(spec: Spec, found: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each entry of the lists of an object, replication after replication."""
    for replication, lists in enumerate(found):
        if not isinstance(lists, Mapping) or not all(isinstance(item, list) for item in lists.values()):
            raise SojournError(
                f"a {spec.kind} figure needs an object of lists, which {spec.value!r} is not; "
                "expected, for example, 'losses.down.bursts.ccdf'"
            )
        if spec.kind == "surface":
            start, octave, energy = (lists[name] for name in ("start_s", "octave", "log2_energy"))
            yield from (
                {"n": replication, "start_s": t, "octave": j, "log2_energy": energy[a][b]}
                for a, t in enumerate(start)
                for b, j in enumerate(octave)
            )
        else:
            names = list(lists)
            yield from (
                {"n": replication, **dict(zip(names, row, strict=True))}
                for row in zip(*lists.values(), strict=True)
            )


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool) and isfinite(item)


def _axes(spec: Spec, axes: Mapping[str, list[str]]) -> tuple[str, str]:
    for axis in (spec.x if spec.kind != "scatter" else None, spec.y):
        if axis and axis not in axes:
            raise SojournError(f"figure {spec.value!r}: {axis!r} is no axis of the sweep; {_axes_are(axes)}")
    if spec.kind == "scatter" and not spec.x:
        raise SojournError(
            f"figure {spec.value!r}: a scatter figure needs `x`, an axis or a number of the results"
        )
    if spec.kind in ("cdf", "scatter", "curves"):
        return "", spec.y or _first_axis(axes)
    if spec.kind in WHOLE:
        return "", ""
    several = [axis for axis, labels in axes.items() if len(labels) > 1]
    x = spec.x or next((axis for axis in several[::-1] if axis != spec.y), "")
    y = spec.y or next((axis for axis in several if axis != x), "")
    return x, y


def _first_axis(axes: Mapping[str, list[str]]) -> str:
    return next((axis for axis, labels in axes.items() if len(labels) > 1), next(iter(axes), ""))


def _panel(point: Mapping[str, Any], spare: Sequence[str]) -> str:
    return ", ".join(f"{axis_name(axis)} {text(point.get(axis))}" for axis in spare)


def _cell(point: Mapping[str, Any], without: str) -> str:
    return ", ".join(text(label) for axis, label in point.items() if axis != without)


def _axes_are(axes: Mapping[str, list[str]]) -> str:
    return f"the axes are {', '.join(axes)}" if axes else "the study sweeps nothing"


def _nothing(wanted: Sequence[str], results: Sequence[Mapping[str, Any]]) -> str:
    there: dict[str, None] = {}
    for result in results:
        there.update(dict.fromkeys(paths({k: v for k, v in result.items() if k not in ("point", "engine")})))
    absent = next((path for path in wanted if path not in there), wanted[0])
    near = get_close_matches(absent, there, n=3, cutoff=0.4)
    hint = f"; near it are {', '.join(near)}" if near else ""
    return f"figure {absent!r}: no result has this number{hint}"
