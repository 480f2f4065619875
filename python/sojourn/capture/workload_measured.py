"""What captures show of the path that a workload crossed, in the names of results.

Loss is the share of segments with payload that begin below what had passed before (sent again, or overtaken),
but for those that are known to have been sent in vain. Towards the capture what was lost is not in it, so
the loss is lost / (seen + lost), without what was lost at the end of all that an end had sent: its repair
follows what had passed. Away from it, what is lost later is in it, so it is lost / seen. Of datagrams
nobody tells what was lost: where they are more than a tenth of a link's packets, the loss of its segments
is not that of the link, and how many segments were sent again stands there instead.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sojourn.capture.workload import Workload
from sojourn.study.links import WAYS

_WAITS = {"mean": "mean_ms", "p50": "p50_ms", "p95": "p95_ms", "p99": "p99_ms", "max": "max_ms"}
LEAST_PKTS = 100
"""Fewer segments than this tell nothing of loss."""
_MOST_DATAGRAMS = 0.1
"""Share of a link's packets: what its segments lose is the link's loss to no more than this."""


def measured(
    found: Workload, near: str, rate_bps: float, waits: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, float, str]]:
    """Yield path, number and how it was measured.

    Parameters
    ----------
    found
        The workload.
    near
        The direction towards the capture: ``down`` or ``up``.
    rate_bps
        Rate of its link.
    waits
        By link, the waits that `sojourn measure` infers.
    """
    seconds = found.length_ns / 1e9
    tcp = found.connections.filter("tcp")
    if seconds > 0:
        if tcp.height:  # of datagrams alone 0 would be taken for theirs
            payload = float(tcp["a_bytes"].sum() + tcp["b_bytes"].sum())
            how = "Goodput: payload of TCP, both ways, each byte once."
            yield "flows.goodput_bps", payload * 8 / seconds, how
        carried = float(np.sum(found.busy[near])) * 8 / seconds
        how = "Utilisation: bytes of packets towards the capture, of the rate as seen."
        yield f"links.{near}.utilisation", carried / rate_bps, how
    for link, way in waits.items():
        for ours, theirs in _WAITS.items():
            how = "Queueing delay: as sojourn measure infers it from the captures."
            if (number := way.get(theirs)) is not None:
                yield f"links.{link}.queue_delay_ms.{ours}", number, how
    told = [(link, segments(tcp, link), _datagrams(found.connections, link)) for link in WAYS]
    if any(of.seen and datagrams > _MOST_DATAGRAMS * (of.seen + datagrams) for _, of, datagrams in told):
        how = "Sent again: segments of TCP, or overtaken; the link's loss would be of datagrams, too."
        yield "flows.retransmits", float(sum(of.again for _, of, _ in told)), how
    for link, (seen, _, lost), datagrams in told:
        if seen >= LEAST_PKTS and datagrams <= _MOST_DATAGRAMS * (seen + datagrams):
            unseen = "What was lost at the end of a turn does not show. " if link == near else ""
            how = (
                f"Loss of the link {link}: segments sent again or overtaken, but for those known to have "
                f"been sent in vain. {unseen}Single runs of one traffic differ in it by a tenth and more "
                "(docs/workload.md)."
            )
            yield f"links.{link}.loss", lost / (seen + lost if link == near else seen), how
    whole = tcp.filter(~pl.col("cut") & ~pl.col("began_before") & (pl.col("turns").list.len() > 0))
    for share in (50, 95):
        lasted = whole["duration_ns"].quantile(share / 100, "nearest")
        if lasted is not None:
            how = "Connections last: from the first packet to the last, of those that began and ended."
            yield f"connections.duration_s.p{share}", lasted / 1e9, how


class Segments(NamedTuple):
    """Segments with payload."""

    seen: int
    again: int
    """Of those, sent again or overtaken."""
    lost: int
    """Of those, not known to have been sent in vain."""


def segments(tcp: pl.DataFrame, link: str) -> Segments:
    """Return the segments with payload towards the clients (``down``) or from them."""
    from_opener = pl.col("client_opens") if link == "up" else ~pl.col("client_opens")
    either = (
        pl.when(from_opener)
        .then(pl.col(f"a_{name}_pkts"))
        .otherwise(pl.col(f"b_{name}_pkts"))
        .sum()
        .alias(name)
        for name in ("data", "again", "vain")
    )
    seen, again, vain = tcp.select(*either).row(0)
    return Segments(seen, again, max(0, again - vain))


def _datagrams(connections: pl.DataFrame, link: str) -> int:
    """Return the datagrams towards the clients (``down``) or from them."""
    quic = connections.filter("quic")
    of_quic = segments(quic, link).seen if quic.height else 0
    plain = connections.filter(~pl.col("tcp") & ~pl.col("quic"))
    turns = plain.select("client_opens", "turns").explode("turns").drop_nulls()
    by_client = pl.col("client_opens") != pl.col("turns").struct.field("accepted")
    return of_quic + turns.filter(by_client if link == "up" else ~by_client).height
