"""Study documents of the validation: dumbbells as plain dictionaries, and their TOML."""

import json
from collections.abc import Mapping
from typing import Any

from sojourn import _core
from sojourn.study import Study


def rate(bps: float) -> str:
    """Return a rate as study files write it."""
    return f"{bps / 1e6:.10g}Mbit"


def link(bps: float | None, queue: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """Return one direction of the bottleneck; without a rate, a link that nothing waits at."""
    return {"rate": "unlimited" if bps is None else rate(bps), "queue": dict(queue), **keys}


def fifo(packets: int | None) -> dict[str, Any]:
    """Return a FIFO in which so many packets may wait."""
    return {"kind": "fifo", "limit": "unlimited" if packets is None else f"{packets}pkt"}


def bulk(direction: str, count: int, transport: str, **keys: Any) -> dict[str, Any]:
    """Return a group of long flows."""
    group = {"source": {"kind": "bulk"}, "transport": transport, "direction": direction, "count": count}
    return {**group, **keys}


def dumbbell(
    name: str, repeat: int, duration_s: float, warmup_s: float, path: Mapping[str, Any], **keys: Any
) -> dict[str, Any]:
    """Return the study of a path, which goes on as `keys` say (``flows``, ``users``, ``sweep``, …)."""
    times = {"duration": f"{duration_s:g}s", "warmup": f"{warmup_s:g}s"}
    return {"name": name, "seed": 1, "repeat": repeat, **times, "path": dict(path), **keys}


def to_toml(document: Mapping[str, Any]) -> str:
    """Return a study document as TOML, one top-level key a line."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in document.items())


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    # TOML's basic strings, numbers and booleans are JSON's.
    return json.dumps(value, ensure_ascii=False)


def study(document: Mapping[str, Any]) -> Study:
    """Return a document as a study that can be run."""
    name = document["name"]
    return Study(_core.parse(to_toml(document), f"{name}.toml", []), f"{name}.toml")
