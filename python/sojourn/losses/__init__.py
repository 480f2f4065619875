"""The loss process of a bottleneck: who loses, when, and why.

Everything is read from the packet log, whether the engine wrote it or two captures were matched.

>>> log = sojourn.open("results/flows").packets("3f")                                      # doctest: +SKIP
>>> analyse(log, Period(10**10, 10**11), link="down", rate_bps=242e6, rtt_ns=150_000_000)  # doctest: +SKIP
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from sojourn.losses.bursts import bursts
from sojourn.losses.flows import flows_of, of_link
from sojourn.losses.occupancy import occupancy
from sojourn.losses.of_flows import per_flow, sizes, ssthresh, windows
from sojourn.losses.period import Period
from sojourn.losses.scaling import loss_counts, scaling
from sojourn.losses.tcp_udp import tcp_udp
from sojourn.losses.utilisation import utilisation
from sojourn.study.links import base_rtt_ns, way_of
from sojourn.study.units import nanoseconds

__all__ = ["Period", "analyse", "of_point"]


def of_point(
    file: str,
    flows: pl.DataFrame | None,
    document: Mapping[str, Any],
    rates_bps: Mapping[str, float | None],
) -> dict[str, Any]:
    """Analyse links of a simulated point over its measured period.

    Parameters
    ----------
    file
        Packet log (Parquet).
    flows
        Table of connections, if it was kept.
    document
        The point's scenario, defaults filled in.
    rates_bps
        Rate of each link that is analysed; None if it is unlimited.

    Returns
    -------
    dict
        By link what :func:`analyse` returns.
    """
    period = Period(nanoseconds(document.get("warmup") or "0s"), nanoseconds(document["duration"]))
    rtt_ns = base_rtt_ns(document)
    log = pl.scan_parquet(file)
    return {
        link: analyse(log, period, link=link, flows=flows, rate_bps=rate, rtt_ns=rtt_ns)
        for link, rate in rates_bps.items()
    }


def analyse(
    log: pl.LazyFrame,
    period: Period,
    *,
    link: str,
    flows: pl.DataFrame | None = None,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
) -> dict[str, Any]:
    """Analyse the losses of one link.

    Parameters
    ----------
    log
        Packet log, of several links perhaps.
    period
        The time that is looked at.
    link
        Name of the link.
    flows
        Table of connections; without it flows are made from the log, and nothing is said of windows.
    rate_bps
        Rate of the link, for its utilisation.
    rtt_ns
        Base round-trip time, for the time scales below it.

    Returns
    -------
    dict
        ``packets``, ``lost_pkts``, ``loss``, ``by_protocol``, ``utilisation``, ``bursts``, ``occupancy``,
        ``sizes``, ``per_flow``, with a table ``windows`` and ``ssthresh``, and ``scaling``.
    """
    log = log.filter(pl.col("link").cast(pl.String) == link)
    arrivals = period.arrivals(log)
    by_protocol = tcp_udp(arrivals)
    packets = sum(each["packets"] for each in by_protocol.values())
    lost = sum(each["lost"] for each in by_protocol.values())
    each_flow = flows_of(arrivals, of_link(flows, arrivals, link), way_of(link), period)
    found: dict[str, Any] = {
        "packets": packets,
        "lost_pkts": lost,
        "loss": lost / packets if packets else None,
        "by_protocol": by_protocol,
        "utilisation": utilisation(log, period, rate_bps),
        "bursts": bursts(arrivals),
        "occupancy": occupancy(arrivals),
        "sizes": sizes(each_flow),
        "per_flow": per_flow(each_flow),
    }
    if flows is not None:
        found |= {"windows": windows(each_flow), "ssthresh": ssthresh(each_flow)}
    return found | {"scaling": scaling(loss_counts(arrivals, period), rtt_ns)}
