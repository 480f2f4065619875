"""Replications that are the same run count as one.

Where nothing is drawn by lot, as of a recorded workload, another seed is the same run: it tells nothing of
chance, and an interval over such runs would have no width.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_BESIDE_THE_RUN = {"hash", "replication", "sha256", "engine"}
"""What differs between results of the same run, as the time that it took."""


def distinct(cell: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the replications of a cell without those that are the same run as its first.

    >>> one = {"engine": {"events": 7}, "replication": 0, "loss": 0.1}
    >>> len(distinct([one, one | {"replication": 1}, one | {"loss": 0.2}]))
    2
    """
    return [*cell[:1], *(result for result in cell[1:] if not _same_run(result, cell[0]))]


def _same_run(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether the engine did the same, event by event as far as it counts them, and found the same."""
    events = [result.get("engine", {}).get("events") for result in (one, other)]
    if None in events or events[0] != events[1]:
        return False
    found, before = (
        {key: value for key, value in result.items() if key not in _BESIDE_THE_RUN} for result in (one, other)
    )
    return found == before
