"""Thresholds that operators quote, by name: what `[[goals]] threshold` and `recommend --goal` may say.

They ship with the engine (`data/thresholds.toml`), each with its source, and with what of it is from memory.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sojourn import _core


@dataclass(frozen=True)
class Limit:
    """A limit that a number of the results must keep.

    Attributes
    ----------
    value : str
        The number, as ``network.rtt_ms.p95``.
    limit : float
    above : bool
        The number must be at least the limit; else at most.
    unacceptable : float or None
        Where a score that falls with the number is 0.
    """

    value: str
    limit: float
    above: bool
    unacceptable: float | None = None


@dataclass(frozen=True)
class Threshold:
    """What a name stands for.

    Attributes
    ----------
    name, about, source : str
    remembered : str or None
        What of it has no source that was read.
    limits, instead : tuple of Limit
        All are to be kept; those that stand in where none of the first was measured (``*`` is every queue).
    """

    name: str
    about: str
    source: str
    remembered: str | None
    limits: tuple[Limit, ...]
    instead: tuple[Limit, ...]

    def judged(self, measured: Callable[[str], bool], links: Iterable[str]) -> list[Limit]:
        """Return the limits to judge by, given which numbers there are and the names of the queues."""
        if not self.instead or any(measured(limit.value) for limit in self.limits):
            return list(self.limits)
        return [
            Limit(limit.value.replace("*", link), limit.limit, limit.above)
            for limit in self.instead
            for link in links
        ]

    @property
    def told(self) -> str:
        """Where it comes from, and what of it is from memory or a choice."""
        return (
            f"{self.source}; from memory, or a choice: {self.remembered}" if self.remembered else self.source
        )


@cache
def thresholds() -> dict[str, Threshold]:
    """Return all thresholds by name."""
    known = json.loads(_core.thresholds())
    return {
        name: Threshold(
            name,
            about["about"],
            about["source"],
            about.get("remembered"),
            tuple(map(_limit, about["limits"])),
            tuple(map(_limit, about["instead"])),
        )
        for name, about in known.items()
    }


def _limit(entry: Mapping[str, Any]) -> Limit:
    above = "at-least" in entry
    return Limit(entry["value"], entry["at-least" if above else "at-most"], above, entry.get("unacceptable"))
