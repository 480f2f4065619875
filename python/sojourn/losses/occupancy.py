"""Occupancy of the buffer as arriving packets find it: the density of the packets that wait already."""

from typing import Any

import numpy as np
import polars as pl

from sojourn.losses.period import UDP

MOST_BINS = 512


def occupancy(arrivals: pl.LazyFrame) -> dict[str, Any]:
    """Return the density of the backlog at arrivals of all packets, and of UDP's alone.

    Returns
    -------
    dict
        ``density`` and, if there is UDP, ``udp_density``: ``backlog_pkts`` (lower edge of a bin; bins of
        one packet up to 512 of them) and ``share`` of the arrivals per packet of backlog; ``mean_pkts``
        of all arrivals.
    """
    counts = (
        arrivals.group_by("backlog_pkts", "kind")
        .agg(pl.len().alias("packets"))
        .collect(engine="streaming")
        .with_columns(UDP.alias("udp"))
        .sort("backlog_pkts", "kind")
    )
    if not counts.height:
        return {"mean_pkts": None, "density": {"backlog_pkts": [], "share": []}}
    deepest = int(counts["backlog_pkts"].max())
    width = -(-(deepest + 1) // MOST_BINS)
    total = int(counts["packets"].sum())
    waiting = int((counts["backlog_pkts"].cast(pl.Int64) * counts["packets"].cast(pl.Int64)).sum())
    found = {"mean_pkts": waiting / total, "density": _density(counts, deepest, width)}
    if (udp := counts.filter("udp")).height:
        found["udp_density"] = _density(udp, deepest, width)
    return found


def _density(counts: pl.DataFrame, deepest: int, width: int) -> dict[str, list[float]]:
    places = counts["backlog_pkts"].to_numpy() // width
    sums = np.bincount(places, weights=counts["packets"].to_numpy(), minlength=deepest // width + 1)
    return {
        "backlog_pkts": (np.arange(len(sums)) * width).tolist(),
        "share": (sums / sums.sum() / width).tolist(),
    }
