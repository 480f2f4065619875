"""The path as a small flow finds it: what a ping or a speed test of a busy line would see.

Every packet of a call of `voice` or of an online game (`gaming`) that goes up is answered by the packet
down that leaves next after it has arrived: an echo. Each player or caller has 50 to 128 a second.

- `rtt_ms`: the round trips of echoes; `added_ms`: what each way takes beyond its propagation (queueing, and
  transmission of the packet itself).
- `loss`: of both ways together, 1 - (1 - up)(1 - down).
- `down_mbps`, `up_mbps`: the rate of the slowest link each way.
- `qoo`: Quality of Outcome (draft-ietf-ippm-qoo) of each profile of LibreQoS, 0 to 100, the worst of its
  latency and its loss.

A small flow, since where each flow has its own queue the packets of a large one wait for one another, and
the mean of all packets says nothing about anybody else. Differences: QoO's throughput is left out, as
LibreQoS leaves it out.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn.study.links import way_of
from sojourn.study.thresholds import Limit, thresholds

SENDERS = ("voice", "gaming")
"""Kinds of users who send small packets all the time."""
PLAYERS = ("gaming",)
"""Kinds of users for whose sake this is scored: results of calls alone stay as they were."""
_PERCENTILES = (50, 90, 95, 99)
_UP, _DOWN = 0, 1


class Echoes(NamedTuple):
    """What one group of users found, by packet.

    Attributes
    ----------
    rtt_ns : ndarray of int64
        Round trips; those of which one way was lost are left out.
    added_ns : tuple of ndarray of int64
        Up and down, beyond the propagation.
    lost, sent : tuple of int
        Up and down.
    """

    rtt_ns: NDArray[np.int64]
    added_ns: tuple[NDArray[np.int64], NDArray[np.int64]]
    lost: tuple[int, int]
    sent: tuple[int, int]


def echoes(columns: Mapping[str, NDArray[Any]], one_way_ns: int) -> Echoes | None:
    """Pair the packets of users who send both ways.

    Parameters
    ----------
    columns : mapping of str to ndarray
        `user`, `direction` (0 up, 1 down), `sent_ns`, `delay_ns` (-1 = lost); `call` too of calls.
    one_way_ns : int
        The propagation of one way.

    Returns
    -------
    Echoes or None
        None if nobody sent both ways.
    """
    found = [_pair(up, down) for up, down in _both_ways(columns)]
    if not found:
        return None
    delay, way = np.asarray(columns["delay_ns"]).astype(np.int64), np.asarray(columns["direction"])
    ways = [delay[way == each] for each in (_UP, _DOWN)]
    up, down = (each[each >= 0] - one_way_ns for each in ways)
    lost = (int((ways[_UP] < 0).sum()), int((ways[_DOWN] < 0).sum()))
    return Echoes(np.concatenate(found), (up, down), lost, (ways[_UP].size, ways[_DOWN].size))


def _both_ways(columns: Mapping[str, NDArray[Any]]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows (when sent, delay) up and down of each user and call, in order of sending."""
    who = np.asarray(columns["user"]).astype(np.int64)
    call = np.asarray(columns.get("call", np.zeros(who.size))).astype(np.int64)
    way = np.asarray(columns["direction"]).astype(np.int64)
    rows = np.stack([np.asarray(columns["sent_ns"]), np.asarray(columns["delay_ns"])], axis=1).astype(
        np.int64
    )
    order = np.lexsort((rows[:, 0], way, call, who))
    keys = np.stack([who, call, way])[:, order]
    cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    parts = {
        tuple(keys[:, first].tolist()): rows[order[first:last]]
        for first, last in pairwise([0, *cuts.tolist(), who.size])
        if last > first
    }
    for (user, number, direction), up in parts.items():
        if direction == _UP and (down := parts.get((user, number, _DOWN))) is not None:
            yield up, down


def _pair(up: NDArray[np.int64], down: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round trips of what came up and was answered, ns."""
    there = up[up[:, 1] >= 0]
    answer = np.searchsorted(down[:, 0], there[:, 0] + there[:, 1])
    inside = answer < len(down)
    back = down[answer[inside], 1]
    return (there[inside, 1] + back)[back >= 0]


def score_network(found: list[Echoes], links: Mapping[str, Any]) -> dict[str, Any]:
    """Say what the path is to a small flow.

    Parameters
    ----------
    found : list of Echoes
        Of the groups of users whose packets cross all of it.
    links : mapping
        The links of the run's summary.

    Returns
    -------
    dict
        "rtt_ms" and "added_ms.up", "added_ms.down" as {"mean", "p50", "p90", "p95", "p99"}, "loss" (a share),
        "qoo" by use (0 where no echo came back), "down_mbps" and "up_mbps" where links have a rate, "echoes";
        times only of what arrived. Empty if nobody sent.
    """
    if not found:
        return {}
    trips = np.concatenate([each.rtt_ns for each in found])
    shares = [
        sum(each.lost[way] for each in found) / max(sum(each.sent[way] for each in found), 1)
        for way in (_UP, _DOWN)
    ]
    added = {
        name: np.concatenate([each.added_ns[way] for each in found])
        for way, name in ((_UP, "up"), (_DOWN, "down"))
    }
    out: dict[str, Any] = {"rtt_ms": _spread(trips)} if trips.size else {}
    out["added_ms"] = {name: _spread(delays) for name, delays in added.items() if delays.size}
    out["loss"] = round(1 - (1 - shares[_UP]) * (1 - shares[_DOWN]), 6)
    out["echoes"] = int(trips.size)
    out["qoo"] = {
        name.removeprefix("qoo-"): round(_outcome(about.limits, out), 3)
        for name, about in thresholds().items()
        if name.startswith("qoo-")
    }
    for way in ("down", "up"):
        rates = [about.get("rate_bps") for name, about in links.items() if way_of(name) == way]
        if known := [rate for rate in rates if rate]:
            out[f"{way}_mbps"] = round(min(known) / 1e6, 6)
    return out


def _spread(ns: NDArray[np.int64]) -> dict[str, float]:
    points = np.percentile(ns, _PERCENTILES) / 1e6
    named = {f"p{point}": round(float(value), 3) for point, value in zip(_PERCENTILES, points, strict=True)}
    return {"mean": round(float(ns.mean()) / 1e6, 3), **named}


def _outcome(limits: tuple[Limit, ...], out: Mapping[str, Any]) -> float:
    """The worst of a profile's parts, each between its limit (100) and what is unacceptable (0)."""
    parts = []
    for limit in limits:
        _, name, *point = limit.value.split(".")
        if name not in out:
            return 0.0
        measured = out[name][point[0]] if point else out[name]
        worst = limit.limit if limit.unacceptable is None else limit.unacceptable
        beyond = (measured - limit.limit) / (worst - limit.limit)
        parts.append(100 * min(max(1 - beyond, 0.0), 1.0))
    return min(parts)
