"""Congestion windows: the mean over a flow's life, by octave of flow size."""

from typing import Any

import polars as pl

from sojourn.losses.flows import LEAST_FLOWS


def windows(flows: pl.DataFrame) -> dict[str, Any]:
    """Return the mean congestion window of flows, by size, in packets.

    Returns
    -------
    dict
        ``by_size``: ``from_bytes``, ``mean_cwnd_pkts`` with the ends ``low`` and ``high`` of the middle
        half of the flows; octaves of 10 flows or more. ``largest_pkts``: the greatest of these means.
    """
    window = pl.col("mean_cwnd_pkts")
    by_size = (
        flows.filter(window.is_not_null())
        .group_by("bin")
        .agg(
            pl.len().alias("flows"),
            window.sort_by("flow").mean(),
            window.quantile(0.25, "linear").alias("low"),
            window.quantile(0.75, "linear").alias("high"),
        )
        .filter(pl.col("flows") >= LEAST_FLOWS)
        .sort("bin")
        .with_columns((2 ** pl.col("bin").cast(pl.Float64)).alias("from_bytes"))
    )
    return {
        "largest_pkts": by_size["mean_cwnd_pkts"].max(),
        "by_size": by_size.select("from_bytes", "mean_cwnd_pkts", "low", "high").to_dict(as_series=False),
    }
