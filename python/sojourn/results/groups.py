"""Groups of flows of several results: one row for each group in each cell, replications together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from sojourn.results.distinct import distinct
from sojourn.results.interval import half_width
from sojourn.results.path import look_up
from sojourn.study import label_text
from sojourn.study.units import alike, written

COLUMNS = (
    ("goodput_per_flow_bps", "goodput of each (Mb/s)", 1e-6),
    ("share", "share (%)", 100.0),
    ("jain", "Jain's index within", 1.0),
    ("loss", "loss (%)", 100.0),
    ("retransmits", "retransmitted", 1.0),
    ("timeouts", "timeouts", 1.0),
    ("rtt_ms.mean", "mean RTT (ms)", 1.0),
    ("rtt_ms.p95", "RTT p95 (ms)", 1.0),
)
"""Numbers of a group that tables show: path, heading, and the factor from one to the other."""
_SHARES = ("share", "jain", "loss")


@dataclass(frozen=True)
class GroupRow:
    """A group of flows in one cell: what it is, and its numbers by path, one for each replication."""

    labels: tuple[str, ...]
    name: str
    transport: str
    direction: str
    base_rtt_ms: float
    flows: int
    numbers: Mapping[str, list[float]]

    def text(self, path: str, factor: float) -> str:
        """Return the mean over replications, with its 95 % interval where there are several.

        Where the interval would leave what the number can be, its ends are given instead, cut there.
        """
        numbers = [number * factor for number in self.numbers[path]]
        if not numbers or (path == "jain" and self.flows < 2):
            return "–"
        half = half_width(numbers)
        mean = fmean(numbers)
        if half is None:
            return plain(mean)
        most = factor if path in _SHARES else inf
        low, high = max(0.0, mean - half), min(most, mean + half)
        if high - low < 1.999 * half:
            return "{} ({} to {})".format(*alike((mean, low, high), plain))
        return " ± ".join(alike((mean, half), plain))


def group_rows(results: Iterable[Mapping[str, Any]]) -> Iterator[GroupRow]:
    """Iterate over the groups of every cell, in study order."""
    cells: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for result in results:
        cells.setdefault(tuple(map(label_text, result["point"].values())), []).append(result)
    for labels, cell in cells.items():
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for result in distinct(cell):
            for name, group in (result.get("groups") or {}).items():
                groups.setdefault(name, []).append(group)
        for name, found in groups.items():
            first = found[0]
            numbers = {
                path: [number for group in found if isinstance(number := look_up(group, path), int | float)]
                for path, _, _ in COLUMNS
            }
            yield GroupRow(
                labels,
                name,
                first["transport"],
                first["direction"],
                first["base_rtt_ms"],
                first["flows"],
                numbers,
            )


def plain(number: float) -> str:
    """Write a number with three digits that count; whole ones from 100 on."""
    return written(number, ".0f" if abs(number) >= 100 else ".3g")
