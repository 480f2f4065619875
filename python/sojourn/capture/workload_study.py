"""A study around a workload: the link as captures show it, the traffic on it, and what was measured beside.

The rate of a direction is that of its densest second. A link that was filled shows it: its densest seconds
are alike (five of them within 3 %). One that was not carries at least that much, and the study says so. The
buffer is the longest wait that :func:`sojourn.capture.measure` infers of packets towards the place of the
capture, times the rate; where no delay can be inferred it is one bandwidth-delay product, which is said too.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn.capture import CaptureError, measure
from sojourn.capture.workload import Workload
from sojourn.capture.workload_measured import measured
from sojourn.errors import SojournError

_BINS_PER_S = 10
_ALIKE = 0.03
_LEAST_BPS = 10_000
_WIDER = (0.25, 1, 4)
"""Buffers that the study compares, in buffers as seen."""


@dataclass
class Written:
    """The study's files and what to say about them."""

    files: dict[Path, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def study_of(found: Workload, captures: Sequence[Path], output: Path, study: Path) -> Written:
    """Return the study of a workload and the table of what was measured.

    Raises
    ------
    SojournError
        The captures do not tell the two sides of the link apart.
    """
    if not found.sides_by_ttl:
        raise SojournError(
            "hop limits do not tell which packets crossed the link, so no study can be made of it; expected "
            "captures beside a host, or leave out --study"
        )
    written = Written()
    rates = {link: _rate(found.busy[link], found.busy["bin"], link, written.notes) for link in ("down", "up")}
    near = "down" if found.near_are_clients else "up"
    far = "up" if near == "down" else "down"
    if any(f"link {far} was never" in note for note in written.notes) and rates[far] < rates[near]:
        # What never filled must not become the bottleneck.
        rates[far] = rates[near]
        written.notes.append(f"the link {far} gets the rate of the link {near}")
    rtt_s = float(found.connections["rtt_ns"].median() or 0) / 1e9 or 0.05
    waits = _waits(captures)
    buffers = {}
    for link, rate in rates.items():
        bdp = max(2 * 1500, round(rate * rtt_s / 8))
        if link == near and waits and waits["max_ms"] > 0.5:
            buffers[link] = max(2 * 1500, round(waits["max_ms"] / 1e3 * rate / 8))
        else:
            buffers[link] = bdp
            written.notes.append(
                f"no waiting could be seen on the link {link}: its buffer is one bandwidth-delay product"
            )
    limits = [f"{max(3000, round(buffers[near] * share))}B" for share in _WIDER]
    seconds = found.length_ns / 1e9
    label = limits[_WIDER.index(1)]
    table = study.with_name(f"{study.stem}-measured.csv")
    rows = measured(found, near, rates[near], waits)
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(("value", "measured", "how"))
    lines.writerow((f"path.{near}.queue.limit", label, ""))
    lines.writerows((path, f"{number:.9g}", how) for path, number, how in rows)
    written.files[table] = file.getvalue()
    beside = output.parent.absolute() == study.parent.absolute()
    mss = found.connections["a_mss"].mode().drop_nulls()
    written.files[study] = _text(
        {
            "name": study.stem,
            "duration": f"{max(1, round(seconds * 1000))}ms",
            "rtt": f"{max(1, round(rtt_s * 1e6))}us",
            "rates": rates,
            "buffers": buffers,
            "near": near,
            "limits": limits,
            "file": output.name if beside else str(output.absolute()),
            # The option counts what timestamps take of each segment.
            "mss": max(64, int(mss[0]) - 12) if len(mss) else 1448,
            "window": initial_window(found.connections),
            "measured": table.name,
            "notes": written.notes,
        }
    )
    return written


def initial_window(connections: pl.DataFrame) -> int | None:
    """Return the initial window (segments) that senders of most bytes have, if the captures show one."""
    windows = [
        connections.select(
            pl.col(f"{end}_initial_window").alias("window"), pl.col(f"{end}_bytes").alias("bytes")
        )
        for end in "ab"
    ]
    shares = (
        pl.concat(windows).drop_nulls().group_by("window").agg(pl.col("bytes").sum()).sort("bytes", "window")
    )
    return int(shares["window"][-1]) if shares.height else None


def _rate(size: np.ndarray, bins: np.ndarray, link: str, notes: list[str]) -> int:
    """Return the rate of a direction's densest second, and say if the link was never filled."""
    series = np.zeros(int(bins[-1]) + 1 if len(bins) and bins[-1] < 10_000_000 else 0)
    if not len(series):
        return _LEAST_BPS
    series[bins] = size
    whole = series[: len(series) // _BINS_PER_S * _BINS_PER_S].reshape(-1, _BINS_PER_S).sum(axis=1)
    sliding = np.convolve(series, np.ones(min(_BINS_PER_S, len(series))), "valid")
    densest = float(sliding.max())
    rate = max(_LEAST_BPS, round(densest * 8 / min(1.0, len(series) / _BINS_PER_S)))
    if np.sum(whole >= densest * (1 - _ALIKE)) < 5:
        notes.append(
            f"the link {link} was never seen filled: its rate is at least {rate / 1e6:.3g} Mbit/s, that of "
            "the densest second"
        )
    return rate


def _waits(captures: Sequence[Path]) -> Mapping[str, Any] | None:
    """Return the waits of the remote host with most samples, if any could be inferred."""
    try:
        hosts = measure([str(capture) for capture in captures])["hosts"]
    except CaptureError:
        return None
    return max(hosts, key=lambda host: host["samples"], default=None)


def _text(known: Mapping[str, Any]) -> str:
    near, far = known["near"], "up" if known["near"] == "down" else "down"
    links = "\n".join(
        f'{link} = {{ rate = "{known["rates"][link]}bit", queue = {{ kind = "fifo", limit = "{limit}" }} }}'
        for link, limit in ((near, known["limits"][1]), (far, f"{known['buffers'][far]}B"))
    )
    said = "".join(f"# {note}.\n" for note in known["notes"])
    window = f"initial-window = {known['window']}\n" if known["window"] else ""
    return f"""# The traffic of a capture over its link, and over the same link with other buffers.
{said}name     = {json.dumps(known["name"])}
measured = {json.dumps(known["measured"])}
duration = "{known["duration"]}"

[path]
rtt = "{known["rtt"]}"
{links}

[[flows]]
source    = {{ kind = "recorded", file = {json.dumps(known["file"])} }}
transport = "cubic"
direction = "down"
mss       = "{known["mss"]}B"
{window}
[sweep]
"path.{near}.queue.limit" = {json.dumps(known["limits"])}

[record]
flows = true
"""
