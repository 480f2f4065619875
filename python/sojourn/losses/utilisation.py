"""Utilisation of a link: bytes whose transmission started in each second, over what the second could carry.

A transmission counts in the bin in which it starts, so a bin differs by at most one packet from what the
recorder of the engine says, which divides a transmission between seconds.
"""

from typing import Any

import numpy as np
import polars as pl

from sojourn.losses.period import Period
from sojourn.losses.sparse import LONGEST

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
    inside = sums.filter(pl.col("bin") < bins)
    sent = inside["size_bytes"].to_numpy()
    if bins > LONGEST:
        return _of_sparse(np.sort(sent) * 8 / bin_s, bins, rate_bps)
    carried = np.zeros(bins)
    carried[inside["bin"].to_numpy()] = sent
    bps = carried * 8 / bin_s
    found: dict[str, Any] = {"bins": int(bins), "throughput_bps": float(bps.mean())}
    share = bps / rate_bps if rate_bps else None
    found["mean"] = None if share is None else float(share.mean())
    found["sd"] = None if share is None or bins < 2 else float(share.std(ddof=1))
    if share is not None:
        ranked = np.sort(share)
        found["quantiles"] = {f"p{q}": float(ranked[q * bins // 100]) for q in QUANTILES}
    return found


def _of_sparse(bps: np.ndarray, bins: int, rate_bps: float | None) -> dict[str, Any]:
    """Return the same of the bins that are not empty, in ascending order, and of so many bins in all."""
    empty = bins - len(bps)
    mean = float(bps.sum()) / bins
    found: dict[str, Any] = {"bins": int(bins), "throughput_bps": mean, "mean": None, "sd": None}
    if rate_bps:
        squares = float(np.sum((bps - mean) ** 2)) + empty * mean**2
        found |= {"mean": mean / rate_bps, "sd": float(np.sqrt(squares / (bins - 1))) / rate_bps}
        places = {q: q * bins // 100 - empty for q in QUANTILES}
        found["quantiles"] = {
            f"p{q}": float(bps[at]) / rate_bps if at >= 0 else 0.0 for q, at in places.items()
        }
    return found
