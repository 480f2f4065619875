"""Confidence intervals over replications that fit the quantity, and how many replications a verdict needs.

==================  =====================================================================================
a mean              Student's t over replications, cut to what the quantity can be: a score to its scale, a
                    delay to 0 and above. Cutting a range that the mean cannot have takes nothing from
                    coverage
a share of trials   Wilson's score interval over all trials of all replications, and Student's t where that is
                    wider: trials of one replication share a bottleneck, so they may be alike
a count             Garwood's interval of a Poisson mean, and Student's t where that is wider
==================  =====================================================================================

Sources: E. B. Wilson 1927 (JASA 22); F. Garwood 1936 (Biometrika 28). Both say something where nothing was
seen: of 12 viewers of whom none stalled, 0 to 24 %. One replication alone says nothing of how replications
differ, so it gives no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

MOST_REPLICATIONS = 1000
"""A verdict that needs more replications than this is not said to be settled by any number."""


class Interval(NamedTuple):
    """A range, both ends included."""

    low: float
    high: float

    def hull(self, other: Interval) -> Interval:
        """Return the smallest range that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


def half_width(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Return half the width of Student's t interval of the mean, None for fewer than two values."""
    if len(values) < 2:
        return None
    return _t_quantile(len(values), confidence) * stdev(values) / sqrt(len(values))


def wilson(share: float, trials: float, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share that was found in so many trials; 0 to 1 without trials."""
    if trials <= 0:
        return Interval(0.0, 1.0)
    from scipy.special import ndtri  # slow to import

    square = float(ndtri((1 + confidence) / 2)) ** 2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = sqrt(square * (share * (1 - share) / trials + square / (4 * trials**2))) / (1 + square / trials)
    low = 0.0 if share == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if share == 1 else min(1.0, middle + half))


def garwood(mean: float, replications: float, confidence: float = 0.95) -> Interval:
    """Return Garwood's interval of the mean of a Poisson count seen in so many replications."""
    from scipy.special import gammaincinv  # slow to import

    total, tail = mean * replications, (1 - confidence) / 2
    low = float(gammaincinv(total, tail)) if total > 0 else 0.0
    return Interval(low / replications, float(gammaincinv(total + 1, 1 - tail)) / replications)


@dataclass(frozen=True)
class Sample:
    """One quantity over the replications of a cell.

    Parameters
    ----------
    values
        One for each replication.
    low, high
        The range that the quantity can have.
    trials
        For a share (of `high`, from 0): independent trials that were counted, of all replications.
    count
        It counts events.
    """

    values: tuple[float, ...]
    low: float = -inf
    high: float = inf
    trials: float | None = None
    count: bool = False

    @property
    def mean(self) -> float:
        """Mean over replications."""
        return fmean(self.values)

    def interval(self, confidence: float = 0.95, replications: int | None = None) -> Interval | None:
        """Return the interval of the mean, None for one replication.

        With `replications`, that of so many with the same mean and the same spread.
        """
        have = len(self.values)
        number = replications or have
        if have < 2 or number < 2:
            return None
        mean, half = self.mean, _t_quantile(number, confidence) * stdev(self.values) / sqrt(number)
        found = Interval(mean - half, mean + half)
        if self.trials is not None and self.high < inf:
            trials = self.trials * number / have
            low, high = wilson(mean / self.high, trials, confidence)
            found = found.hull(Interval(low * self.high, high * self.high))
        elif self.count:
            found = found.hull(garwood(mean, number, confidence))
        # A utilisation may be a hair above 1: an interval holds its mean.
        return Interval(max(found.low, self.low), min(found.high, max(self.high, mean)))

    def settled_by(self, limit: float, confidence: float = 0.95) -> int | None:
        """Return how many replications, of this mean and spread, tell the mean from a limit.

        None where that is more than :data:`MOST_REPLICATIONS`, or where one replication shows no spread.
        """

        def tells(number: int) -> bool:
            found = self.interval(confidence, number)
            return found is not None and not found.low <= limit <= found.high

        if len(self.values) < 2 or not tells(MOST_REPLICATIONS):
            return None
        few, enough = 1, MOST_REPLICATIONS
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (few, middle) if tells(middle) else (middle, enough)
        return enough


def _t_quantile(number: int, confidence: float) -> float:
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(number - 1, (1 + confidence) / 2))
