"""Sources whose connections go by turns, replayed over real sockets: PackMime, recorded traffic, chirps,
heartbeats.

Their turns are read off a rehearsal: on a path without delay a pause is the source's own, so that the packets
of each connection tell who writes how much, and how long it waits before.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.sweep.testbed import rehearsal, tcp
from sojourn.sweep.testbed.kind import Connection, Gathered, Place
from sojourn.sweep.testbed.program import Left, Program

Loops = Sequence[Sequence[Mapping[str, Any]]]
"""See `programs/turns.py`."""


def program(place: Place, loops: Loops, opener: str) -> Program:
    """Return the program that runs such loops; `opener` is the end that opens the connections."""
    ends = {end: {"opens": end == opener} for end in ("client", "server")}
    return Program(
        "turns",
        place.key,
        **ends,
        settings=tcp.settings(place.entry, place.delay_ns),
        files={"loops.json": json.dumps(loops).encode()},
    )


def gathered(place: Place, left: Sequence[Left], loops_of_source: int = 1) -> Gathered:
    """Return what connections came to; so many loops after one another are of one source."""
    (found,) = left
    down = place.entry["direction"] == "down"
    sender, receiver = (found.server, found.client) if down else (found.client, found.server)
    delivered = [0] * place.entry["count"]
    for loop, got in receiver["delivered"]:
        delivered[min(loop // loops_of_source, len(delivered) - 1)] += got
    repairs = {each["number"]: each for each in sender["connections"]}
    names = ("retransmits", "timeouts", "timeout_wait_s")
    connections = []
    for opened in receiver["connections"]:
        # Requests are sent again, too.
        both = [opened, repairs.get(opened["number"], {})]
        sums = {name: sum(each.get(name, 0) for each in both) for name in names}
        connections.append(Connection(opened["began_ns"], opened["ended_ns"], **sums))
    measured = [
        each for each in repairs.values() if (each["ended_ns"] or place.duration_ns) > place.warmup_ns
    ]
    return Gathered(
        delivered=delivered,
        connections=connections,
        rtt_ns=[each["rtt_ns"] for each in measured if each["rtt_ns"]],
    )


class Turns:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        return tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all connections of the group."""
        opener, connections = _read(place)
        return [program(place, [[each] for each in connections], opener)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return what they came to, all sources of the group as one."""
        found = gathered(place, left, 1 << 30)
        count = place.entry["count"]
        total = sum(found.delivered)
        return Gathered(
            delivered=[total // count + (k < total % count) for k in range(count)],
            connections=found.connections,
            rtt_ns=found.rtt_ns,
        )


_PROMPT = {"initial-window": 100, "delayed-ack": False, "stack": "plain"}
"""Of the rehearsal's connections, which are to be in no application's way."""


def _read(place: Place) -> tuple[str, list[dict[str, Any]]]:
    """Return the end that opens the connections of a source, and the connections, from a rehearsal."""
    heard = rehearsal.rehearse(place.point, {**place.entry, **_PROMPT}, place.part).packets
    kinds = _core.packet_kinds()
    data, control = (heard["kind"] == kinds.index(name) for name in ("data", "control"))
    headers = 52 if place.entry["timestamps"] else 40
    opener, connections = "client", []
    for flow in np.unique(heard["flow"]):
        mine = np.flatnonzero((heard["flow"] == flow) & (data | control))
        opened = bool(heard["up"][mine[0]])
        opener = "client" if opened else "server"
        begun = last = int(heard["at_ns"][mine[0]])
        turns: list[list[int]] = []
        for row in mine[data[mine]]:
            at, by_opener = int(heard["at_ns"][row]), int(bool(heard["up"][row]) == opened)
            if not turns or turns[-1][0] != by_opener or at - last > _APART_NS:
                # The handshake takes a moment of its own.
                turns.append([by_opener, 0, at - last if at - last > _APART_NS else 0])
            turns[-1][1] += int(heard["size"][row]) - headers
            last = at
        if turns:
            connections.append({"at_ns": begun, "turns": turns})
    return opener, connections


_APART_NS = 100_000
"""Packets of one write follow each other at once on the rehearsal's path."""
