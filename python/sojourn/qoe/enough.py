"""How many calls must be scored: no more than it takes to know their mean and their median.

Scoring speech takes longer than simulating it by far. Calls of a run are therefore scored in an order that
is drawn by lot, until the 95 % intervals of their mean and of their median are narrow enough.

==========  ========================================================================================
the mean    Student's t, with the correction for a finite number of calls: (N - n) / (N - 1)
the median  order statistics: ranks n/2 ± 1.96 √(n (N - n) / (N - 1)) / 2, whatever the distribution
==========  ========================================================================================

Source: W. G. Cochran 1977, Sampling Techniques, 2.8 and 3.2; W. J. Conover 1999, 3.2. Difference: the
intervals are looked at after every few calls, so that they hold a little less often than 95 %.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from math import ceil, floor, inf, sqrt
from statistics import stdev
from typing import TypeVar

from sojourn.results.interval import half_width

One = TypeVar("One")

_FIRST, _MORE = 8, 4


def by_lot(keys: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return keys in an order drawn by lot, the same on any machine."""
    return sorted(keys, key=lambda key: hashlib.blake2b(repr(key).encode(), digest_size=8).digest())


def within(scores: Sequence[float], count: int) -> float:
    """Return half the wider interval of mean and median, of some scores out of so many; 0 for all of them."""
    have = len(scores)
    if have >= count:
        return 0.0
    if have < 2:
        return inf
    left = (count - have) / (count - 1)
    mean = (half_width(scores) or inf) * sqrt(left) if stdev(scores) > 0 else 0.0
    ordered, ranks, middle = sorted(scores), 1.96 * sqrt(have * left) / 2, (have - 1) / 2
    low, high = ordered[max(floor(middle - ranks), 0)], ordered[min(ceil(middle + ranks), have - 1)]
    return max(mean, (high - low) / 2)


def enough(
    keys: Sequence[tuple[int, ...]], score: Callable[[tuple[int, ...]], float], precision: float
) -> set[tuple[int, ...]]:
    """Score calls until they are enough, and return which were.

    Parameters
    ----------
    keys
        All calls of one direction.
    score
        Scores one of them.
    precision
        Half the interval that is narrow enough.
    """
    order, found = by_lot(keys), []
    for key in order:
        found.append(score(key))
        due = len(found) >= _FIRST and (len(found) - _FIRST) % _MORE == 0
        if due and within(found, len(order)) <= precision:
            break
    return set(order[: len(found)])
