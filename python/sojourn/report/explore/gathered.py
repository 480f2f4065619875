"""What an explorer holds of stored sweeps: every number of every cell with its interval, as plain JSON.

A cell also has, as far as they are stored: its links over time (first replication), the calls that sounded
worst, and the command that runs it again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import Any

from sojourn.report.explore.scale import described
from sojourn.report.facts import reproduce
from sojourn.report.figures import labels_of
from sojourn.report.figures.default import score_paths
from sojourn.report.figures.kinds.kind import is_number
from sojourn.report.figures.values import Value, axis_name, has_name, value
from sojourn.report.listening import listen
from sojourn.results import Results, engines, excess, stuck
from sojourn.results.bounded import awaited, lower_bounds
from sojourn.results.interval import Sample
from sojourn.results.limits import Cell, by_cell
from sojourn.results.path import flatten, has_connections, look_up
from sojourn.study.bounds import bounds
from sojourn.study.links import called

MOST_BINS = 120
"""Instants of a link over time; more are averaged."""
MOST_SERIES = 1_200_000
"""Characters of links over time in one page; beyond that, cells have none and the page says so."""
MOST_SOUND = 900_000
"""Characters of sound in one page."""

_GROUPS = {
    "Users": (
        *("voice", "video", "call", "web", "browser", "page", "adaptive", "gaming", "cloud-gaming"),
        *("responsiveness", "network"),
    ),
    "Links": ("links", "losses"),
    "Flows": ("flows", "groups", "fairness"),
}


def gathered(found: Results, results: Sequence[Mapping[str, Any]], budget: Budget) -> dict[str, Any]:
    """Return what the page holds of one study.

    Parameters
    ----------
    found
        The results directory.
    results
        What it holds, in study order; at least one.
    budget
        Characters that are left for series and sounds, shared by all studies of a page.

    Returns
    -------
    dict
        ``name``, ``about``, ``command``; ``axes``: path, name, labels; ``numbers``: path, title, unit, group,
        which way is better, scale, and for each cell ``[mean, low, high, text, interval]`` or null, in the
        unit shown (``low`` and ``high`` null for one replication); ``cells``: the place of its label on each
        axis, runs, command, series and sounds; ``notes``: sentences.
    """
    axes = labels_of(entry["point"] for entry in found.record["points"])
    cells = by_cell(results)
    command = reproduce(found, results)[1][0]
    listening = listen(results, budget.sound)
    sounds: dict[str, list[dict[str, str]]] = {}
    for sound in listening.sounds:
        budget.sound -= len(sound.heard) + len(sound.said)
        about = {"direction": sound.direction, "words": sound.words, "heard": sound.heard, "said": sound.said}
        sounds.setdefault(sound.cell, []).append(about)
    listed, left_out = [], 0
    for cell, runs in cells.items():
        series = budget.take(_over_time(runs[0]))
        left_out += series is None
        labels = dict(cell)
        listed.append(
            {
                "at": [axes[axis].index(labels[axis]) for axis in axes],
                "runs": len(runs),
                "command": command if found.captured else _command(command, cell),
                "series": series or {},
                "sounds": sounds.get(", ".join(labels.values()) or "the one cell", []),
            }
        )
    return {
        "name": found.name,
        "about": found.document.get("description", ""),
        "captured": found.captured,
        "axes": [{"path": axis, "name": axis_name(axis), "labels": labels} for axis, labels in axes.items()],
        "numbers": [_number(path, list(cells.values())) for path in _paths(results)],
        "cells": listed,
        "notes": list(_notes(found, cells, listening.note, left_out)),
    }


class Budget:
    """Characters that are left in a page for what is large."""

    def __init__(self, series: int = MOST_SERIES, sound: int = MOST_SOUND) -> None:
        self.series, self.sound = series, sound

    def take(self, series: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the series if there is room for them, and take the room."""
        size = len(json.dumps(series))
        if size > self.series:
            return None
        self.series -= size
        return series


def _paths(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths of the numbers that have a name: users' scores first, then links, then flows."""
    there: dict[str, None] = dict.fromkeys(score_paths(results))
    for result in results:
        found = {key: item for key, item in result.items() if key not in ("study", "point", "engine")}
        for path, number in flatten(found).items():
            if is_number(number) and has_name(path) and ".worst." not in path:
                there[path] = None
    if not has_connections(results):
        there = {path: None for path in there if not path.startswith("flows.")}
    groups = list(_GROUPS)
    return sorted(there, key=lambda path: groups.index(_group(path)))


def _group(path: str) -> str:
    root = path.partition(".")[0]
    return next((group for group, roots in _GROUPS.items() if root in roots), "Flows")


def _number(path: str, cells: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    shown = value(path)
    return {
        "path": path,
        "title": shown.title,
        "name": shown.name,
        "unit": shown.unit,
        "group": _group(path),
        "better": shown.better,
        "scale": described(shown),
        "cells": [_of_cell(shown, runs) for runs in cells],
    }


def _of_cell(shown: Value, runs: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """Return what `_mean` finds in a cell, its text marked where a replication has a lower bound."""
    found = _mean(shown, [look_up(run, shown.path) for run in runs])
    if found and any(shown.path in lower_bounds(run) for run in runs):
        found[3] = f"≥ {found[3]}"
    return found


def _mean(shown: Value, found: Iterable[Any]) -> list[Any] | None:
    """Return mean, interval, and both as text, of the replications that have the number."""
    numbers = tuple(float(number) for number in found if is_number(number))
    if not numbers:
        return None
    mean = fmean(numbers)
    interval = Sample(numbers, *bounds(shown.path)).interval()
    if interval is None:
        return [_short(mean * shown.factor), None, None, shown.text(mean), ""]
    low, high = interval
    middle, least, most = shown.alike(mean, low, high)
    return [*(_short(each * shown.factor) for each in (mean, low, high)), middle, f"{least} to {most}"]


def _over_time(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return by link the delay, the utilisation and the drops over time, in at most `MOST_BINS` bins."""
    found = {}
    for link, about in (result.get("links") or {}).items():
        series = about.get("series")
        if not series or not series["queue_delay_ms"]:
            continue
        every = -(-len(series["queue_delay_ms"]) // MOST_BINS)
        found[link] = {
            "name": called(link),
            "bin_s": series["bin_s"] * every,
            "delay": _thinned(series["queue_delay_ms"], every, 1.0),
            "utilisation": _thinned(series["utilisation"], every, 100.0),
            "drops": [sum(part) for part in _parts(series["dropped_pkts"], every)],
        }
    return found


def _thinned(numbers: Sequence[float | None], every: int, factor: float) -> list[float | None]:
    parts = ([number for number in part if number is not None] for part in _parts(numbers, every))
    return [_short(fmean(part) * factor) if part else None for part in parts]


def _parts(numbers: Sequence[Any], every: int) -> Iterable[Sequence[Any]]:
    return (numbers[start : start + every] for start in range(0, len(numbers), every))


def _command(command: str, cell: Cell) -> str:
    only = [word for axis, label in cell for word in ("--only", f"{axis}={label}")]
    return " ".join([command, shlex.join(only)]).strip()


def _notes(
    found: Results, by_cell: Mapping[Cell, Sequence[Mapping[str, Any]]], heard: str, left_out: int
) -> Iterable[str]:
    cells = len(by_cell)
    if found.missing:
        some = (
            "1 of the study's points is"
            if found.missing == 1
            else f"{found.missing} of the study's points are"
        )
        yield f"{some} not there yet; cells without a run are empty."
    once = sum(len(runs) == 1 for runs in by_cell.values())
    if once and not found.captured:
        which = (
            "Every cell was" if once == cells else f"{once} of {cells} cells {'was' if once == 1 else 'were'}"
        )
        yield f"{which} run once and {'has' if once in (1, cells) else 'have'} no interval."
    if left_out:
        yield (
            f"{left_out} of {cells} cells are here without their links over time, which would make the page "
            "too large to mail; `sojourn report` draws those of one cell."
        )
    if bounds := set().union(*map(lower_bounds, chain(*by_cell.values()))):
        few = awaited(bounds)
        yield f"“≥” marks a lower bound: too few {few} had ended when the run did; a longer one would tell."
    every = [*chain(*by_cell.values())]
    yield from [*excess.said(every), *stuck.said(every)]
    links = [link for result in every for link in (result.get("links") or {}).values()]
    if links and all(link.get("arrived_pkts") == 0 for link in links):
        yield "No packet came to a link in the measured time: nobody sent."
    if heard:
        yield heard
    if not found.captured:
        yield f"Made by {'; '.join(engines(chain(*by_cell.values())))}."


def _short(number: float) -> float:
    """Return a number with five significant digits."""
    return float(f"{number:.5g}")
