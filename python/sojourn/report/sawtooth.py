"""Sawtooth figures of a report: the tables that they are drawn from, and the one that nobody need ask for."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.errors import counted
from sojourn.report.figures.kinds.sawtooth import SERIES, Sawtooth
from sojourn.results import Results

_MOST_LABELS = 4
_NAMED = 3


def with_series(found: Results) -> list[dict[str, Any]]:
    """Return all results, those of the first replication with their tables over time, if they were kept."""
    return [
        result | {SERIES: tables} if (tables := _tables(found, point, result)) else result
        for point, result in found.items()
    ]


def _tables(found: Results, point: str, result: Mapping[str, Any]) -> dict[str, Any] | None:
    if result["replication"] or not _kept(found, point):
        return None
    return {"flows": found.series(point), "queues": found.queues(point)}


def _kept(found: Results, point: str) -> bool:
    return all(found.store.series_file(point, what).is_file() for what in ("flows", "queues"))


def lost_series(found: Results) -> list[str]:
    """Say of how many points the tables over time are gone that the study keeps: nothing draws them."""
    if not (found.document.get("record") or {}).get("series"):
        return []
    drawn = [
        entry["hash"]
        for entry in found.record["points"]
        if not entry["replication"] and found.store.point_file(entry["hash"]).is_file()
    ]
    lost = [point for point in drawn if not _kept(found, point)]
    if not lost:
        return []
    one = len(lost) == 1
    files = counted(len(lost), "point") if len(lost) < len(drawn) or one else f"all {len(lost)} points"
    return [
        f"The tables over time of {files} are not in {found.store.series}, so no figure shows "
        f"{'it' if one else 'them'} over time. Delete {'its file' if one else 'their files'} in "
        f"{found.store.points} ({', '.join(f'{point[:10]}….json' for point in lost[:_NAMED])}"
        f"{'' if len(lost) <= _NAMED else ' and others'}) and run the study again to have them."
    ]


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
