"""Ours beside published tables: rank correlation and ratios for every figure of a study that names one.

Rows of a table are matched to points as study files describe it: the axis `workload` has the label
``<workload>-<activity>``, or ``<workload>`` if neither a column `activity` nor the end of the table's name
says one; `noBG` is our `none`; and `buffer_packets` 64 is a buffer of ``64pkt``.
"""

from __future__ import annotations

import csv
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.results import Results

_ACTIVITIES = ("upload", "download", "bidirectional")


@dataclass(frozen=True)
class Pair:
    """One cell: its labels, our value (replications together) and the published one."""

    workload: str
    buffer: str
    ours: float
    published: float


@dataclass(frozen=True)
class Comparison:
    """A published table beside one figure of a study."""

    study: str
    title: str
    value: str
    table: str
    where: Mapping[str, str]
    pairs: tuple[Pair, ...]
    unmatched: int
    """Rows of the table without a result."""
    version: str
    command: str
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Labels of the points that the figure is of, where it is not of all."""

    @property
    def key(self) -> str:
        """Names the comparison: study, table and what of it."""
        labels = [str(label) for chosen in self.only.values() for label in chosen]
        return "/".join(["published", self.study, Path(self.table).stem, *self.where.values(), *labels])

    @property
    def rank_correlation(self) -> float:
        """Spearman's rank correlation over the cells."""
        return spearman([pair.ours for pair in self.pairs], [pair.published for pair in self.pairs])

    @property
    def mean_difference(self) -> float:
        """Mean absolute difference."""
        return statistics.fmean(abs(pair.ours - pair.published) for pair in self.pairs)

    @property
    def median_ratio(self) -> float:
        """Median of ours over published, over the cells where that exists."""
        ratios = [pair.ours / pair.published for pair in self.pairs if pair.published]
        return statistics.median(ratios) if ratios else math.nan

    def share_within(self, share: float) -> float:
        """Return the share of cells that differ by at most `share` of the published value."""
        close = [abs(pair.ours - pair.published) <= share * abs(pair.published) for pair in self.pairs]
        return sum(close) / len(close) if close else math.nan


def ranks(values: Sequence[float]) -> list[float]:
    """Return the ranks of values from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for i in order[start : end + 1]:
            found[i] = (start + end) / 2 + 1
        start = end + 1
    return found


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation; not a number if one side is constant or there are fewer than 3."""
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return math.nan
    return statistics.correlation(ranks(first), ranks(second))


def comparisons(
    folder: str | os.PathLike[str], studies: str | os.PathLike[str] = "studies", value: str | None = None
) -> list[Comparison]:
    """Compare every figure of a results folder that names a published table, found in `studies`.

    `value` puts another number of the results in the place of the figures' own.
    """
    stored = Results(folder)
    results = list(stored)
    found = []
    for figure in stored.document.get("figures") or ():
        if "published" in figure and (Path(studies) / figure["published"]).is_file():
            rows = _read(Path(studies) / figure["published"], figure.get("published-where") or {})
            column = figure.get("published-column") or (list(rows[0])[-1] if rows else "")
            only = figure.get("only") or {}
            shown = [
                result
                for result in results
                if all(str(result["point"].get(axis)) in map(str, labels) for axis, labels in only.items())
            ]
            activity = Path(figure["published"]).stem.rsplit("-", 1)[-1]
            pairs, unmatched = _match(rows, column, value or figure["value"], shown, activity)
            if pairs:
                found.append(
                    Comparison(
                        study=stored.name,
                        title=figure.get("title") or figure["value"],
                        value=value or figure["value"],
                        table=figure["published"],
                        where=dict(figure.get("published-where") or {}),
                        pairs=tuple(pairs),
                        unmatched=unmatched,
                        version=str(stored.record.get("sojourn", "")),
                        command=str(stored.record.get("command", "")),
                        only=only,
                    )
                )
    return found


def all_comparisons(
    results: str | os.PathLike[str] = "results", studies: str | os.PathLike[str] = "studies"
) -> list[Comparison]:
    """Compare every results folder directly under `results` that has published tables."""
    folders = sorted(path.parent for path in Path(results).glob("*/study.json"))
    return [comparison for folder in folders for comparison in comparisons(folder, studies)]


def _read(table: Path, where: Mapping[str, str]) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return [
            row for row in csv.DictReader(file) if all(row.get(key) == text for key, text in where.items())
        ]


def _match(
    rows: Sequence[Mapping[str, str]],
    column: str,
    value: str,
    results: Sequence[Mapping[str, Any]],
    activity: str = "",
) -> tuple[list[Pair], int]:
    cells: dict[tuple[str, str], list[float]] = {}
    for result in results:
        number = _look_up(result, value)
        if isinstance(number, int | float):
            cells.setdefault(_labels(result["point"]), []).append(float(number))
    together = statistics.median if value.endswith(".median") else statistics.fmean
    pairs, unmatched = [], 0
    for row in rows:
        if not row.get("workload") and not row.get("buffer_packets"):
            unmatched += 1  # a table of other axes, which the study's own report matches
            continue
        try:
            published = float(row[column])
        except (KeyError, TypeError, ValueError):
            continue
        workload = "none" if row.get("workload") == "noBG" else row.get("workload", "")
        if workload != "none" and (said := row.get("activity") or (activity in _ACTIVITIES and activity)):
            workload = f"{workload}-{said}"
        buffer = f"{row['buffer_packets']}pkt" if row.get("buffer_packets") else ""
        if ours := cells.get((workload, buffer)):
            pairs.append(Pair(workload, buffer, together(ours), published))
        else:
            unmatched += 1
    return pairs, unmatched


def _labels(point: Mapping[str, Any]) -> tuple[str, str]:
    buffers = [str(label) for axis, label in point.items() if axis.endswith("queue.limit")]
    return str(point.get("workload", "")), buffers[0] if buffers else ""


def _look_up(result: Mapping[str, Any], path: str) -> Any:
    found: Any = result
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
