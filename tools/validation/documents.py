"""Study documents of the validation: dumbbells as plain dictionaries, and their TOML."""

from collections.abc import Mapping
from typing import Any

from sojourn import _core
from sojourn.study import Study
from sojourn.study.toml import toml


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


def study(document: Mapping[str, Any]) -> Study:
    """Return a document as a study that can be run."""
    name = document["name"]
    return Study(_core.parse(toml(document), f"{name}.toml", []), f"{name}.toml")
