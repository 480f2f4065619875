"""Limits of queues as numbers: beside the labels of a sweep, and as places on an axis.

A study may write ``8pkt``, ``1BDP`` and ``200ms`` on one axis. Each point's scenario says how much they are.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study import expand, label_text
from sojourn.study.buffers import UNITS, buffers
from sojourn.study.grouped import grouped
from sojourn.study.inputs import trace

Cell = tuple[tuple[str, str], ...]
"""The labels of a point, by axis."""

_NAMES = {"pkts": "packets of 1500 B", "ms": "ms at the link's rate", "bytes": "bytes"}


def cell_of(point: Mapping[str, Any]) -> Cell:
    """Return the labels of a point as a key."""
    return tuple((axis, label_text(label)) for axis, label in point.items())


def by_cell(results: Iterable[Mapping[str, Any]]) -> dict[Cell, list[Mapping[str, Any]]]:
    """Return the replications of every cell, in the order of the results."""
    return grouped((cell_of(result["point"]), result) for result in results)


def held(record: Mapping[str, Any]) -> dict[Cell, dict[str, dict[str, Any]]]:
    """Return what the queues of every cell of a study hold, as :func:`sojourn.study.buffers.buffers` does.

    Parameters
    ----------
    record
        A stored study. Nothing is returned for one that this engine cannot expand any more, or one whose
        traces are gone.
    """
    document, folder = record["document"], Path(record.get("folder", "."))
    found: dict[Cell, dict[str, dict[str, Any]]] = {}
    try:
        for each in expand({**document, "repeat": 1, "figures": []}, record["study"]):
            trace.settle(each["document"], folder)
            found[cell_of(each["point"])] = buffers(each["document"])
    except (_core.StudyError, SojournError):
        return {}
    return found


def columns(cells: Mapping[Cell, Mapping[str, Mapping[str, Any]]]) -> dict[Cell, dict[str, float | None]]:
    """Return the limits that differ over a study, by cell, as ``path.down.queue.limit_bytes``."""
    links = {link for buffer in cells.values() for link in buffer}
    swept = [
        link
        for link in sorted(links)
        if len({tuple(cell.get(link, {}).get(f"limit_{unit}") for unit in UNITS) for cell in cells.values()})
        > 1
    ]
    return {
        labels: {
            f"{_key(link)}.queue.limit_{unit}": cell.get(link, {}).get(f"limit_{unit}")
            for link in swept
            for unit in UNITS
        }
        for labels, cell in cells.items()
    }


def places(
    cells: Mapping[Cell, Mapping[str, Mapping[str, Any]]], axis: str
) -> tuple[dict[str, float], str] | None:
    """Return where the labels of an axis of limits stand on one scale, and the unit of that scale.

    It is packets, time or bytes: the first in which a label means the same in every cell and on every link
    that the axis sets, and no two labels do. None for other axes, and where there is no such unit.
    """
    if not axis.startswith("path.") or not axis.endswith("queue.limit"):
        return None
    ours = {_key(link): link for cell in cells.values() for link in cell}
    own = ours.get(axis.removesuffix(".queue.limit"))
    for unit in ("pkts", "ms", "bytes"):
        found: dict[str, set[float | None]] = {}
        for labels, cell in cells.items():
            links = cell.values() if own is None else [cell.get(own, {})]
            label = dict(labels).get(axis, "")
            found.setdefault(label, set()).update(buffer.get(f"limit_{unit}") for buffer in links)
        numbers = {label: next(iter(these)) for label, these in found.items() if len(these) == 1}
        known = {label: number for label, number in numbers.items() if number is not None}
        if len(known) == len(found) == len(set(known.values())):
            return known, _NAMES[unit]
    return None


def _key(link: str) -> str:
    """Return the key of a link in a study: ``path.down``, ``path.hop.home.down``."""
    return f"path.hop.{link}" if "." in link else f"path.{link}"
