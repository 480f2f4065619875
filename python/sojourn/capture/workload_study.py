"""A study around a workload: the link as captures show it, the traffic on it, and what was measured beside.

Rates are of IP packets, as the simulator's are: what the link layer of a capture adds belongs to the place
where it was taken. The rate of a link is that at which packets left that stood in its queue one behind the
other (:class:`sojourn.capture.workload.Stood`). Where none did for long, or where each flow has its queue and
packets were seen before they waited, it is that of its densest second. A link that was filled shows it:
its densest seconds are alike (five of them within 3 %). Of the link towards the capture that is what came;
of the one away from it what was acknowledged, if most of TCP that went there was, since more may have come
to that link than it carried, and as much of the datagrams. One that was not filled carries at least what
came, or perhaps less than came to it, and is given the rate of the other if that is higher. The study says
so, and of a filled link of which no waits are known, since who sends at a constant rate looks the same. The
buffer is the longest wait that two packets in a row had, as :func:`sojourn.capture.measure` infers it, times
the rate: one alone may be that of an acknowledgement that its receiver held back. Where nothing was lost more
would have found room, and the buffer is a bandwidth-delay product at least. Where no delay can be inferred it
is one. Both are said. Compared are buffers of the link whose
packets waited longer or, where no waits are known, that carried more.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn.capture import CaptureError, measure
from sojourn.capture.workload import Stood, Workload
from sojourn.capture.workload_measured import LEAST_PKTS, measured, segments
from sojourn.errors import SojournError
from sojourn.study.units import bit_rate

_BINS_PER_S = 10
_ALIKE = 0.03
_STOOD = 2
"""Full packets, at the rate that was seen: where none waited for as many, what sent was what was alike."""
_LOST, _SELDOM = 10, 0.5
"""Segments sent again, and the share of the longest wait, by which a queue looks as if it dropped early."""
_FEWEST = 5
"""Seconds that must be alike where a link was filled."""
_NEARLY, _NEARLY_ALL = 0.05, 0.8
"""How far seconds of acknowledgements are from their middle where a link was filled, and how many of them."""
_MOST = 0.7
"""Of the bytes sent away from the capture: if fewer were acknowledged, other traffic shared the link."""
_LONGEST_NS = 366 * 86400 * 10**9
"""The longest duration of a study."""
_LEAST_BPS = 10_000
_STANDING_S = 0.1
"""Where packets stood in a queue for less in all, they tell no rate (chosen: docs/workload-method.md)."""
_SEGMENTS = (64, 64_000)
"""Segment sizes that a study may have; that of Linux's loopback is 65,483 bytes."""
_RTT_S = 0.05
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
        The captures do not tell the two sides of the link apart, or last no time, or longer than any study.
    """
    if not found.length_ns:
        raise SojournError(
            "all frames of the captures have the same time, which tells neither rates nor waits, so no study "
            "can be made of them; expected captures that last, or leave out --study"
        )
    if found.length_ns > _LONGEST_NS:
        raise SojournError(
            f"the first frame is {found.length_ns / 86400e9:.0f} days before the last, so no study can be "
            "made of the captures; expected captures of 366 days at most, or leave out --study"
        )
    if not found.sides_by_ttl:
        raise SojournError(
            "hop limits do not tell which packets crossed the link, nor do times of answers, so no study can "
            "be made of it; expected captures beside a host, or leave out --study"
        )
    written = Written()
    near = "down" if found.near_are_clients else "up"
    far = "up" if near == "down" else "down"
    waits = _waits(captures, found, near, far)
    waited_ms = {link: _longest_ms(found, link) or float(wait["max_ms"]) for link, wait in waits.items()}
    rates = _rates(found, near, far, waited_ms, written.notes)
    rtt_s = float(found.connections["rtt_ns"].median() or 0) / 1e9
    if not rtt_s:
        rtt_s = _RTT_S
        written.notes.append(f"no round trip was seen: the path's is {1000 * rtt_s:g} ms, a choice")
    swept = max((near, far), key=lambda link: (waited_ms.get(link, 0.0), found.busy[link].sum()))
    buffers = _buffers(found, rates, rtt_s, waited_ms, written.notes)
    written.notes += _early(found, waits, waited_ms)
    # Shares of a small buffer may be one size.
    limits = list(dict.fromkeys(f"{max(3000, round(buffers[swept] * share))}B" for share in _WIDER))
    seconds = found.length_ns / 1e9
    table = study.with_name(f"{study.stem}-measured.csv")
    rows = measured(found, near, rates[near], waits)
    written.files[table] = _table((f"path.{swept}.queue.limit", f"{buffers[swept]}B", ""), rows)
    beside = output.parent.absolute() == study.parent.absolute()
    mss = found.connections["a_mss"].mode().drop_nulls().sort()
    written.files[study] = _text(
        {
            "name": study.stem,
            "duration": f"{max(1, round(seconds * 1000))}ms",
            "rtt": f"{max(1, round(rtt_s * 1e6))}us",
            "rates": rates,
            "buffers": buffers,
            "swept": swept,
            "limits": limits,
            "file": output.name if beside else str(output.absolute()),
            # The option counts what timestamps take of each segment.
            "mss": min(max(_SEGMENTS[0], int(mss[0]) - 12), _SEGMENTS[1]) if len(mss) else 1448,
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


def _rates(
    found: Workload, near: str, far: str, waited_ms: Mapping[str, float], notes: list[str]
) -> dict[str, int]:
    """Return the rates of both links; one that was not filled, and had no queue, has the other's at least."""
    seen = {link: _rate(found.busy[link], found.busy["bin"]) for link in (near, far)}
    if carried := _carried_bps(found, far):
        seen[far] = carried, True, 1.0
    standing = {link: bps for link in (near, far) if (bps := _standing_bps(found, link, near, seen[link][0]))}
    rates = {}
    for link, other in (("down", "up"), ("up", "down")):
        rates[link], filled, seconds = seen[link]
        if link in standing:
            rates[link] = standing[link]
            if not filled:
                carried, stood_s = bit_rate(rates[link], 3), found.stood[link].time_ns / 1e9
                notes.append(
                    f"the link {link}: it was not always filled; it carried {carried} in the {stood_s:.3g} s "
                    "in which packets stood in its queue"
                )
            continue
        full_ms = _STOOD * 12_000e3 / rates[link]
        # Where nothing is known of waits, seconds that are alike have to do.
        if filled and waited_ms.get(link, full_ms) >= full_ms:
            if link not in waited_ms:
                notes.append(
                    f"the link {link}: taken for filled at {bit_rate(rates[link], 3)}, as its seconds "
                    "are alike; no waits are known, and who sends at a constant rate looks the same"
                )
            continue
        # A study has this much at least, whatever came.
        most = "at most " if rates[link] == _LEAST_BPS else ""
        came = most + bit_rate(rates[link], 3)
        held = "were captured" if found.length_ns >= 1e9 / _BINS_PER_S else "hold the capture"
        densest = "the densest second" if seconds == 1 else f"the {seconds:g} s that {held}"
        if not found.busy[link].any():
            said = "nothing was seen on it"
        elif link == near and most:
            said = f"it was never seen filled; {came} came over it in {densest}, and it may carry more"
        elif link == near:
            said = f"it was never seen filled and carries at least {came}, as in {densest}"
        else:
            said = f"it was never seen filled; {came} came to it in {densest}, and it may have carried less"
        # What never filled must not become the bottleneck.
        if waited_ms.get(link, 0.0) < full_ms:
            rates[link] = max(rates[link], standing.get(other, seen[other][0]))
        why = f", as the link {other}" if rates[link] > seen[link][0] else ""
        notes.append(f"the link {link}: {said}; the study has {bit_rate(rates[link], 3)}{why}")
    return rates


def _standing_bps(found: Workload, link: str, near: str, came_bps: int) -> int | None:
    """Return what a link carried while packets stood in its queue, if they did for long enough."""
    stood = found.stood.get(link, Stood())
    if stood.time_ns < _STANDING_S * 1e9:
        return None
    carried_bps = stood.bytes * 8e9 / stood.time_ns
    if link != near:
        # What was lost came to the queue too.
        of = segments(found.connections.filter("tcp"), link)
        carried_bps *= 1 - of.lost / max(1, of.seen)
    # More than that came over it: what packets seemed to wait was no queue of this link.
    if carried_bps < _LEAST_BPS or (link == near and carried_bps < (1 - _ALIKE) * came_bps):
        return None
    return round(carried_bps)


def _longest_ms(found: Workload, link: str) -> float:
    return found.stood.get(link, Stood()).longest_ns / 1e6


def _buffers(
    found: Workload,
    rates: Mapping[str, int],
    rtt_s: float,
    waited_ms: Mapping[str, float],
    notes: list[str],
) -> dict[str, int]:
    """Return the bytes that the queue of each link holds: of its longest wait, or of a round trip."""
    buffers = {}
    tcp = found.connections.filter("tcp")
    for link, rate in rates.items():
        waited, one = (max(2 * 1500, round(s * rate / 8)) for s in (waited_ms.get(link, 0.0) / 1e3, rtt_s))
        buffers[link] = waited
        of = segments(tcp, link)
        if waited_ms.get(link, 0.0) <= 0.5:
            buffers[link] = one
            notes.append(
                f"no waiting could be seen on the link {link}: its buffer is one bandwidth-delay product"
            )
        elif of.seen >= LEAST_PKTS and not of.lost and one > waited:
            buffers[link] = one
            notes.append(
                f"nothing was lost on the link {link}, so its buffer holds more than the {waited} bytes that "
                "waited at most: it is one bandwidth-delay product"
            )
        elif (
            of.seen < LEAST_PKTS
            and one > waited
            and found.stood.get(link, Stood()).time_ns < _STANDING_S * 1e9
        ):
            # As of acknowledgements that meet each other now and then.
            buffers[link] = one
            notes.append(
                f"packets hardly stood in the queue of the link {link}, which does not tell how much its "
                "buffer holds: it is one bandwidth-delay product"
            )
    return buffers


def _early(
    found: Workload, waits: Mapping[str, Mapping[str, Any]], waited_ms: Mapping[str, float]
) -> Iterable[str]:
    """Say of which links packets were lost while their queue was hardly ever long."""
    tcp = found.connections.filter("tcp")
    for link, way in waits.items():
        if segments(tcp, link).lost >= _LOST and way.get("p95_ms", math.inf) < _SELDOM * waited_ms[link]:
            yield (
                f"the link {link}: packets were lost though 95 in 100 waited for less than half of the "
                "longest wait; it may drop before it is full (CoDel, PIE) or have a queue for each flow "
                "(FQ-CoDel), and the study has FIFO queues"
            )


def _table(first: tuple[str, str, str], rows: Iterable[tuple[str, float, str]]) -> str:
    """Return the table of what was measured, the axis of the study in its first row."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(("value", "measured", "how"))
    lines.writerow(first)
    lines.writerows((path, f"{number:.9g}", how) for path, number, how in rows)
    return file.getvalue()


def _carried_bps(found: Workload, far: str) -> int | None:
    """Return the rate of a link that was filled away from the capture, by what was acknowledged, if it shows.

    A loss holds back acknowledgements, which then come at once: the capture is cut into ten pieces of a
    second or more each, and the middle of the busier half is taken, if nearly all of that half are alike.
    """
    mss = found.connections["a_mss"].mode().drop_nulls().sort()
    full = int(mss[0]) if len(mss) else 1460
    # IP and TCP, and the timestamps that the option leaves out.
    carried = found.busy["acknowledged"] * ((full + 40) / (full - 12))
    datagrams = found.busy["datagrams"]
    came = found.busy[far].sum() - datagrams.sum()
    share = min(1.0, carried.sum() / came) if came else 0.0
    seconds = _series(carried + share * datagrams, found.busy["bin"], whole=True)
    if (long := len(seconds) // (2 * _FEWEST)) < 1 or share < _MOST:
        return None
    pieces = seconds[: len(seconds) // long * long].reshape(-1, long).mean(axis=1)
    busier = np.sort(pieces)[len(pieces) // 2 :]
    middle = float(np.median(busier))
    alike = np.mean(np.abs(busier - middle) <= _NEARLY * middle)
    return round(middle * 8) if alike >= _NEARLY_ALL and middle * 8 > _LEAST_BPS else None


def _series(size: np.ndarray, bins: np.ndarray, *, whole: bool) -> np.ndarray:
    """Return bytes in each bin, or in each whole second; nothing where a capture lasts for weeks."""
    series = np.zeros(int(bins[-1]) + 1 if len(bins) and bins[-1] < 10_000_000 else 0)
    if len(series):
        series[bins] = size
    return (
        series[: len(series) // _BINS_PER_S * _BINS_PER_S].reshape(-1, _BINS_PER_S).sum(axis=1)
        if whole
        else series
    )


def _rate(size: np.ndarray, bins: np.ndarray) -> tuple[int, bool, float]:
    """Return the rate of a direction's densest second, whether the link was filled, and how long that is."""
    series, whole = (_series(size, bins, whole=whole) for whole in (False, True))
    if not len(series):
        return _LEAST_BPS, False, 1.0
    sliding = np.convolve(series, np.ones(min(_BINS_PER_S, len(series))), "valid")
    densest = float(sliding.max())
    seconds = min(1.0, len(series) / _BINS_PER_S)
    # Seconds in which nothing came are alike, too.
    filled = densest > 0 and bool(np.sum(whole >= densest * (1 - _ALIKE)) >= _FEWEST)
    return max(_LEAST_BPS, round(densest * 8 / seconds)), filled, seconds


def _hosts(found: Workload) -> set[str]:
    """Return the addresses on the far side of the link."""
    opens = pl.col("client_opens") != found.near_are_clients
    far = pl.when(opens).then(pl.col("opener")).otherwise(pl.col("acceptor"))
    return set(found.connections.select(far.cast(pl.String)).to_series())


def _waits(captures: Sequence[Path], found: Workload, near: str, far: str) -> dict[str, Mapping[str, Any]]:
    """Return the waits on each link of the far host with most samples, as far as they could be inferred."""
    try:
        hosts = measure([str(capture) for capture in captures])["hosts"]
    except CaptureError:
        return {}
    far_hosts = _hosts(found)
    ways: dict[str, list[Mapping[str, Any]]] = {near: [], far: []}
    for host in hosts:
        if host["remote"] not in far_hosts:
            continue
        ways[near] += [host] if host["samples"] else []
        ways[far] += [host["to_remote"]] if isinstance(host["to_remote"], Mapping) else []
    return {link: max(one, key=lambda way: way["samples"]) for link, one in ways.items() if one}


def _text(known: Mapping[str, Any]) -> str:
    swept = known["swept"]
    links = "\n".join(
        f'{link} = {{ rate = "{known["rates"][link]}bit", queue = {{ kind = "fifo", limit = "{limit}B" }} }}'
        for link, limit in sorted(known["buffers"].items(), key=lambda item: item[0] != swept)
    )
    what = "The traffic of a capture over its link, and over the same link with other buffers."
    said = " ".join([what, *(f"{note[0].upper()}{note[1:]}." for note in known["notes"])])
    window = f"initial-window = {known['window']}\n" if known["window"] else ""
    return f"""name     = {json.dumps(known["name"])}
description = {json.dumps(said)}
measured = {json.dumps(known["measured"])}
duration = "{known["duration"]}"

[path]
# Rates are of IP packets. Where the link counts more for each packet, such as 14 bytes of Ethernet, write
# overhead = "14B" beside the link's own rate.
rtt = "{known["rtt"]}"
{links}

[[flows]]
source    = {{ kind = "recorded", file = {json.dumps(known["file"])} }}
# Which congestion control ran, and on which system, is a choice: Linux's CUBIC, but BBR for senders that the
# capture shows not to send less at losses, unless the source has transport = "group". For others, divide the
# file and give each part a group (docs/workload.md).
transport = "cubic"
stack     = "linux"
direction = "down"
mss       = "{known["mss"]}B"
{window}
[sweep]
"path.{swept}.queue.limit" = {json.dumps(known["limits"])}

[record]
flows = true
"""
