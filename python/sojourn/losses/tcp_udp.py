"""Loss of TCP beside that of UDP probes that sample the same queue.

Probes arrive at times of their own; TCP's packets arrive in bursts that fill the queue themselves. Where
the two differ, the losses that TCP suffers are of its own making.
"""

from typing import Any

import polars as pl

from sojourn.losses.period import LOST, UDP


def tcp_udp(arrivals: pl.LazyFrame) -> dict[str, dict[str, Any]]:
    """Return ``packets``, ``lost`` and ``loss`` of each protocol (``tcp``, ``udp``) that sent anything."""
    counts = (
        arrivals.group_by("kind")
        .agg(pl.len().alias("packets"), LOST.sum().alias("lost"))
        .with_columns(UDP.alias("udp"))
        .collect(engine="streaming")
    )
    found = {}
    for name, of_it in (("tcp", ~pl.col("udp")), ("udp", pl.col("udp"))):
        rows = counts.filter(of_it)
        packets, lost = int(rows["packets"].sum()), int(rows["lost"].sum())
        if packets:
            found[name] = {"packets": packets, "lost": lost, "loss": lost / packets}
    return found
