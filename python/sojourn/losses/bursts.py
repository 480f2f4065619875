"""Loss bursts: runs of consecutive packets, in order of arrival, that were all dropped.

A burst that a single delivered packet interrupts is felt as one: *stitched* bursts join runs that are
separated by exactly one delivered packet, and count the dropped packets only. The ratio of medians
compares the burst in which a dropped packet finds itself: the median over dropped packets of the stitched
length, over the same of the plain length. (The median over bursts is nearly always 1.)
"""

from typing import Any

import numpy as np
import polars as pl

from sojourn.losses.period import LOST


def bursts(arrivals: pl.LazyFrame) -> dict[str, Any]:
    """Return lengths of bursts, plain and stitched.

    Parameters
    ----------
    arrivals
        Packet log of one link, without gaps in ``packet``.

    Returns
    -------
    dict
        ``lengths`` and ``stitched_lengths`` (length → count), ``ccdf`` and ``stitched_ccdf``
        (``length_pkts``, and the ``share`` of bursts that are at least so long), and of each the count,
        mean, maximum and the median over dropped packets.
    """
    lost = arrivals.filter(LOST).select("packet").collect(engine="streaming")["packet"].sort()
    return of_places(lost.to_numpy())


def of_places(lost: np.ndarray) -> dict[str, Any]:
    """Return the same for the places of the dropped packets among all, in ascending order."""
    plain, stitched = runs(lost, 1), runs(lost, 2)
    found = {**_described(plain), **{f"stitched_{key}": value for key, value in _described(stitched).items()}}
    medians = found["median_pkts"], found["stitched_median_pkts"]
    found["ratio_of_medians"] = medians[1] / medians[0] if medians[0] else None
    return found


def runs(lost: np.ndarray, reach: int) -> np.ndarray:
    """Return the numbers of dropped packets in runs whose neighbours are at most `reach` places apart."""
    if not len(lost):
        return np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(np.diff(lost.astype(np.int64)) > reach)
    return np.diff(np.concatenate([[-1], ends, [len(lost) - 1]]))


def _described(lengths: np.ndarray) -> dict[str, Any]:
    if not len(lengths):
        empty = {"length_pkts": [], "share": []}
        return {
            "lengths": {},
            "ccdf": empty,
            "count": 0,
            "mean_pkts": None,
            "max_pkts": 0,
            "median_pkts": None,
        }
    values, counts = np.unique(lengths, return_counts=True)
    at_least = counts[::-1].cumsum()[::-1]
    dropped = (values * counts).cumsum()
    return {
        "lengths": {str(value): int(count) for value, count in zip(values, counts, strict=True)},
        "ccdf": {"length_pkts": values.tolist(), "share": (at_least / len(lengths)).tolist()},
        "count": len(lengths),
        "mean_pkts": float(lengths.mean()),
        "max_pkts": int(values[-1]),
        "median_pkts": int(values[np.searchsorted(dropped, dropped[-1] / 2)]),
    }
