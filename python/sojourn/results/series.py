"""Flows and queues over time, of a study that sets ``record.series``: two tables on one grid of times.

Of flows, the first eight connections of each group (or the first eight sources of datagrams):

================  ====================================================================================
``time_ns``       when, from the beginning of the run
``group``         name of its group, as in ``groups`` of the result
``number``        its number in the group, from 0 in the order of opening
``flow``          its number in the packet log and the table of connections; null for datagrams
``cwnd_pkts``     congestion window in segments; null for datagrams
``srtt_ns``       smoothed round-trip time; null before the first sample
``rate_bps``      payload delivered since the sample before, by time: as its sender knows by
                  acknowledgement or SACK, or, of datagrams, as it arrived
``pacing_bps``    the rate at which the sender paces itself; null if it does not
================  ====================================================================================

Of queues, ``time_ns``, ``link``, ``backlog_pkts`` and ``backlog_bytes``: what waits at that instant. Links
are named as in the packet log.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl


def flow_series(columns: Mapping[str, Any], groups: Sequence[str]) -> pl.DataFrame:
    """Return the engine's samples of flows as a data frame: groups by name, nulls where nothing was."""
    names = pl.Series("group", list(groups), dtype=pl.Enum(groups))
    return pl.DataFrame(dict(columns)).with_columns(
        names.gather(pl.Series(columns["group"])),
        pl.col("cwnd_pkts", "pacing_bps").fill_nan(None),
        *(pl.when(pl.col(name) > 0).then(pl.col(name)).alias(name) for name in ("flow", "srtt_ns")),
    )


def queue_series(columns: Mapping[str, Any], links: Sequence[str]) -> pl.DataFrame:
    """Return the engine's samples of queues as a data frame; `links` are their names in its order."""
    names = pl.Series("link", list(links), dtype=pl.Enum(links))
    return pl.DataFrame(dict(columns)).with_columns(names.gather(pl.Series(columns["link"])))
