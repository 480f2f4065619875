"""Numbers of a result by their dotted path, as ``links.down.queue_delay_ms.mean``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def look_up(result: Mapping[str, Any], path: str) -> Any:
    """Return what a result holds at a dotted path, None where there is nothing.

    A name may have dots of its own, as the link ``home.up``; the shortest that is there is taken.
    """
    found: Any = result
    parts = path.split(".")
    while parts:
        if not isinstance(found, Mapping):
            return None
        for count in range(1, len(parts) + 1):
            if (name := ".".join(parts[:count])) in found:
                break
        else:
            return None
        found, parts = found[name], parts[count:]
    return found


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
