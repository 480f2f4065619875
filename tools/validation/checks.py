"""One figure of ours held against others by a stated rule."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

T_995 = {2: 63.657, 3: 9.9248, 4: 5.8409, 5: 4.6041, 8: 3.4995, 10: 3.2498, 16: 2.9467, 20: 2.8609}
"""Student's t, quantile 0.995, by number of observations (degrees of freedom + 1)."""


@dataclass(frozen=True)
class Check:
    """One row: a quantity of ours, the figures it is held against, and whether the rule holds."""

    key: str
    """Names the row: ``peers/speed-newreno-fifo/down/delay``."""
    quantity: str
    unit: str
    ours: float
    spread: tuple[float, float]
    """Least and greatest of the replications, or the ends of an interval."""
    references: tuple[tuple[str, float], ...]
    ok: bool
    rule: str

    @property
    def verdict(self) -> str:
        """`ok` or `outside`."""
        return "ok" if self.ok else "outside"


@dataclass(frozen=True)
class Skipped:
    """A scenario that could not be run, and why."""

    key: str
    reason: str


def mean_and_spread(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the mean of the replications, and the least and greatest of them."""
    return statistics.fmean(values), (min(values), max(values))


def interval_99(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the mean of independent replications and its 99 % confidence interval (Student's t)."""
    mean = statistics.fmean(values)
    half = T_995[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def within(ours: float, references: Iterable[float], *, share: float = 0.0, add: float = 0.0) -> bool:
    """Say whether `ours` is between the references, or at most `share` of one, or `add`, away from it."""
    known = list(references)
    if min(known) <= ours <= max(known):
        return True
    slack = 1 + 1e-9  # 1.0 − 0.98 is more than 0.02 in binary
    return any(abs(ours - reference) <= (share * abs(reference) + add) * slack for reference in known)
