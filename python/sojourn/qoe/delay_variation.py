"""Packet delay variation (RFC 5481): PDV, each delay less the least; and IPDV, each less the one before.

Source: RFC 5481 §4: PDV of a packet is its one-way delay less the least of the stream, so it is never
negative; it is summed up by a high quantile (§4.2). IPDV is the difference of the delays of two
packets in a row.
"""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pdv(delays: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    """Return the variation of each delay, in their unit; lost packets are left out by the caller.

    >>> pdv([5, 3, 8]).tolist()
    [2.0, 0.0, 5.0]
    """
    values = np.asarray(delays, dtype=np.float64)
    return values - values.min() if values.size else values


def ipdv(delays: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    """Return the difference of each delay from the one before, in the order of sending.

    >>> ipdv([5, 3, 8]).tolist()
    [-2.0, 5.0]
    """
    return np.diff(np.asarray(delays, dtype=np.float64))


def summary(delays: Sequence[float] | NDArray[Any]) -> dict[str, float] | None:
    """Return quantiles of PDV in the unit of the delays, by the nearest rank; None without delays."""
    found = pdv(delays)
    if not found.size:
        return None
    named = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}
    ordered = np.sort(found)
    # Rounded, since 0.999 × 1000 is a little more than 999.
    rank = {name: ceil(round(q / 100 * ordered.size, 9)) for name, q in named.items()}
    return {name: float(ordered[place - 1]) for name, place in rank.items()}
