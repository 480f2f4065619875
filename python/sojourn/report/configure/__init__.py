"""The chosen queue as a router is told of it: in packets, bytes and milliseconds, and as lines of `tc`.

>>> from sojourn.report.configure import tc
>>> print(*tc({"kind": "fq_codel"}, "10mbit", "20ms"), sep="\\n")                      # doctest: +SKIP
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError, counted, spaced
from sojourn.report.configure.tc import Link, lines, rate_text
from sojourn.report.figures.values import upper
from sojourn.results.sizes import ms_text
from sojourn.study import expand, label_text
from sojourn.study.buffers import buffers
from sojourn.study.inputs import trace
from sojourn.study.links import called
from sojourn.study.units import bit_rate, bits_per_second, bytes_of

NAMES = {
    "fifo": "FIFO",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "cobalt": "COBALT",
    "cake": "CAKE",
    "sfq-codel": "SFQ-CoDel",
    "pie": "PIE",
    "fq-pie": "FQ-PIE",
    "dualpi2": "DualPI2",
    "red": "RED",
    "sfq": "SFQ",
    "policer": "policer with a FIFO behind it",
}
_ENDLESS = "without a limit"
_DEVICES = {"up": "WAN", "down": "LAN"}


@dataclass(frozen=True)
class Configured:
    """One link: what its queue is, in words, and how Linux is told."""

    link: str
    device: str
    words: str
    lines: list[str]
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The link, as a heading."""
        return upper(called(self.link))


def tc(queue: Mapping[str, Any], rate: str | None, rtt: str, device: str = "IFACE") -> list[str]:
    """Return the lines of `tc` that give a device a queue.

    Parameters
    ----------
    queue
        As a study file writes it: ``{"kind": "codel", "limit": "1BDP"}``.
    rate
        The rate to keep, as ``10Mbit``; None where the device's own rate is the bottleneck.
    rtt
        Base round-trip time, as ``20ms``: what a limit in bandwidth-delay products counts with.
    device
        The network device whose egress it is.

    Raises
    ------
    StudyError
        The queue, the rate or the time is not what a study file may say.
    """
    link = {"rate": rate or "unlimited", "queue": dict(queue)}
    study = {"name": "tc", "duration": "1s", "path": {"rtt": rtt, "down": link, "up": link}}
    document = json.loads(_core.points(json.dumps(study))[0])["document"]
    return lines(_link(document, "down", buffers(document)["down"])[0], device)[0]


def links_of(path: Mapping[str, Any]) -> tuple[dict[str, Link], dict[str, list[str]]]:
    """Return the links of a path as routers are told of them, and what differs from Linux, by link.

    Raises
    ------
    StudyError
        It is no path that a study file may have.
    """
    study = {"name": "path", "duration": "1s", "path": path}
    document = json.loads(_core.points(json.dumps(study))[0])["document"]
    held = buffers(document)
    links = {way: _link(document, way, held[way])[0] for way in held}
    return links, {way: lines(link)[1] for way, link in links.items()}


def configured(record: Mapping[str, Any], labels: Mapping[str, Any]) -> list[Configured]:
    """Return how each link of a cell of a study is configured, the uplink first.

    Parameters
    ----------
    record
        The stored study.
    labels
        Labels of a cell by axis; the first cell that has them counts, so that axes may be left out.
        Nothing is returned where no cell has them, and for a study that this engine cannot expand.
    """
    wanted = {axis: label_text(label) for axis, label in labels.items()}
    try:
        points = expand({**record["document"], "repeat": 1, "figures": []}, record["study"])
        found = next(
            point
            for point in points
            if all(label_text(point["point"].get(axis)) == label for axis, label in wanted.items())
        )
        document = found["document"]
        trace.settle(document, Path(record.get("folder", ".")))
        held = buffers(document)
    except (_core.StudyError, SojournError, StopIteration):
        return []
    return [_configured(document, link, held[link]) for link in sorted(held, reverse=True)]


def _configured(document: Mapping[str, Any], name: str, held: Mapping[str, Any]) -> Configured:
    link, notes = _link(document, name, held)
    device = _DEVICES.get(name, "IFACE")
    commands, more = lines(link, device)
    kind = link.queue["kind"]
    size = _held(link.queue["limit"], held)
    words = f"{NAMES.get(kind, kind)} {size if size == _ENDLESS else f'holding {size}'}"
    words += f", in front of {bit_rate(link.rate_bps)}" if link.rate_bps is not None else ""
    starved = [held["starved"]] if held.get("starved") else []
    return Configured(name, device, words, commands, [*starved, *notes, *more])


def _link(document: Mapping[str, Any], name: str, held: Mapping[str, Any]) -> tuple[Link, list[str]]:
    """Return a link of a scenario as `tc` is told of it, and what is to be said of its rate."""
    path = document["path"]
    hop, _, way = name.rpartition(".")
    place = next(one for one in path["hop"] if one["name"] == hop) if hop else path
    spec = place[way]
    notes = []
    rate_bps = None
    if isinstance(spec["rate"], str) and spec["rate"] != "unlimited":
        rate_bps = bits_per_second(spec["rate"])
    elif held.get("limit_ms") and held.get("limit_bytes"):
        rate_bps = round(held["limit_bytes"] * 8e3 / held["limit_ms"])
        notes.append(f"the rate of this link varies; {bit_rate(rate_bps)} is its mean")
    elif spec["rate"] != "unlimited":
        notes.append("the rate of this link varies, so no shaper is given here")
    return Link(spec["queue"], held, rate_bps, bytes_of(spec.get("overhead", "0B"))), notes


def _held(written: str, held: Mapping[str, Any]) -> str:
    """Write a limit in packets, bytes and milliseconds, what the study says in front if it is another."""
    packets, size, ms = (held.get(f"limit_{unit}") for unit in ("pkts", "bytes", "ms"))
    if packets is None or size is None:
        return _ENDLESS if written == "unlimited" else written
    amount = f"{counted(packets, 'packet', spaced)} of 1500 bytes, {_size_words(size)}"
    amount += f", {ms_text(ms)} ms at the link's rate" if ms is not None else ""
    return amount if written.endswith("pkt") else f"{written}: {amount}"


def _size_words(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size} bytes"


__all__ = ["NAMES", "Configured", "configured", "links_of", "rate_text", "tc"]
