"""What else is on the line: background loads from none to the worst that a household makes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError, quoted
from sojourn.study.links import WAYS

Flows = list[dict[str, Any]]
SHIPPED: Flows = []
"""What a study need not declare: a load that ships with the engine is known by its name alone."""

IDLE, NONE = "idle", "none"
"""The line to oneself, as people and as studies call it."""


def _bulk(direction: str, count: int) -> dict[str, Any]:
    return {"source": {"kind": "bulk"}, "transport": "cubic", "direction": direction, "count": count}


LOADS: dict[str, Flows] = {
    IDLE: [],
    "download": [_bulk("down", 4)],
    "upload": [_bulk("up", 2)],
    "both": [_bulk("down", 4), _bulk("up", 2)],
    "many": [_bulk("down", 16), _bulk("up", 8)],
}
"""Long transfers by CUBIC, from none to many in both directions; which and how many is a choice."""


def shipped() -> list[str]:
    """Return the names of the loads that ship with the engine, as ``household-evening``; none if none do."""
    told = getattr(_core, "provenance", None)
    return sorted(json.loads(told()).keys() - {"household"} - LOADS.keys()) if told is not None else []


def read_loads(names: Sequence[str]) -> dict[str, Flows]:
    """Return the loads of these names, all where none is named.

    Raises
    ------
    SojournError
        A load that nobody knows, or one twice.
    """
    words = [part.strip() for name in names for part in name.split(",")]
    wanted = [IDLE if word == NONE else word for word in words]
    for place, name in enumerate(wanted):
        if name not in (known := (*LOADS, *shipped())):
            raise SojournError(f"--load {quoted(name)}: there is no such load; expected {', '.join(known)}")
        if name in wanted[:place]:
            raise SojournError(f"--load {name} is there twice")
    return {name: LOADS.get(name, SHIPPED) for name in wanted or LOADS}


def flows_down_up(loads: dict[str, Flows]) -> tuple[int, int] | None:
    """Return the most long flows that there are at once, down and up; 1 where there are none.

    None where that is not known: of traffic that was recorded, and of loads that ship.
    """
    if any(LOADS.get(name) != flows for name, flows in loads.items()):
        return None
    most = [
        max(
            (sum(f.get("count", 1) for f in flows if f.get("direction") == way) for flows in loads.values()),
            default=0,
        )
        for way in WAYS
    ]
    return max(most[0], 1), max(most[1], 1)


def recorded(file: Path) -> Flows:
    """Return the load that replays a workload (see `sojourn workload`)."""
    source = {"kind": "recorded", "file": str(file.absolute())}
    return [{"source": source, "transport": "cubic", "direction": "down"}]
