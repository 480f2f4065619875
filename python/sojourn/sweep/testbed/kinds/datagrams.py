"""Sources that pace themselves, over UDP: what they send when is the simulator's, see :mod:`.rehearsal`."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.errors import SojournError
from sojourn.study.units import bytes_of
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.program import Left, Program, Settings
from sojourn.sweep.testbed.rehearsal import Rehearsal
from sojourn.sweep.testbed.tcp import MTU

_DYNAMIC = 96
LEAST = 40
"""Bytes at IP of a packet that has room for the RTP header, by which it is told from others."""
ENDS = ("client", "server")
LATE_US = 1000.0
"""A sender that was later than this with one packet in a hundred is said so."""


class Datagrams:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run: its packets are too large, as far as they are not drawn."""
        size = entry["source"].get("size")
        if isinstance(size, Mapping):
            size = size.get("value") if size["kind"] == "fixed" else None
        if isinstance(size, str) and bytes_of(size) > MTU:
            return f"source.size: datagrams of {size} do not fit the testbed's packets of {MTU} bytes"
        return None

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all sources of the group."""
        return [program(place, place.rehearse())]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return what arrived; which of the sources sent it is not told apart."""
        (found,) = left
        at = found.client if place.entry["direction"] == "down" else found.server
        count = place.entry["count"]
        total = at["bytes"]
        shares = [total // count + (k < total % count) for k in range(count)]
        return Gathered(delivered=shares, notes=notes(left))


def program(place: Place, rehearsal: Rehearsal, payload: int = _DYNAMIC, key: str | None = None) -> Program:
    """Return the program that sends the packets of a rehearsal."""
    packets = rehearsal.packets
    if packets["size"].max(initial=0) > MTU:
        most = packets["size"].max()
        raise SojournError(
            f"{place.key}: datagrams of {most} bytes do not fit the testbed's packets of {MTU}"
        )
    schedules = {end: _schedule(packets, packets["up"] == (end == "client")) for end in ENDS}
    told = {
        end: {"receives": len(schedules[other]), "payload": payload}
        for end, other in zip(ENDS, reversed(ENDS), strict=True)
    }
    return Program(
        "datagrams",
        key or place.key,
        **told,
        settings=Settings(delay_ns=place.delay_ns),
        files={f"{end}.npy": _file(schedule) for end, schedule in schedules.items()},
    )


def _schedule(packets: Mapping[str, NDArray[Any]], mine: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.stack([packets["at_ns"][mine], packets["size"][mine].astype(np.int64)], axis=1)


def _file(schedule: NDArray[np.int64]) -> bytes:
    file = io.BytesIO()
    np.save(file, schedule)
    return file.getvalue()


def measure(table: Mapping[str, NDArray[Any]], rehearsal: Rehearsal, left: Left) -> None:
    """Put into a rehearsal's table of packets when each was sent and its one-way delay (ns), −1 if lost.

    The simulator numbers the packets of each user in the order in which they are sent, as its table.
    """
    packets = rehearsal.packets
    sent, delay = fates(packets["up"], left)
    users = users_of(packets["flow"])
    for user in np.unique(table["user"]):
        mine = np.flatnonzero(users == user)
        by_row = mine[np.argsort(packets["seq"][mine], kind="stable")]
        rows = np.flatnonzero(table["user"] == user)
        # What went on when the rehearsal ended, as a call, has packets, and no rows.
        table["sent_ns"][rows] = sent[by_row[: len(rows)]]
        table["delay_ns"][rows] = delay[by_row[: len(rows)]]


def fates(up: NDArray[np.bool_], left: Left) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when each packet of a rehearsal was sent, and its one-way delay (ns), −1 if it was lost."""
    sent = np.empty(len(up), dtype=np.int64)
    arrived = np.empty(len(up), dtype=np.int64)
    for end, other in zip(ENDS, reversed(ENDS), strict=True):
        mine = up == (end == "client")
        sent[mine] = np.load(left.folder / f"sent-{end}.npy")
        arrived[mine] = np.load(left.folder / f"arrived-{other}.npy")
    return np.maximum(sent, 0), np.where((arrived >= 0) & (sent >= 0), arrived - sent, -1)


def users_of(flows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the user of each packet: each has two flows, one for each direction, with numbers in a row."""
    first = int(flows.min(initial=1))
    return (flows.astype(np.int64) - first) // 2


def notes(left: Sequence[Left]) -> list[str]:
    """Return what is to be said about how punctual senders were."""
    late = max(end["late_p99_us"] for each in left for end in (each.client, each.server))
    return [f"one in a hundred datagrams was sent {late / 1e3:.1f} ms late or more"] if late > LATE_US else []
