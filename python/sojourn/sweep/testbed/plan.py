"""The plan of a point: the programs of its flows and users, and what is refused before anything runs."""

from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.study import Point, listed
from sojourn.study.links import SIMULATED_HOSTS
from sojourn.sweep.testbed import tcp
from sojourn.sweep.testbed.kind import Kind, Place
from sojourn.sweep.testbed.kinds import SOURCES, USERS
from sojourn.sweep.testbed.program import Program

_ALWAYS = {
    "net.ipv4.tcp_ecn": "2",
    **tcp.receive_buffer(),
    "net.ipv4.tcp_wmem": "4096 16384 33554432",
}
"""What is set whatever a study asks for: the kernel's defaults, with room for any window; ECN by routes."""


KEPT = frozenset({"packets", "losses", "traffic", "series", "series-step"})
"""Of what a study can record: what the packets themselves tell, and the kernel of its connections."""


@dataclass(frozen=True)
class Entry:
    """An entry of flows or users with its kind and its programs."""

    place: Place
    kind: Kind
    programs: tuple[Program, ...]


def plan(point: Point) -> list[Entry]:
    """Return the entries of a point that :func:`refused` has nothing against, with their programs."""
    return [
        Entry(place, kind, tuple(kind.programs(place))) for place, kind in _entries(point) if kind is not None
    ]


def variables(entries: list[Entry]) -> dict[str, str]:
    """Return the variables of the kernel that the programs need; :func:`refused` has seen that they agree."""
    found = dict(_ALWAYS)
    for entry in entries:
        for program in entry.programs:
            found |= program.settings.variables
    return found


def refused(point: Point) -> str | None:
    """Return why a point cannot be run on the testbed: a sentence that begins with a key. None: it can."""
    return next(_refusals(point), None)


def _entries(point: Point) -> Iterator[tuple[Place, Kind | None]]:
    for number, flows in enumerate(point.document.get("flows") or ()):
        yield Place(point, "flows", number), SOURCES.get(flows["source"]["kind"])
    first = 0
    for number, user in enumerate(point.document.get("users") or ()):
        yield Place(point, "users", number, first), USERS.get(user["kind"])
        first += user["count"]


def _refusals(point: Point) -> Iterator[str]:
    document = point.document
    hops = document["path"].get("hop") or ()
    asked: dict[str, tuple[str, str]] = {}
    for key, does in SIMULATED_HOSTS.items():
        if key in document["path"]:
            yield f"path.{key}: how simulated hosts {does}; real ones have their own"
    for place, kind in _entries(point):
        entry, key = place.entry, place.key
        if kind is None:
            where = "source.kind" if place.part == "flows" else "kind"
            what = (entry["source"] if place.part == "flows" else entry)["kind"]
            have = ", ".join(sorted(SOURCES if place.part == "flows" else USERS)) or "none yet"
            yield f"{key}.{where}: the testbed has no {what!r}; it has {have}"
            continue
        if entry.get("access") is not None:
            yield f"{key}.access: the testbed has one path, and no access links of senders"
        over = entry.get("over")
        if over is not None and len(over) < len(hops):
            yield f"{key}.over: on the testbed every packet crosses all hops"
        if place.delay_ns is not None and place.delay_ns < 0:
            yield f"{key}.rtt: {entry['rtt']} is less than the hops' own delays"
        if reason := kind.refused(entry):
            yield f"{key}.{reason}{_instead(place)}"
            continue
        for name, value in tcp.settings(entry, None).variables.items() if tcp.is_asked(entry) else ():
            other, before = asked.setdefault(name, (key, value))
            if before != value:
                yield (
                    f"{key}: {name.rpartition('.')[2]} is one setting for a whole network, and {other} "
                    f"needs {before} where this needs {value}"
                )


def _instead(place: Place) -> str:
    """Return what can be asked in place of a transport that no kernel has."""
    if (nearest := tcp.nearest(place.entry)) is None:
        return ""
    # The place of a flow in the study file is not known here: workloads may have brought it.
    how = f"--set {place.key}.transport={nearest}" if place.part == "users" else f'transport = "{nearest}"'
    return f"; {nearest} is nearest ({how}): simulate that, too, to compare"


def notes(point: Point) -> list[str]:
    """Return what is otherwise on the testbed than in a simulation of a point, in sentences."""
    found = []
    entries = [place.entry for place, _ in _entries(point)]
    if any(tcp.is_asked(entry) and entry.get("stack") != "linux" for entry in entries):
        found.append(
            "connections are this kernel's own TCP, whatever `stack` says; "
            'simulate with stack = "linux" to compare'
        )
    if any(
        entry.get("kind") == "page" and (entry["http"], entry["server"]) == ("3", "rfc") for entry in entries
    ):
        alike = 'simulate with server = "quinn" to compare'
        found.append(f"HTTP/3 is quinn's, which sends streams in turn; {alike}")
    left_out = {key for key, value in point.recorded.items() if value} - KEPT
    if left_out:
        found.append(f"the testbed does not keep what only the engine sees ({listed(sorted(left_out))})")
    return found
