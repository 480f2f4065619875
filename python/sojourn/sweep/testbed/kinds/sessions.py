"""Harpoon's sessions: files of random sizes, fetched one after another or at random times.

A connection is one byte of a request, four bytes of length and the file; who sent it closes first. Sizes and
times are drawn from the session's own stream in the simulator's order, so that the same seed gives the same
transfers. With ``closed-loop`` and ``parallel`` above 1 the simulator's loops of one session draw in turns
that depend on when transfers end; here each takes the next draws in a fixed order.
"""

import heapq
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.study.units import nanoseconds
from sojourn.sweep.testbed import tcp
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.kinds import turns
from sojourn.sweep.testbed.program import Left, Program

_REQUEST = 1
_LENGTH_FIELD = 4


class Sessions:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        return tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all sessions of the group."""
        parallel = place.entry["source"]["parallel"]
        loops = [loop for k in range(place.entry["count"]) for loop in _loops(place, k, parallel)]
        opener = "client" if place.entry["direction"] == "down" else "server"
        return [turns.program(place, loops, opener)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return what the sessions came to; a source is a session with its loops."""
        return turns.gathered(place, left, place.entry["source"]["parallel"])


def _loops(place: Place, k: int, parallel: int) -> list[list[dict[str, Any]]]:
    """Return the connections of a session's loops."""
    source, stream = place.entry["source"], place.stream(k)
    sizes, gaps = (json.dumps(source[name]) for name in ("sizes", "interconnection"))
    within = nanoseconds(place.entry["start-within"])
    stream.uniform()  # the start of sources that have one
    due = [(int(stream.uniform() * within), loop) for loop in range(parallel)]
    heapq.heapify(due)
    before: dict[int, int] = {}
    loops: list[list[dict[str, Any]]] = [[] for _ in range(parallel)]
    while due and due[0][0] < place.duration_ns:
        at, loop = heapq.heappop(due)
        size, gap = stream.size(sizes), stream.time(gaps)
        waits = source["closed-loop"] and loop in before
        when = {"after_ns": at - before[loop]} if waits else {"at_ns": at}
        loops[loop].append({**when, "turns": [[1, _REQUEST, 0], [0, _LENGTH_FIELD + size, 0]]})
        before[loop] = at
        heapq.heappush(due, (at + gap, loop))
    return loops
