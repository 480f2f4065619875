"""One demand of ns-3's tests, and how its scenarios are run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sojourn.parts.queue import Decisions, replay


@dataclass(frozen=True)
class Row:
    """One demand of one scenario."""

    suite: str
    scenario: str
    demand: str
    found: str
    ok: bool
    note: str = ""


def some(count: int, wanted: bool = True) -> tuple[str, bool]:
    """Return what a row says of a count that is to be more than nothing (or not), and whether it is."""
    return str(count), bool(count) == wanted


def none(count: int) -> tuple[str, bool]:
    """Return what a row says of a count that is to be nothing, and whether it is."""
    return some(count, False)


def equal(found: Any, wanted: Any) -> tuple[str, bool]:
    """Return what a row says of something, and whether it is what is demanded."""
    return str(found), found == wanted


def _ms(values: Any) -> np.ndarray:
    return np.round(np.asarray(values, dtype=float) * 1e6).astype(np.int64)


def run(queue: dict[str, Any], times: Any, departures: Any, **keys: Any) -> Decisions:
    """Replay packets that arrive at these ms, with columns and options of `replay` among `keys`."""
    columns = {key: keys.pop(key) for key in ("size", "flow", "ecn") if key in keys}
    queue = {"limit": "unlimited", **queue}
    return replay(queue, {"time": _ms(times), **columns}, _ms(departures), **keys)


def drops(found: Decisions, cause: str | None = None) -> int:
    """Return the number of drops, of one cause or of all."""
    return int((found.fate == "dropped").sum() if cause is None else (found.cause == cause).sum())


def marks_until(found: Decisions) -> list[int]:
    """Return the number of marked packets that had left after each time at which the queue was asked."""
    packets = found.trace["packet"][found.rows("departure")]
    return np.cumsum([packet >= 0 and bool(found.marked[packet]) for packet in packets]).tolist()
