"""The flows of a link, one row each: from the engine's table of connections, or from the packet log alone."""

from __future__ import annotations

import polars as pl

from sojourn.losses.period import LOST, UDP, Period

LEAST_FLOWS = 10
"""A size bin with fewer flows says nothing."""

SIZE_BIN = 63 - pl.col("bytes").cast(pl.UInt64).bitwise_leading_zeros().cast(pl.Int32)
"""Octave of a flow's size: bin k holds 2^k up to 2^(k+1) bytes."""


def flows_of(log: pl.LazyFrame, table: pl.DataFrame | None, link: str | None, period: Period) -> pl.DataFrame:
    """Return the TCP flows that sent data over the link and began in the period.

    With a table only those that also ended, so that their size is known.

    Parameters
    ----------
    log
        Packet log of the link.
    table
        The engine's table of connections; without it sizes are bytes at IP, retransmissions included, and
        there are no windows.
    link
        Name of the link in the table.
    period
        What is looked at.

    Returns
    -------
    polars.DataFrame
        ``flow``, ``bytes``, ``packets``, ``lost``, ``loss`` and ``bin``; with a table also
        ``mean_cwnd_pkts`` and ``initial_ssthresh_pkts``.
    """
    if table is None:
        found = (
            log.filter(~UDP)
            .group_by("flow")
            .agg(
                pl.col("size_bytes").cast(pl.UInt64).sum().alias("bytes"),
                pl.len().alias("packets"),
                LOST.sum().alias("lost"),
                pl.col("arrive_ns").min().alias("start_ns"),
            )
            .collect(engine="streaming")
        )
    else:
        found = table.filter(pl.col("link").cast(pl.String) == link, pl.col("end_ns").is_not_null())
    return (
        found.filter(pl.col("start_ns") >= period.start_ns, pl.col("bytes") > 0, pl.col("packets") > 0)
        .with_columns((pl.col("lost") / pl.col("packets")).alias("loss"), SIZE_BIN.alias("bin"))
        .sort("flow")
    )
