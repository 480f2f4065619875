"""The flows of a link, one row each: from the engine's table of connections, or from the packet log alone."""

import polars as pl

from sojourn.losses.period import LOST, UDP, Period
from sojourn.study.links import hop_of

LEAST_FLOWS = 10
"""A size bin with fewer flows says nothing."""

SIZE_BIN = 63 - pl.col("bytes").cast(pl.UInt64).bitwise_leading_zeros().cast(pl.Int32)
"""Octave of a flow's size: bin k holds 2^k up to 2^(k+1) bytes."""


def of_link(table: pl.DataFrame | None, log: pl.LazyFrame, link: str) -> pl.DataFrame | None:
    """Return the table of connections at one link: of several hops those that crossed it, with losses there.

    Parameters
    ----------
    table
        The engine's table of connections, or None.
    log
        Packet log of the link.
    link
        Its name.
    """
    if table is None or hop_of(link) is None:
        return table
    here = log.group_by("flow").agg(pl.len().alias("packets"), LOST.sum().alias("lost"))
    return table.drop("packets", "lost").join(here.collect(engine="streaming"), on="flow", how="inner")


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
        Direction of the link, as in the table.
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
