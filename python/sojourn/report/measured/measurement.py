"""What a tool measured of a real path, whichever tool it was."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Series:
    """One quantity over time: times in s from the beginning of the measurement, each value finite."""

    time_s: np.ndarray
    values: np.ndarray

    @property
    def mean(self) -> float:
        """Arithmetic mean over the samples."""
        return float(self.values.mean())

    def quantile(self, share: float) -> float:
        """Quantile over the samples (nearest rank)."""
        return float(np.quantile(self.values, share, method="inverted_cdf"))


@dataclass(frozen=True)
class Measurement:
    """A run of a tool: what host ran it counts as the client, so what it received came ``down``."""

    name: str
    """Name of its file."""
    tool: str
    """The tool, its version and test, in words."""
    throughput: dict[str, Series] = field(default_factory=dict)
    """Payload by direction (``down``, ``up``), Mbit/s, over all streams."""
    rtt_ms: Series | None = None
    """Round-trip times, ms."""
    rtt_of: str = ""
    """Who measured the round trip."""
    again_per_s: dict[str, float] = field(default_factory=dict)
    """Segments sent again a second by direction of the data, over all streams."""
    mean_mbps: dict[str, float] = field(default_factory=dict)
    """Mean throughput as the tool itself sums it up, where it does."""
    sent: str = ""
    """The direction whose series is what was sent."""
    arrived: bool = True
    """Whether the mean of that direction is what was received; else nobody told what was."""
    idle: str = ""
    """How many of the round trips are left out, as no stream ran: ``20 of 700``."""

    def mean(self, direction: str) -> float | None:
        """Mean throughput in Mbit/s: the tool's own, or that of the samples."""
        if direction in self.mean_mbps:
            return self.mean_mbps[direction]
        return self.throughput[direction].mean if direction in self.throughput else None


def series(times: list[Any], values: list[Any]) -> Series | None:
    """Return a series without the samples that are no numbers; None if no sample is left."""
    kept = [
        (float(at), float(number))
        for at, number in zip(times, values, strict=False)
        if is_number(at) and is_number(number)
    ]
    if not kept:
        return None
    kept.sort()
    return Series(*(np.array(column) for column in zip(*kept, strict=True)))


def is_number(value: Any) -> bool:
    """Whether something of a file is a finite number of a size that can be drawn."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e15
        and isfinite(value)
    )


def total(parts: list[list[Any]], length: int) -> list[float | None]:
    """Sum series step by step; a step in which none has a number is None."""
    sums: list[float | None] = []
    for step in range(length):
        there = [part[step] for part in parts if step < len(part) and is_number(part[step])]
        sums.append(sum(there) if there else None)
    return sums
