"""The difference of two means whose spreads differ, and how sure it is.

Implements Welch's t with the degrees of freedom of Welch and Satterthwaite, and Holm's correction for many
comparisons at once.
Source: B. L. Welch, Biometrika 34 (1947); F. E. Satterthwaite, Biometrics Bulletin 2 (1946); S. Holm,
Scandinavian Journal of Statistics 6 (1979).
Differences: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, variance

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Welch:
    """Mean of the second less mean of the first, its 95 % interval, and the p-value of no difference."""

    difference: float
    low: float
    high: float
    p: float

    @property
    def larger(self) -> bool:
        """Whether the difference is larger than its interval: zero is not inside."""
        return not self.low <= 0.0 <= self.high


def welch(first: Sequence[float], second: Sequence[float]) -> Welch | None:
    """Compare two samples; None where there is no interval.

    There is none if either has fewer than two values, or if neither varies while they differ: two
    equal values do not show that a third would be the same.
    """
    if min(len(first), len(second)) < 2:
        return None
    difference = mean(second) - mean(first)
    parts = [variance(values) / len(values) for values in (first, second)]
    error = sqrt(sum(parts))
    if error == 0.0:
        return Welch(0.0, 0.0, 0.0, 1.0) if difference == 0.0 else None
    from scipy.special import stdtr, stdtrit  # slow to import

    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)
    )
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = 2.0 * float(stdtr(freedom, -abs(difference) / error))
    return Welch(difference, difference - half, difference + half, p)


def holm(ps: Sequence[float], level: float = 1 - CONFIDENCE) -> list[bool]:
    """Return which of many differences stay when all are to be right together, at a level.

    >>> holm([0.01, 0.04, 0.03])
    [True, False, False]
    """
    kept = [False] * len(ps)
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        if ps[place] > level / (len(ps) - rank):
            break
        kept[place] = True
    return kept
