"""Sawtooth figures of a report: the tables that they are drawn from, and the one that nobody need ask for."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.report.figures.kinds.sawtooth import SERIES, Sawtooth
from sojourn.results import Results

_MOST_LABELS = 4


def with_series(found: Results) -> list[dict[str, Any]]:
    """Return all results, those of the first replication with their tables over time, if they were kept."""
    return [
        result | {SERIES: tables} if (tables := _tables(found, point, result)) else result
        for point, result in found.items()
    ]


def _tables(found: Results, point: str, result: Mapping[str, Any]) -> dict[str, Any] | None:
    if result["replication"] or not found.store.series_file(point, "flows").is_file():
        return None
    return {"flows": found.series(point), "queues": found.queues(point)}


def with_sawtooth(
    entries: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
) -> list[Mapping[str, Any]]:
    """Return the figures of a study, and a sawtooth behind them if there are series and it asks for none.

    It shows the labels of one axis, queues if they are swept, with the middle label of each other axis.
    """
    default = {"kind": Sawtooth.name, "value": SERIES, "title": "Windows, rates and queue over time"}
    asked = [default | entry if entry["kind"] == Sawtooth.name else entry for entry in entries]
    if not any(SERIES in result for result in results) or any(
        entry["kind"] == Sawtooth.name for entry in asked
    ):
        return asked
    several = [axis for axis, labels in axes.items() if len(labels) > 1]
    queues = (axis for axis in several if axis.endswith((".queue", ".queue.kind")))
    shown = next(queues, next(iter(several), ""))
    only = {
        axis: list(labels[:_MOST_LABELS]) if axis == shown else [labels[len(labels) // 2]]
        for axis, labels in axes.items()
        if len(labels) > 1
    }
    if shown and len(axes[shown]) <= _MOST_LABELS:
        del only[shown]
    return [*asked, {**default, "only": only}]
