"""Numbers of a result by their dotted path, as ``links.down.queue_delay_ms.mean``."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def look_up(result: Mapping[str, Any], path: str) -> Any:
    """Return what a result holds at a dotted path, None where there is nothing.

    Names may have dots themselves, as the link in ``links.home.up.loss``. A number that nothing stands behind
    is none: a queue that nothing left is not short, one that nothing came to does not lose none, who never
    saw a picture is none without stalls, and where there are no connections, none has a goodput of 0.
    """
    return None if _unseen(result, path) else _found(result, path.split("."))


_COUNTED = ("arrived_pkts", "departed_pkts")
"""The packets that a loss, and a wait, is of."""
_STALLS = ("adaptive.clients_stalled_pct", "adaptive.stalls", "adaptive.stall_s")


def _unseen(result: Mapping[str, Any], path: str) -> bool:
    if path in _STALLS:
        viewers = _found(result, ["adaptive", "clients"]) or ()
        return bool(viewers) and all(viewer.get("play_s") is None for viewer in viewers)
    if path == "flows.goodput_bps":
        return not has_connections([result])
    waits = ".queue_delay_ms." in path
    link = link_of(path) if waits or (path.startswith("links.") and path.endswith(".loss")) else None
    return link is not None and _found(result, ["links", link, _COUNTED[waits]]) == 0


def has_connections(results: Iterable[Mapping[str, Any]]) -> bool:
    """Say whether a result has background connections, which its numbers `flows` are of.

    Without any they are 0, which beside datagrams that arrived would be taken for theirs.

    >>> has_connections([{"groups": {"calls": {"transport": "udp"}}, "flows": {"goodput_bps": 0.0}}])
    False
    """
    return any(
        any((result.get("flows") or {}).values())
        or any(group["transport"] != "udp" for group in (result.get("groups") or {}).values())
        for result in results
    )


def _found(value: Any, parts: list[str]) -> Any:
    if not parts:
        return value
    if not isinstance(value, Mapping):
        return None
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if name in value and (found := _found(value[name], parts[end:])) is not None:
            return found
    return None


def link_of(path: str) -> str | None:
    """Return the link that a path of a result is about: ``home.up`` of ``links.home.up.loss``, else None."""
    root, _, rest = path.partition(".")
    parts = rest.split(".")
    if root not in ("links", "losses") or not rest:
        return None
    # A hop may be called `access`; its links are then `access.down` and `access.up`.
    hop = parts[0] not in ("down", "up") and parts[1:2] in (["down"], ["up"])
    ends = [1] if hop else [place for place, part in enumerate(parts[:2]) if part in ("down", "up", "access")]
    return ".".join(parts[: ends[0] + 1]) if ends else None


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Iterate over the dotted paths of all numbers (and lists of numbers) of a result."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from paths(item, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, int | float | list) and not isinstance(value, bool):
        yield prefix


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the scalars of nested objects under dotted names; lists are left out."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat |= flatten(item, f"{prefix}{key}.")
        elif not isinstance(item, list):
            flat[prefix + key] = item
    return flat
