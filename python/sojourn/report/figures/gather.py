"""From results to the table that a figure is drawn from: one row per cell, replications together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import product
from typing import Any, NamedTuple

import polars as pl

from sojourn.errors import SojournError
from sojourn.report.figures.harm import harm_value, harmed
from sojourn.report.figures.kinds import KINDS, Kind
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.scales import scale_for
from sojourn.report.figures.values import axis_name, value
from sojourn.results.bounded import lower_bounds
from sojourn.results.path import look_up, paths
from sojourn.study import label_text

MOST_PANELS = 24
Place = tuple[str, str, str]
"""Of a cell: its panel, and its labels down and across."""


class _Cells(NamedTuple):
    """What is drawn, by place: entries of all replications, a point, and where numbers are lower bounds."""

    entries: dict[Place, list[Any]]
    points: dict[Place, Mapping[str, str]]
    at_least: frozenset[Place]
    across_at_least: frozenset[Place]


def gather(spec: Spec, results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]]) -> Plot:
    """Build the table of a figure from results and the axes of their sweep.

    Raises
    ------
    SojournError
        The figure names a kind, an axis or a number that is not there.
    """
    kind = KINDS.get(spec.kind)
    if kind is None:
        raise SojournError(f"figure kind {spec.kind!r} is not known; expected one of {', '.join(KINDS)}")
    spec = spec if spec.value else replace(spec, value=kind.value)
    for axis in spec.only:
        if axis not in axes:
            raise SojournError(
                f"figure {spec.value!r}: `only` names {axis!r}, which is no axis; {_axes_are(axes)}"
            )
    shown = value(spec.value, spec.label)
    if spec.solo:
        results, shown = harmed(shown, results, spec.solo), harm_value(shown)
        alone = next(iter(spec.solo.items())) if len(spec.solo) == 1 else ("", "")
        axes = {axis: [label for label in labels if (axis, label) != alone] for axis, labels in axes.items()}
    axes = {
        axis: [label for label in labels if label in spec.only.get(axis, labels)]
        for axis, labels in axes.items()
    }
    chosen = _within(results, axes)
    if not chosen:
        raise SojournError(f"figure {spec.value!r}: there is no result for any of its cells")
    x, y = kind.axes(spec, axes)
    for axis in (x, y):
        if axis and axis not in axes:
            raise SojournError(f"figure {spec.value!r}: {axis!r} is no axis of the sweep; {_axes_are(axes)}")
    spare = [] if kind.pooled else [axis for axis in axes if axis not in (x, y) and len(axes[axis]) > 1]
    cells = _cells(kind, spec, chosen, (x, y), spare)
    rows = [
        {"panel": panel, "y": down, "x": across, **row}
        for (panel, down, across), found in cells.entries.items()
        for row in kind.rows(spec, found)
    ]
    if not rows:
        raise SojournError(_nothing(kind.numbers(spec), chosen))
    return Plot(
        spec=spec,
        value=shown,
        scale=scale_for(shown, spec.scale),
        x=x,
        y=y,
        x_labels=list(axes.get(x, [""])),
        y_labels=list(axes[y]) if y else list(dict.fromkeys(down for _, down, _ in cells.entries)),
        panels=_panels(spec, axes, spare, {row["panel"] for row in rows}),
        frame=pl.DataFrame(rows, infer_schema_length=None),
        points=cells.points,
        at_least=cells.at_least,
        across_at_least=cells.across_at_least,
    )


def _cells(
    kind: Kind,
    spec: Spec,
    results: Sequence[Mapping[str, Any]],
    shown: tuple[str, str],
    spare: Sequence[str],
) -> _Cells:
    """Sort what a kind of figure takes of each result into cells; the axes shown are x and y."""
    cells: dict[Place, list[Any]] = {}
    points: dict[Place, Mapping[str, str]] = {}
    at_least, across_at_least = set(), set()
    x, y = shown
    for result in results:
        point = {axis: label_text(label) for axis, label in result["point"].items()}
        bounds = lower_bounds(result)
        for across, down, entry in kind.entries(spec, result, point.get(x, ""), point.get(y, "")):
            key = (_panel(point, spare), down, across)
            cells.setdefault(key, []).append(entry)
            points.setdefault(key, point)
            if spec.value in bounds:
                at_least.add(key)
            if spec.x in bounds:
                across_at_least.add(key)
    return _Cells(cells, points, frozenset(at_least), frozenset(across_at_least))


def _within(
    results: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[str]]
) -> list[Mapping[str, Any]]:
    """Return the results of cells whose labels are all among those of the axes."""
    return [
        result
        for result in results
        if all(label_text(label) in axes.get(axis, ()) for axis, label in result["point"].items())
    ]


def _panels(
    spec: Spec, axes: Mapping[str, Sequence[str]], spare: Sequence[str], known: Collection[str]
) -> list[str]:
    """Return the panels that have cells, in the order of the axes that neither x nor y shows."""
    combinations = product(*(axes[axis] for axis in spare))
    order = [_panel(dict(zip(spare, labels, strict=True)), spare) for labels in combinations]
    panels = [panel for panel in order if panel in known]
    if len(panels) > MOST_PANELS:
        raise SojournError(
            f"figure {spec.value!r} would have {len(panels)} panels, one for each combination of "
            f"{', '.join(spare)}; choose some labels with `only`"
        )
    return panels


def _panel(point: Mapping[str, str], spare: Sequence[str]) -> str:
    return ", ".join(f"{axis_name(axis)} {point.get(axis)}" for axis in spare)


def _axes_are(axes: Mapping[str, list[str]]) -> str:
    return f"the axes are {', '.join(axes)}" if axes else "the study sweeps nothing"


def _nothing(wanted: Sequence[str], results: Sequence[Mapping[str, Any]]) -> str:
    there: dict[str, None] = {}
    for result in results:
        there.update(dict.fromkeys(paths({k: v for k, v in result.items() if k not in ("point", "engine")})))
    absent = next((path for path in wanted if path not in there), wanted[0])
    if absent in there or any(look_up(result, absent) is not None for result in results):
        return f"nothing was seen of {absent!r} in any result"
    near = get_close_matches(absent, there, n=3, cutoff=0.4)
    hint = f"; near it are {', '.join(near)}" if near else ""
    return f"no result has the number {absent!r}{hint}"
