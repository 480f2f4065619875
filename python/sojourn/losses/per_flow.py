"""Who loses: the share of its packets that a flow lost, by octave of flow size.

A *happy* flow lost nothing. Box plots are of the unhappy ones; happy and unhappy together give the mean.
"""

from typing import Any

import polars as pl

from sojourn.losses.flows import LEAST_FLOWS

QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


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
        .with_columns((2 ** pl.col("bin").cast(pl.Float64)).alias("from_bytes"))
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
