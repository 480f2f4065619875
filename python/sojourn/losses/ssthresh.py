"""The initial slow-start threshold: what a flow's first loss leaves it with."""

from typing import Any

import numpy as np
import polars as pl

SHARES = np.concatenate([np.arange(1, 100) / 100, [0.995, 0.999]])


def ssthresh(flows: pl.DataFrame) -> dict[str, Any]:
    """Return the distribution of the first finite threshold over flows that have one, in packets.

    Returns
    -------
    dict
        ``set_share`` of the flows that left slow start by a loss, ``median_pkts``, and ``cdf``
        (``initial_ssthresh_pkts``, ``share``).
    """
    values = np.sort(flows["initial_ssthresh_pkts"].drop_nulls().to_numpy())
    if not len(values):
        return {"set_share": 0.0, "median_pkts": None, "cdf": {"initial_ssthresh_pkts": [], "share": []}}
    return {
        "set_share": len(values) / flows.height,
        "median_pkts": float(np.median(values)),
        "cdf": {
            "initial_ssthresh_pkts": np.quantile(values, SHARES).tolist(),
            "share": SHARES.tolist(),
        },
    }
