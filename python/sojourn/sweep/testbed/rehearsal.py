"""What the senders of datagrams do when: the simulator says it, by a run over a path that is in nobody's way.

A source that paces itself does the same whatever the path. So its packets on an ideal path, without delay or
limit, are what a real sender has to send, drawn from the study's own named streams: the same packets at the
same times as in any simulation of the point.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.study import Point
from sojourn.study.inputs import recorded, video

_IDEAL = {"rate": "100Gbit", "queue": {"kind": "fifo", "limit": "10000000pkt"}}
_PATH = {"client-delay": "0ns", "server-delay": "0ns", "down": _IDEAL, "up": _IDEAL}


@dataclass(frozen=True)
class Rehearsal:
    """An entry alone on an ideal path.

    Attributes
    ----------
    packets : dict of ndarray
        ``up`` (bool), ``at_ns`` (i64), ``size`` (u32, at IP), ``flow`` (u32), ``seq`` (u64), ``kind`` (u8): a
        row for each packet, in order of time.
    tables : dict of dict of ndarray
        What applications saw, as of a run; no packet was lost or late. Nothing is left out as warm-up.
    """

    packets: dict[str, NDArray[Any]]
    tables: dict[str, dict[str, NDArray[Any]]]


def rehearse(point: Point, entry: Mapping[str, Any], part: str) -> Rehearsal:
    """Run an entry of a point alone; `part` is ``flows`` or ``users``."""
    document = {
        "duration": point.document["duration"],
        "warmup": "0ns",
        "path": _PATH,
        part: [{key: value for key, value in entry.items() if key not in ("over", "access", "rtt")}],
        "record": {"packets": True},
    }
    told = {**point.names, "seed": point.seed, "document": recorded.fill(document)}
    ran = _core.run(json.dumps(told, ensure_ascii=False), clips=video.packets(document))
    log = ran.pop("packets")
    order = np.argsort(log["arrive_ns"], kind="stable")
    packets = {
        "up": (log["link"] == 1)[order],
        "at_ns": log["arrive_ns"].astype(np.int64)[order],
        "size": log["size_bytes"][order],
        "flow": log["flow"][order],
        "seq": log["seq"][order],
        "kind": log["kind"][order],
    }
    tables = {name: dict(table) for name, table in ran.items() if isinstance(table, dict)}
    return Rehearsal(packets, tables)


def groups(point: Point) -> dict[str, dict[str, Any]]:
    """Return the groups of flows as results name them, with what is known of them before anything runs."""
    document = {key: value for key, value in point.document.items() if key in ("path", "flows")}
    short = {**document, "duration": "1us", "warmup": "0ns"}
    told = {**point.names, "seed": point.seed, "document": recorded.fill(_constant(short))}
    return json.loads(_core.run(json.dumps(told, ensure_ascii=False))["summary"]).get("groups", {})


def _constant(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario whose rates need no trace and no long run."""
    path = json.loads(json.dumps(document["path"]))
    for way in [path, *path.get("hop", ())]:
        for name in ("down", "up"):
            if name in way:
                way[name] = {**way[name], "rate": "1Gbit"}
    return {**document, "path": path}
