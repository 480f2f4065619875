"""The result of a run of the testbed: the same keys as a simulation's, from the emulator's records and what
programs left.

Differences from the simulator's numbers: round-trip times are the kernel's smoothed ones, sampled every 100
ms; payload counts when the receiving program has read it; a datagram that arrived late counts as its program
saw it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.study import Point
from sojourn.study.units import nanoseconds
from sojourn.sweep.testbed import rehearsal
from sojourn.sweep.testbed.kind import Connection, Gathered, Place
from sojourn.sweep.testbed.program import Left

Entries = Sequence[tuple[Place, Sequence[Left], Gathered]]
"""For each entry of a point: where it stands, what its programs left, and what that comes to."""


def summary(point: Point, entries: Entries) -> dict[str, Any]:
    """Return ``flows``, ``groups`` and ``fairness`` of a point, as a simulation's summary has them."""
    period = _Period(nanoseconds(point.document["warmup"]), nanoseconds(point.document["duration"]))
    flows = [entry for entry in entries if entry[0].part == "flows"]
    connections = [each for _, _, found in flows for each in found.connections]
    tcp = sum(sum(found.delivered) for place, _, found in flows if place.entry["transport"] != "udp")
    out: dict[str, Any] = {
        "flows": {
            **period.ended(connections),
            "mean_concurrent": _tidy(sum(map(period.open_ns, connections)) / period.ns),
            "goodput_bps": _tidy(tcp * 8 / period.s),
            **_repairs(connections),
            "timeout_wait_s": _tidy(sum(each.timeout_wait_s for each in connections)),
        }
    }
    if flows:
        out["groups"], out["fairness"] = _groups(point, flows, period)
    return out


def tables(entries: Entries) -> dict[str, dict[str, Any]]:
    """Return the tables of all users, those of one name put together."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for _, _, gathered in entries:
        for name, table in gathered.tables.items():
            found.setdefault(name, []).append(table)
    return {
        name: {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
        for name, parts in found.items()
    }


class _Period:
    """The measured period."""

    def __init__(self, begins_ns: int, ends_ns: int) -> None:
        self.begins_ns, self.ends_ns = begins_ns, ends_ns
        self.ns = ends_ns - begins_ns
        self.s = self.ns * 1e-9

    def open_ns(self, connection: Connection) -> int:
        """Return for how long of it a connection was open."""
        ended = self.ends_ns if connection.ended_ns is None else min(connection.ended_ns, self.ends_ns)
        return max(0, ended - max(connection.began_ns, self.begins_ns))

    def ended(self, connections: Iterable[Connection]) -> dict[str, int]:
        """Count the connections that ended in it."""
        ends = [each.ended_ns for each in connections if each.ended_ns is not None]
        return {"completed": sum(self.begins_ns < end <= self.ends_ns for end in ends)}


def _repairs(connections: Sequence[Connection]) -> dict[str, int]:
    return {
        "retransmits": sum(each.retransmits for each in connections),
        "timeouts": sum(each.timeouts for each in connections),
    }


def _groups(point: Point, flows: Entries, period: _Period) -> tuple[dict[str, Any], dict[str, Any]]:
    everything = {
        way: [
            bytes_
            for place, _, found in flows
            if place.entry["direction"] == way
            for bytes_ in found.delivered
        ]
        for way in ("down", "up")
    }
    groups = {}
    for (name, known), (_, left, found) in zip(rehearsal.groups(point).items(), flows, strict=True):
        way = known["direction"]
        goodput = sum(found.delivered) * 8 / period.s
        own, other = (0, 1) if way == "down" else (1, 0)
        group = {
            "transport": known["transport"],
            "direction": way,
            "base_rtt_ms": known["base_rtt_ms"],
            "flows": known["flows"],
            "goodput_bps": _tidy(goodput),
            "goodput_per_flow_bps": _tidy(goodput / known["flows"]),
            "share": _ratio(sum(found.delivered), sum(everything[way])),
            "jain": _jain(found.delivered),
            **_packets(left, own),
        }
        if known["transport"] != "udp":
            group |= {
                "reverse": _packets(left, other),
                **period.ended(found.connections),
                **_repairs(found.connections),
            }
            if found.rtt_ns:
                rtt_ms = np.array(found.rtt_ns) * 1e-6
                quantiles = {f"p{q}": _tidy(np.percentile(rtt_ms, q)) for q in (50, 95)}
                group["rtt_ms"] = {"mean": _tidy(rtt_ms.mean()), **quantiles}
        groups[name] = group
    fairness = {
        way: {"flows": len(delivered), "jain": _jain(delivered)}
        for way, delivered in everything.items()
        if delivered
    }
    return groups, fairness


def _packets(left: Sequence[Left], way: int) -> dict[str, Any]:
    sent, dropped = (sum(getattr(each, what)[way] for each in left) for what in ("sent", "dropped"))
    return {"sent_pkts": sent, "dropped_pkts": dropped, "loss": _ratio(dropped, sent)}


def _jain(delivered: Sequence[int]) -> float | None:
    squares = sum(each * each for each in delivered)
    return _tidy(sum(delivered) ** 2 / (len(delivered) * squares)) if squares else None


def _ratio(part: int, whole: int) -> float | None:
    return _tidy(part / whole) if whole else None


def _tidy(number: float) -> float:
    """Return a number with nine significant digits, as the simulator's results have them."""
    return float(f"{float(number):.9g}")
