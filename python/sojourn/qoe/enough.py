"""Which calls are scored, and how many: no more than it takes to know their mean and their median.

Scoring speech takes longer than simulating it by far, and what a score will be is known roughly beforehand:
from the voice, the loss and the delay. So calls are put in order of what is expected of them, and heard at
places spread evenly over that order, the first of them drawn by lot, until the 95 % intervals of their mean
and of their median are narrow enough. Every call has the same chance to be heard, so their plain mean has no
bias.

==========  ========================================================================================
which       multiples of the golden ratio from a place drawn by lot: those heard so far are spread evenly
            over the order, however many they are (a systematic sample)
the mean    Student's t, with the correction for a finite number of calls: (N - n) / (N - 1)
the median  order statistics: ranks n/2 ± 1.96 √(n (N - n) / (N - 1)) / 2, whatever the distribution
==========  ========================================================================================

Source: W. G. Cochran 1977, Sampling Techniques, 2.8, 3.2 and 8 (systematic samples of an ordered population);
R. Cranley and T. N. L. Patterson 1976 (a regular sequence begun at random); W. J. Conover 1999, 3.2.

Differences: the intervals are those of calls drawn one by one, and so wider than calls spread over an order
need; they are looked at after every few calls, so that they hold a little less often than they say.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, inf, sqrt
from statistics import stdev

from sojourn.results.interval import half_width

Key = tuple[int, ...]

_FIRST, _MORE = 8, 4
_GOLDEN = (sqrt(5) - 1) / 2


def lot(drawn_from: bytes) -> float:
    """Return a number in [0, 1) that looks drawn by lot: the same for the same bytes on any machine."""
    return int.from_bytes(hashlib.blake2b(drawn_from, digest_size=6).digest()) / 2**48


def spread(ordered: Sequence[Key], begin: float) -> list[Key]:
    """Return keys so that the first few, however many, are spread evenly over their order."""
    count, places, step = len(ordered), dict[int, None](), 0
    while len(places) < count:
        places[int((begin + step * _GOLDEN) % 1.0 * count)] = None
        step += 1
    return [ordered[place] for place in places]


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
    expected: Mapping[Key, float], score: Callable[[Key], float], precision: float, begin: float
) -> set[Key]:
    """Score calls until they are enough, and return which were.

    Parameters
    ----------
    expected
        All calls of one direction, and what orders them as their scores will, roughly.
    score
        Scores one of them.
    precision
        Half the interval that is narrow enough.
    begin
        See :func:`lot`.
    """
    ordered = sorted(expected, key=lambda key: (expected[key], key))
    found: dict[Key, float] = {}
    for key in spread(ordered, begin):
        found[key] = score(key)
        due = len(found) >= _FIRST and (len(found) - _FIRST) % _MORE == 0
        if due and within([*found.values()], len(ordered)) <= precision:
            break
    return set(found)
