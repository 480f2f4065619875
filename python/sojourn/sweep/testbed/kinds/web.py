"""Readers of web pages: a real server, and clients that fetch a page's objects one after another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.study.units import bytes_of, nanoseconds
from sojourn.sweep.testbed import tcp
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.program import Left, Program

LEAST_HEADER = 120
"""Bytes of header that a request or an answer has at least."""


def short_header(entry: Mapping[str, Any]) -> str | None:
    """Return why headers of an entry cannot be as short as it says."""
    for key in ("request", "response-header"):
        if bytes_of(entry[key]) < LEAST_HEADER:
            return f"{key}: {entry[key]} is shorter than a header of HTTP; expected {LEAST_HEADER}B or more"
    return None


class Web:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        if entry["object-restart"]:
            return (
                "object-restart: no kernel can be told to begin every object with the initial window; "
                "set it to false"
            )
        return short_header(entry) or tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all readers of the entry."""
        entry = place.entry

        client = {
            "starts_ns": [place.start_ns(k) for k in range(entry["count"])],
            "objects": [bytes_of(size) for size in entry["objects"]],
            "request": bytes_of(entry["request"]),
            "pause_ns": nanoseconds(entry["pause"]),
        }
        server = {"header": bytes_of(entry["response-header"])}
        return [Program("web", place.key, client, server, tcp.settings(entry, place.delay_ns))]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return a row for each load that began in the measured period."""
        (found,) = left
        served: dict[int, list[dict[str, Any]]] = {}
        for connection in found.server["connections"]:
            served.setdefault(connection["port"], []).append(connection)
        rows = []
        for load in found.client["loads"]:
            # Connections of a port ended in the order in which they began.
            told = served.get(load["port"])
            seen = told.pop(0) if told else {"rtt_ns": 0, "repair_ns": 0, "retransmits": 0}
            if load["start_ns"] >= place.warmup_ns:
                rows.append((load, seen))
        table = {
            "user": np.array([place.first_user + load["user"] for load, _ in rows], dtype=np.uint32),
            "start_ns": np.array([load["start_ns"] for load, _ in rows], dtype=np.uint64),
            "plt_ns": np.array([load["plt_ns"] for load, _ in rows], dtype=np.uint64),
            "complete": np.array([load["complete"] for load, _ in rows], dtype=bool),
            "rtt_ns": np.array([seen["rtt_ns"] for _, seen in rows], dtype=np.uint64),
            "repair_ns": np.array(
                [load.get("repair_ns", 0) + seen["repair_ns"] for load, seen in rows], dtype=np.uint64
            ),
            "retransmits": np.array(
                [load.get("retransmits", 0) + seen["retransmits"] for load, seen in rows], dtype=np.uint32
            ),
        }
        failed = [load["failed"] for load, _ in rows if "failed" in load]
        notes = [f"{len(failed)} page loads failed, at first: {failed[0]}"] if failed else []
        return Gathered(tables={"web": table} if rows else {}, notes=notes)
