"""What a table of flows tells: how large they are, who loses, their windows and first thresholds.

A *happy* flow lost nothing. Box plots are of the unhappy ones; happy and unhappy together give the mean.
"""

from typing import Any

import numpy as np
import polars as pl

from sojourn.losses.flows import LEAST_FLOWS

STEPS_PER_OCTAVE = 4
QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
SHARES = np.concatenate([np.arange(1, 100) / 100, [0.995, 0.999]])
_FROM_BYTES = (2 ** pl.col("bin").cast(pl.Float64)).alias("from_bytes")


def sizes(flows: pl.DataFrame) -> dict[str, Any]:
    """Return the complementary distribution function of flow sizes, at four sizes an octave.

    Returns
    -------
    dict
        ``flows``, ``mean_bytes``, ``max_bytes`` and ``ccdf`` (``bytes``; ``share`` of the flows that are
        larger).
    """
    size = np.sort(flows["bytes"].to_numpy())
    if not len(size):
        return {"flows": 0, "mean_bytes": None, "max_bytes": None, "ccdf": {"bytes": [], "share": []}}
    low = np.floor(np.log2(size[0]) * STEPS_PER_OCTAVE)
    high = np.ceil(np.log2(size[-1]) * STEPS_PER_OCTAVE)
    edges = 2 ** (np.arange(low, high + 1) / STEPS_PER_OCTAVE)
    larger = len(size) - np.searchsorted(size, edges, side="right")
    kept = larger > 0
    return {
        "flows": len(size),
        "mean_bytes": float(size.mean()),
        "max_bytes": int(size[-1]),
        "ccdf": {"bytes": edges[kept].tolist(), "share": (larger[kept] / len(size)).tolist()},
    }


def per_flow(flows: pl.DataFrame) -> dict[str, Any]:
    """Return the loss of flows, by size.

    Returns
    -------
    dict
        ``happy_share`` of all flows; ``boxes``: lists with an entry for each octave of size that has
        flows: ``from_bytes``, ``flows``, ``happy_share``, ``mean`` and ``pooled`` loss of all flows (the
        mean over flows, and lost over sent packets), and ``p5`` to ``p95`` of the unhappy ones' loss;
        ``most_lossy_bytes``: the octave with the greatest mean among those of 10 flows or more.
    """
    unhappy = pl.col("loss").filter(pl.col("lost") > 0)
    boxes = (
        flows.group_by("bin")
        .agg(
            pl.len().alias("flows"),
            (pl.col("lost") == 0).mean().alias("happy_share"),
            pl.col("loss").sort_by("flow").mean().alias("mean"),
            (pl.col("lost").sum() / pl.col("packets").sum()).alias("pooled"),
            *(unhappy.quantile(share, "linear").alias(name) for name, share in QUANTILES.items()),
        )
        .sort("bin")
        .with_columns(_FROM_BYTES)
    )
    counted = boxes.filter(pl.col("flows") >= LEAST_FLOWS)
    worst = counted.sort("mean", "bin", descending=True)["from_bytes"].to_list()
    return {
        "happy_share": flows.select((pl.col("lost") == 0).mean()).item(),
        "most_lossy_bytes": worst[0] if worst else None,
        "boxes": boxes.select("from_bytes", "flows", "happy_share", "mean", "pooled", *QUANTILES).to_dict(
            as_series=False
        ),
    }


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
        .with_columns(_FROM_BYTES)
    )
    return {
        "largest_pkts": by_size["mean_cwnd_pkts"].max(),
        "by_size": by_size.select("from_bytes", "mean_cwnd_pkts", "low", "high").to_dict(as_series=False),
    }


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
