"""How senders respond to a queue: smoothness, aggressiveness and convergence (RFC 5166 §2.2 and §2.3).

==================  ======================================================================================
smoothness          the largest reduction of a flow's sending rate from one round trip to the next, as a share
                    of the rate before; 1 is a flow that fell silent (RFC 5166 §2.2, after Floyd, Handley and
                    Padhye 2000). An AIMD sender that multiplies its window by 1 − b comes to b
aggressiveness      the largest rise of the sending rate from one round trip to the next
δ-fair convergence  two flows of the same round trip, one of which has the link when the other comes: the time
time                until both have shares within (1 ± δ)/2 of what the two get, δ = 0.1 (RFC 5166 §2.3, after
                    Bansal, Balakrishnan, Floyd and Shenker 2001)
==================  ======================================================================================

A sending rate is what arrives at the queue, retransmissions included, in the round trip before an instant
and in that after it; a round trip is the flow's base round trip and the queueing delay of that instant. A
share is goodput over a window that slides by a base round trip; the time is up to the end of the first window
in which both shares are fair, and they may leave the band again.

Differences: RFC 5166 has smoothness in a scene where every n-th packet is lost; here it is what happens in
front of the queue under test, so losses in a row and timeouts show. A round trip with fewer than four packets
says nothing about a rate and is left out. δ-fair convergence starts from shares of 100/101 and 1/101 there;
here the second flow begins as flows do, with its initial window.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn.losses.period import Period
from sojourn.study.units import nanoseconds

DELTA = 0.1
_LEAST, _MOST_SHARES = 4, 200
_STEPS = 4
"""Instants in a round trip at which the rates before and after are compared."""


def changes(
    at_ns: NDArray[np.int64],
    sizes: NDArray[np.int64],
    instants_ns: NDArray[np.int64],
    rtt_ns: NDArray[np.int64],
) -> tuple[float, float] | None:
    """Return the largest cut of a flow's rate in a round trip, as a share, and the largest rise in bit/s.

    Parameters
    ----------
    at_ns, sizes
        When its packets arrived, in order, and their bytes.
    instants_ns, rtt_ns
        Instants to look at, and the round trip at each.

    Returns
    -------
    (float, float) or None
        None where no round trip had four packets.

    >>> at = np.concatenate([np.arange(0, 1000, 10), np.arange(1000, 2000, 20)])
    >>> changes(at, np.full(at.size, 100), np.array([500, 1000, 1500]), np.array([200, 200, 200]))[0]
    0.5
    """
    total = np.concatenate([[0], np.cumsum(sizes)])
    first, here, last = (
        np.searchsorted(at_ns, edge) for edge in (instants_ns - rtt_ns, instants_ns, instants_ns + rtt_ns)
    )
    before, after = total[here] - total[first], total[last] - total[here]
    known = here - first >= _LEAST
    if not known.any():
        return None
    cut = float(np.max(1 - after[known] / before[known]))
    rise = float(np.max((after - before)[known] * 8e9 / rtt_ns[known]))
    return max(cut, 0.0), max(rise, 0.0)


def of_group(rows: pl.DataFrame, base_rtt_ns: int, start_ns: int, end_ns: int) -> dict[str, Any]:
    """Return ``largest_cut`` and ``largest_rise_bps`` of a group of long TCP flows, means over its flows.

    Parameters
    ----------
    rows
        Its packets at the link: ``flow``, ``arrive_ns``, ``depart_ns``, ``size_bytes``.
    base_rtt_ns
        Its base round trip.
    start_ns, end_ns
        The time to look at.
    """
    rows = rows.sort("arrive_ns")
    sent = rows.filter(pl.col("depart_ns").is_not_null())
    nothing = {"largest_cut": None, "largest_rise_bps": None}
    step = max(base_rtt_ns // _STEPS, 1)
    instants = np.arange(start_ns, end_ns, step, dtype=np.int64)
    if not sent.height or not instants.size:
        return nothing
    at = sent["arrive_ns"].to_numpy().astype(np.int64)
    delay = sent["depart_ns"].to_numpy().astype(np.int64) - at
    rtt = base_rtt_ns + delay[np.clip(np.searchsorted(at, instants) - 1, 0, None)]
    inside = (instants - rtt >= start_ns) & (instants + rtt <= end_ns)
    instants, rtt = instants[inside], rtt[inside]
    found = [
        changes(
            flow["arrive_ns"].to_numpy().astype(np.int64),
            flow["size_bytes"].to_numpy().astype(np.int64),
            instants,
            rtt,
        )
        for _, flow in rows.group_by("flow", maintain_order=True)
        if instants.size
    ]
    known = [each for each in found if each is not None]
    if not known:
        return nothing
    cut, rise = np.mean(known, axis=0).tolist()
    return {"largest_cut": float(f"{cut:.9g}"), "largest_rise_bps": float(f"{rise:.9g}")}


def convergence(
    first: tuple[NDArray[np.int64], NDArray[np.int64]],
    second: tuple[NDArray[np.int64], NDArray[np.int64]],
    start_ns: int,
    end_ns: int,
    rtt_ns: int,
    window_ns: int,
) -> dict[str, Any]:
    """Return how long a flow that came later took to a fair share.

    Parameters
    ----------
    first, second
        When packets of the two flows left, in order, and the new bytes of each.
    start_ns, end_ns
        When the second began, and until when there is a log.
    rtt_ns, window_ns
        By how much the window of goodput slides, and its length.

    Returns
    -------
    dict
        ``delta``, ``delta_fair_s`` (None where shares never were fair), ``watched_s``, the time that
        there was, and ``share``, the second flow's in windows of ``step_s`` one after the other, at most 200.
    """
    ends = np.arange(start_ns + window_ns, end_ns + 1, max(rtt_ns, 1), dtype=np.int64)

    def got(flow: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
        total = np.concatenate([[0], np.cumsum(flow[1])])
        there, here = np.searchsorted(flow[0], ends - window_ns), np.searchsorted(flow[0], ends)
        return (total[here] - total[there]).astype(float)

    mine, other = got(second), got(first)
    fair = (mine + other > 0) & (np.abs(mine - other) <= DELTA * (mine + other) + 1e-9)
    reached = np.flatnonzero(fair)
    every = max(-(-len(ends) // _MOST_SHARES), 1)
    share = np.divide(mine, mine + other, out=np.zeros_like(mine), where=mine + other > 0)[every - 1 :: every]
    return {
        "delta": DELTA,
        "delta_fair_s": (int(ends[reached[0]]) - start_ns) / 1e9 if reached.size else None,
        "watched_s": max(end_ns - start_ns, 0) / 1e9,
        "step_s": every * max(rtt_ns, 1) / 1e9,
        "share": [float(f"{each:.6g}") for each in share],
    }


def of_newcomer(
    rows: pl.DataFrame, bulk: Mapping[int, int], period: Period, window_ns: int
) -> dict[str, Any] | None:
    """Return the convergence of two long flows of one round trip, if the second comes in the period.

    Parameters
    ----------
    rows
        Packets of the link: ``group``, ``flow``, ``arrive_ns``, ``depart_ns``, ``new_bytes``.
    bulk
        The groups of long TCP flows, and the base round trip of each.
    period
        What is measured.
    window_ns
        Length of a window of goodput.

    Returns
    -------
    dict or None
        None where there are more or fewer flows, round trips differ, or both began before the period.
    """
    long = rows.filter(pl.col("group").is_in(list(bulk)))
    flows = long.group_by("flow").agg(pl.col("arrive_ns").min(), pl.col("group").first()).sort("arrive_ns")
    if flows.height != 2 or len({bulk[group] for group in flows["group"]}) != 1:
        return None
    start = int(flows["arrive_ns"][1])
    if start < period.start_ns or start - int(flows["arrive_ns"][0]) < window_ns:
        return None
    left = [_left(long.filter(pl.col("flow") == flow)) for flow in flows["flow"]]
    return convergence(left[0], left[1], start, period.end_ns, bulk[flows["group"][0]], window_ns)


def _left(rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sent = rows.filter(pl.col("depart_ns").is_not_null()).sort("depart_ns")
    return sent["depart_ns"].to_numpy().astype(np.int64), sent["new_bytes"].to_numpy().astype(np.int64)


def long_groups(flows: Sequence[Mapping[str, Any]], way: str, base_rtt_ns: int) -> dict[int, int]:
    """Return the groups of long TCP flows whose data goes a way, by place, with their base round trips."""
    return {
        i: nanoseconds(group["rtt"]) if group.get("rtt") else base_rtt_ns
        for i, group in enumerate(flows)
        if group["transport"] != "udp" and group["source"]["kind"] == "bulk" and group["direction"] == way
    }
