"""Utilisation of a link: bytes whose transmission started in each second, over what the second could carry.

A transmission counts in the bin in which it starts, so a bin differs by at most one packet from what the
recorder of the engine says, which divides a transmission between seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sojourn.losses.period import Period

QUANTILES = (5, 25, 50, 75, 95)


def utilisation(
    log: pl.LazyFrame, period: Period, rate_bps: float | None, bin_s: float = 1.0
) -> dict[str, Any]:
    """Return mean, standard deviation and quantiles over whole bins.

    Parameters
    ----------
    log
        Packet log of one link.
    period
        The time that is looked at; a last bin that it does not fill is left out.
    rate_bps
        Rate of the link. Without it, shares are null and only ``throughput_bps`` is given.
    bin_s
        Width of a bin in seconds.
    """
    width = round(bin_s * 1e9)
    bins = period.length_ns // width
    if not bins:
        return {"bins": 0, "throughput_bps": None, "mean": None, "sd": None}
    at = (pl.col("depart_ns") - period.start_ns) // width
    sums = (
        log.filter(pl.col("depart_ns") >= period.start_ns)
        .group_by(at.alias("bin"))
        .agg(pl.col("size_bytes").cast(pl.UInt64).sum())
        .collect(engine="streaming")
    )
    carried = np.zeros(bins)
    inside = sums.filter(pl.col("bin") < bins)
    carried[inside["bin"].to_numpy()] = inside["size_bytes"].to_numpy()
    bps = carried * 8 / bin_s
    found: dict[str, Any] = {"bins": int(bins), "throughput_bps": float(bps.mean())}
    share = bps / rate_bps if rate_bps else None
    found["mean"] = None if share is None else float(share.mean())
    found["sd"] = None if share is None or bins < 2 else float(share.std(ddof=1))
    if share is not None:
        ranked = np.sort(share)
        found["quantiles"] = {f"p{q}": float(ranked[q * bins // 100]) for q in QUANTILES}
    return found
