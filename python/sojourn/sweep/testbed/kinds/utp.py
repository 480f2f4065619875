"""Bulk transfers over µTP: a torrent of one file between two peers of libtorrent, which is what most run.

Each flow has peers and addresses of its own. Congestion control is libtorrent's: simulated `utp`, which is
libutp's, has the same window but a slower start. Keys of TCP do not matter. LEDBAT is in no TCP, and
µTP's is what of it is in use: flows of `ledbat` run over it, with their target. Payload counts when a
block of 16 KiB is there.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from sojourn.study.units import bytes_of, nanoseconds
from sojourn.sweep.testbed.kind import Connection, Gathered, Place
from sojourn.sweep.testbed.program import FIRST_PAIR, Left, Program, Settings

TRANSPORTS = ("utp", "ledbat")
"""What of a study it is."""

_TARGET_MS = 100
_OF_LEDBAT = (
    "libtorrent's LEDBAT is that of µTP: it moves by up to 3000 bytes a round trip and has a slow start, "
    'which RFC 6817 has not; transport = "utp" simulates it'
)

MOST = 65_536 - FIRST_PAIR
"""Flows of a point: each has a pair of addresses of its own."""

_ENDLESS = 1 << 40
"""Bytes of a file that has no size in the study: more than any run takes."""


def refused(entry: Mapping[str, Any]) -> str | None:
    """Return why an entry cannot be run."""
    if entry["count"] > MOST:
        return f"count: {entry['count']} flows; expected at most {MOST}, for which the testbed has addresses"
    if find_spec("libtorrent") is None:
        need = "is not installed (pip install libtorrent)"
        return f"transport: {entry['transport']} is that of libtorrent on the testbed, which {need}"
    return None


def programs(place: Place) -> list[Program]:
    """Return one program for each flow of the group."""
    entry = place.entry
    size, stop, target = entry["source"].get("size"), entry.get("stop"), entry.get("ledbat-target")
    found = []
    for k in range(entry["count"]):
        flow = {
            "start_ns": place.start_ns(k),
            "stop_ns": None if stop is None else nanoseconds(stop),
            "size": _ENDLESS if size is None else bytes_of(size),
            "target_ms": _TARGET_MS if target is None else max(1, nanoseconds(target) // 1_000_000),
        }
        ends = {
            end: flow | {"sends": (end == "server") == (entry["direction"] == "down")}
            for end in ("client", "server")
        }
        found.append(
            Program("torrent", f"{place.key}.{k}", **ends, settings=Settings(delay_ns=place.delay_ns))
        )
    return found


def gather(place: Place, left: Sequence[Left]) -> Gathered:
    """Return what the flows came to."""
    down = place.entry["direction"] == "down"
    notes = ["µTP's round-trip times and waits for timeouts are not told by libtorrent"]
    if place.entry["transport"] == "ledbat":
        notes.append(_OF_LEDBAT)
    ends = [(one.server, one.client) if down else (one.client, one.server) for one in left]
    return Gathered(
        delivered=[receiver["received"] - receiver["before"] for _, receiver in ends],
        connections=[
            Connection(sender["began_ns"], receiver["ended_ns"], sender["resent"], sender["timeouts"])
            for sender, receiver in ends
            if sender["began_ns"] is not None
        ],
        notes=notes,
        facts={"transport": f"µTP of libtorrent {left[0].client['version']}"} if left else {},
    )
