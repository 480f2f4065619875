"""Windows, rates and queues over time on the testbed: the tables of :mod:`sojourn.results.series`.

Windows, round trips and what was delivered are the kernel's own (`struct tcp_info`), of bulk flows. Queues
are read off the packet log: what the last packet found when it arrived, with that packet, less what has left
since. Packets that a discipline dropped from the queue since then still count, until the next one arrives.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import polars as pl

from sojourn.study.units import nanoseconds
from sojourn.sweep.testbed.kind import Gathered, Place

_STEP_NS = 50_000_000
_MOST_SAMPLES = 12_000
_PACES = ("bbr",)


def step_ns(document: Mapping[str, Any]) -> int | None:
    """Return the time between two samples, as the simulator takes it; None where no series is asked for."""
    record = document.get("record") or {}
    if not record.get("series"):
        return None
    if (asked := record.get("series-step")) is not None:
        return nanoseconds(asked)
    least_ns = ceil(nanoseconds(document["duration"]) / _MOST_SAMPLES)
    return max(_STEP_NS, ceil(least_ns / 1_000_000) * 1_000_000)


def flows(step: int, groups: Sequence[str], gathered: Sequence[tuple[Place, Gathered]]) -> pl.DataFrame:
    """Return the table of flows.

    Parameters
    ----------
    step
        Between two samples, ns.
    groups
        Names of the groups of flows, in the study's order.
    gathered
        What entries left; of each flow's samples: time (ns), window (segments), smoothed round trip (ns, 0:
        none), payload delivered so far (bytes), pacing rate (bit/s).
    """
    rows = []
    for place, found in gathered:
        if place.part != "flows":
            continue
        paces = place.entry["transport"] in _PACES or bool(place.entry.get("pacing"))
        for number, samples in enumerate(found.series):
            before = 0
            for at, cwnd, srtt, arrived, pacing in samples:
                rate = (arrived - before) * 8e9 / step
                pace = float(pacing) if paces else None
                rows.append((at, groups[place.number], number, float(cwnd), srtt or None, rate, pace))
                before = arrived
    schema = {
        "time_ns": pl.UInt64(), "group": pl.Enum(groups), "number": pl.UInt32(), "cwnd_pkts": pl.Float64(),
        "srtt_ns": pl.UInt64(), "rate_bps": pl.Float64(), "pacing_bps": pl.Float64(),
    }  # fmt: skip
    table = pl.DataFrame(rows, schema, orient="row").sort("time_ns", maintain_order=True)
    flow = pl.lit(None, pl.UInt32()).alias("flow")
    return table.select("time_ns", "group", "number", flow, "cwnd_pkts", "srtt_ns", "rate_bps", "pacing_bps")


def queues(step: int, duration_ns: int, log: str, links: Sequence[str]) -> pl.DataFrame:
    """Return the table of queues from a packet log (Parquet), with a row for each link at each instant."""
    times = np.arange(step, duration_ns + 1, step, dtype=np.int64)
    parts = []
    for link in links:
        waiting = _waiting(pl.scan_parquet(log).filter(pl.col("link") == link).collect(), times)
        parts.append(
            pl.DataFrame(
                {"time_ns": times, "link": [link] * len(times), **waiting},
                {"time_ns": pl.UInt64(), "link": pl.Enum(links), "backlog_pkts": pl.UInt32(),
                 "backlog_bytes": pl.UInt64()},
            )
        )  # fmt: skip
    return pl.concat(parts).sort("time_ns", maintain_order=True)


def _waiting(log: pl.DataFrame, times: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return packets and bytes that wait at each time."""
    arrived = log["arrive_ns"].to_numpy().astype(np.int64)
    leaves = log.filter(pl.col("depart_ns").is_not_null()).sort("depart_ns")
    departed = leaves["depart_ns"].to_numpy()
    last = np.searchsorted(arrived, times, "right") - 1
    # Nothing had arrived, nothing waits.
    since = np.where(last >= 0, arrived[last] if len(arrived) else 0, np.iinfo(np.int64).max)
    kept = log["drop_cause"].is_null().to_numpy()
    found = {}
    for name, sizes in (("backlog_pkts", None), ("backlog_bytes", "size_bytes")):
        each = log[sizes].to_numpy().astype(np.int64) if sizes else np.ones(len(log), np.int64)
        left = leaves[sizes].to_numpy().astype(np.int64) if sizes else np.ones(len(leaves), np.int64)
        gone = np.concatenate(([0], np.cumsum(left)))
        stood = log[name].to_numpy().astype(np.int64) + np.where(kept, each, 0)
        after = gone[np.searchsorted(departed, times, "right")] - gone[np.searchsorted(departed, since)]
        waits = np.where(last >= 0, stood[last] - after if len(stood) else 0, 0)
        found[name] = np.maximum(waits, 0)
    return found
