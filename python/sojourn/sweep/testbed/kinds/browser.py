"""People who browse: a Chromium without a window loads the study's pages, reads them, and goes on.

Which page comes when and how long it is read is the simulated users' lot (their run alone on an ideal
path); the set of pages is theirs too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.qoe.browser import ABANDONED, COMPLETE, UNDER_WAY
from sojourn.study.units import bytes_of, nanoseconds
from sojourn.sweep.testbed import tcp
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.kinds.web import short_header
from sojourn.sweep.testbed.program import Left, Program
from sojourn.sweep.testbed.programs import chromium

CONNECTIONS = 6
"""That browsers open to a host, by HTTP/1.1."""

_OBJECTS, _HTML, _WEIGHT_SIGMA, _CORRELATION = (4.33, 0.73), (30_000.0, 1.0), 1.5, 0.618
FATES = {"complete": COMPLETE, "abandoned": ABANDONED, None: UNDER_WAY}
_LEAST, _MOST, _MOST_OBJECTS = 500.0, 100e6, 1000


def without_browser() -> str | None:
    """Return why no page can be loaded."""
    reason = chromium.missing()
    return reason and f"kind: pages are loaded by a browser on the testbed, and {reason}"


class Browser:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        if (reason := without_browser()) is not None:
            return reason
        if entry["connections"] != CONNECTIONS:
            return f"connections: a browser opens {CONNECTIONS} to a host, not {entry['connections']}"
        return short_header(entry) or tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all users of the entry."""
        entry = place.entry
        if not entry["count"]:
            return []
        lot = place.rehearse().tables.get("browser", {})
        users = []
        for k in range(entry["count"]):
            mine = lot["user"] == k
            start = lot["start_ns"][mine].astype(np.int64)
            ended = start + lot["plt_ns"][mine].astype(np.int64)
            dwell = np.append(start[1:] - ended[:-1], 0).tolist()
            loads = list(zip(lot["page"][mine].tolist(), dwell, strict=True))
            users.append({"start_ns": int(start[0]) if loads else place.duration_ns, "loads": loads})
        client = {"users": users, "patience_ns": nanoseconds(entry["patience"])}
        server = {"header": bytes_of(entry["response-header"]), "pages": pages(entry)}
        return [Program("browser", place.key, client, server, tcp.settings(entry, place.delay_ns))]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return a row for each load that began in the measured period."""
        rows = [load for found in left for load in found.client["loads"]]
        rows = [load for load in rows if load["start_ns"] >= place.warmup_ns]
        if not rows:
            return Gathered()
        sizes = [sum(objects) for objects in pages(place.entry)]
        table = {
            "user": np.array([place.first_user + load["user"] for load in rows], dtype=np.uint32),
            "page": np.array([load["page"] for load in rows], dtype=np.uint32),
            "bytes": np.array([sizes[load["page"]] for load in rows], dtype=np.uint64),
            "start_ns": np.array([load["start_ns"] for load in rows], dtype=np.uint64),
            "plt_ns": np.array([load["plt_ns"] for load in rows], dtype=np.uint64),
            "fate": np.array([FATES[load["fate"]] for load in rows], dtype=np.uint8),
        }
        facts = {"browser": "Chromium without a window, HTTP/1.1"}
        return Gathered(tables={"browser": table}, notes=unset(place.entry), facts=facts)


def unset(entry: Mapping[str, Any]) -> list[str]:
    """Return what of an entry's keys a browser's own sockets do not follow, a sentence each."""
    if (window := bytes_of(entry["receive-window"])) == tcp.WINDOW:
        return []
    return [f"a browser's sockets are its own: receive-window = {window} bytes is not set at its end"]


def pages(entry: Mapping[str, Any]) -> list[list[int]]:
    """Return the objects of each page of the set, the HTML first, in bytes: what the simulated users load."""
    if (objects := entry.get("objects")) is not None:
        return [[bytes_of(size) for size in objects]]
    stream = _core.Stream(0, 0, "pages")
    median, (below, above) = bytes_of(entry["page-median"]), entry["page-sigma"]

    def normal() -> float:
        radius = math.sqrt(-2.0 * math.log(1.0 - stream.uniform()))
        return radius * math.cos(math.tau * stream.uniform())

    found = []
    for _ in range(entry["pages"]):
        z = normal()
        size = min(max(median * math.exp(z * (below if z < 0.0 else above)), _LEAST), _MOST)
        y = _CORRELATION * z + math.sqrt(1.0 - _CORRELATION * _CORRELATION) * normal()
        count = min(max(math.floor(math.exp(_OBJECTS[0] + _OBJECTS[1] * y) + 0.5), 1), _MOST_OBJECTS)
        html = min(_HTML[0] * math.exp(_HTML[1] * normal()), size)
        weights = [math.exp(_WEIGHT_SIGMA * normal()) for _ in range(count - 1)]
        total = sum(weights)
        rest = [int(max((size - html) * weight / total, 1.0)) for weight in weights]
        found.append([int(html if weights else size), *rest])
    return found
