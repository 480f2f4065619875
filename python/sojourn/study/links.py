"""The links of a scenario: their names, and where its document has them.

A path with one queue each way has the links ``down`` and ``up``; one with hops has ``home.down``,
``home.up`` and so on. All access links of a group of flows count as one, ``NAME.access``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.study.units import nanoseconds

WAYS = ("down", "up")
"""The links of a path with one queue each way, in the order of the packet log's codes."""
SIMULATED_HOSTS = {"jitter": "answer", "reading": "read"}
"""Keys of a path that say how simulated hosts behave, and what they do: real ones are not asked."""


def links(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the links of a path: their names, and their tables in the document."""
    path = document.get("path") or {}
    for way in WAYS:
        if isinstance(path.get(way), dict):
            yield way, path[way]
    for hop in path.get("hop") or ():
        for way in WAYS:
            if isinstance(hop.get(way), dict):
                yield f"{hop['name']}.{way}", hop[way]


def access_links(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Iterate over the tables of access links."""
    for flows in document.get("flows") or ():
        if isinstance(flows.get("access"), dict):
            yield flows["access"]


def way_of(link: str) -> str:
    """Return ``down`` or ``up``, the direction of a link of the path, or ``access``."""
    return link.rpartition(".")[2]


def hop_of(link: str) -> str | None:
    """Return the name of a link's hop, None on a path with one queue each way."""
    return link.rpartition(".")[0] or None


def called(link: str) -> str:
    """Name a link in a sentence: ``uplink``, ``home uplink``, ``long access links``."""
    hop, way = hop_of(link), way_of(link)
    name = "access links" if way == "access" else f"{way}link"
    return f"{hop} {name}" if hop else name


def crosses(entry: Mapping[str, Any], link: str) -> bool:
    """Say whether a group of flows or users has a link's hop on its way."""
    over, hop = entry.get("over"), hop_of(link)
    return over is None or hop is None or hop in over


def base_rtt_ns(document: Mapping[str, Any]) -> int:
    """Return the base round-trip time over the whole path, without access links."""
    path = document["path"]
    delays = [path["client-delay"], path["server-delay"], *(hop["delay"] for hop in path.get("hop") or ())]
    return 2 * sum(map(nanoseconds, delays))
