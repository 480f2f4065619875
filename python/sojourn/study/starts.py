"""Flows that would start when the run is over: nothing in its result would say why they carry nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.study.units import nanoseconds


def too_late(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a clause for each group of flows that starts no earlier than its scenario ends.

    >>> flows = [{"name": "late", "start": "70s"}, {"name": "early", "start": "5s"}, {"name": "usual"}]
    >>> too_late([{"duration": "60s", "flows": flows}])
    ['flows late, every cell: start is 70s, but the run ends after 60s; they carry nothing']
    """
    scenarios = list(scenarios)
    where = Counter(
        (group["name"], group["start"], scenario["duration"])
        for scenario in scenarios
        for group in scenario.get("flows") or ()
        if "start" in group and nanoseconds(group["start"]) >= nanoseconds(scenario["duration"])
    )
    return [
        f"flows {name}, {'every cell' if count == len(scenarios) else f'{count} of {len(scenarios)} cells'}: "
        f"start is {start}, but the run ends after {end}; they carry nothing"
        for (name, start, end), count in where.items()
    ]
