"""Bulk transfers over this kernel's TCP, or over µTP."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.study.units import bytes_of, nanoseconds
from sojourn.sweep.testbed import series, tcp
from sojourn.sweep.testbed.kind import Connection, Gathered, Place
from sojourn.sweep.testbed.kinds import utp
from sojourn.sweep.testbed.program import Left, Program

MOST = 65_536 - 10_000
"""Flows of a group over TCP: `programs/bulk.py` gives each a port of one address, from 10 000 on."""

Look = Sequence[Any]
"""Time, retransmits, timeouts or None, seconds waited for them."""


class Bulk:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        if entry["transport"] in utp.TRANSPORTS:
            return utp.refused(entry)
        if entry["count"] > MOST:
            most = f"one address has ports for {MOST}"
            return f"count: {entry['count']} flows, and {most}; expected several groups, which have one each"
        return tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all flows of the group; over µTP, one for each."""
        entry = place.entry
        if entry["transport"] in utp.TRANSPORTS:
            return utp.programs(place)
        size, stop = entry["source"].get("size"), entry.get("stop")
        flow = {
            "size": None if size is None else bytes_of(size),
            "stop_ns": None if stop is None else nanoseconds(stop),
        }
        flows = [{"start_ns": place.start_ns(k), **flow} for k in range(entry["count"])]
        step = series.step_ns(place.point.document)
        ends = {
            end: {
                "sends": (end == "server") == (entry["direction"] == "down"),
                "flows": flows,
                "step_ns": step,
            }
            for end in ("client", "server")
        }
        return [Program("bulk", place.key, **ends, settings=tcp.settings(entry, place.delay_ns))]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return what the flows came to."""
        if place.entry["transport"] in utp.TRANSPORTS:
            return utp.gather(place, left)
        (found,) = left
        down = place.entry["direction"] == "down"
        sender, receiver = (found.server, found.client) if down else (found.client, found.server)
        began = [flow for flow in sender["flows"] if flow["began_ns"] is not None]
        return Gathered(
            delivered=[
                after - before for after, before in zip(receiver["received"], receiver["before"], strict=True)
            ],
            connections=[measured(flow, place.warmup_ns) for flow in began],
            rtt_ns=[rtt for flow in began for rtt in flow["rtt_ns"]],
            series=[flow["series"] for flow in sorted(began, key=lambda flow: flow["began_ns"])],
        )


def measured(flow: Mapping[str, Any], warmup_ns: int) -> Connection:
    """Return a connection from what its sender left: its beginning and end, and looks at TCP's counts."""
    before: Look = [0, 0, 0, 0.0]
    after: Look = before
    for look in flow["looks"]:
        if look[0] <= warmup_ns:
            before = look
        after = look
    return Connection(
        began_ns=flow["began_ns"],
        ended_ns=flow["ended_ns"],
        retransmits=after[1] - before[1],
        timeouts=(after[2] or 0) - (before[2] or 0),
        timeout_wait_s=after[3] - before[3],
    )
