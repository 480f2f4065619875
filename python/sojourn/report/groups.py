"""The table of groups of flows in a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.report.figures.values import axis_name
from sojourn.report.sections import Table
from sojourn.results.groups import COLUMNS, group_rows


@dataclass(frozen=True)
class GroupTable(Table):
    """The table, and what its numbers are."""

    says: str = ""


def replays(document: Mapping[str, Any]) -> bool:
    """Return whether a study replays recordings, at all points or in one of its workloads."""
    loads = document.get("workload")
    groups = [*(document.get("flows") or ())]
    groups += [one for load in loads.values() for one in load] if isinstance(loads, Mapping) else []
    return any((one.get("source") or {}).get("kind") == "recorded" for one in groups)


def group_table(
    results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]], *, recorded: bool = False
) -> GroupTable:
    """Return a row for each group of flows in each cell, columns that are empty left out.

    `recorded` says that the study replays recordings: those send both ways.
    """
    rows = list(group_rows(results))
    shown = [column for column in COLUMNS if any(row.numbers[column[0]] for row in rows)]
    heads = [axis_name(axis) for axis in axes] + ["group", "transport", "direction", "base RTT (ms)", "count"]
    cells = [
        [*row.labels, row.name, row.transport, row.direction, f"{row.base_rtt_ms:g}", str(row.flows)]
        + [row.text(path, factor) for path, _, factor in shown]
        for row in rows
    ]
    several = any(len(numbers) > 1 for row in rows for numbers in row.numbers.values())
    says = (
        "The count is the study's: a session or a recording is one, however many connections it makes. "
        "Share is that of the goodput of all groups in the same direction; a group of one has no index."
    )
    if recorded:
        says += (
            " A recording has data both ways: its goodput is that of both, its loss that of the direction "
            "which is named. In a group of CUBIC or Reno, connections that the capture shows to be BBR's are "
            'sent by BBR, unless the source has transport = "group".'
        )
    if several:
        says += " Numbers are means over replications with their 95 % interval (Student's t)."
    return GroupTable([*heads, *(head for _, head, _ in shown)], cells, len(axes) + 3, says)
