"""Results as a study leaves them, made by hand, and the answer of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.report.answer import Answer, answer

DELAY = {"fifo": 100.0, "codel": 5.0}
KIND, LIMIT, RATE = "path.down.queue.kind", "path.down.queue.limit", "path.down.rate"


def link(delay: float = 5.0, used: float = 0.9, packets: int = 64) -> dict[str, Any]:
    return {
        "loss": 0.0,
        "utilisation": used,
        "queue_delay_ms": {"mean": delay, "p50": delay, "p95": 2 * delay, "max": 3 * delay},
        "limit": {"packets": packets, "bytes": 1500 * packets, "ms": 0.75 * packets},
    }


def one(
    point: Mapping[str, Any], replication: int = 0, delay: float = 5.0, used: float = 0.9, **heads: Any
) -> dict[str, Any]:
    """Return a result with two links and what `heads` say of users."""
    links = {"down": link(delay, used), "up": link(0.0, 0.1)}
    flows = {"goodput_bps": 0.0}
    return {
        "study": "t",
        "point": dict(point),
        "replication": replication,
        "links": links,
        "flows": flows,
        **heads,
    }


def voice(mos: float) -> dict[str, Any]:
    return {
        "voice": {way: {"mos": {"median": mos, "p5": max(mos - 0.3, 1.0)}} for way in ("talks", "listens")}
    }


def viewers(stalled_pct: float, count: int = 12, rate: float = 3000.0) -> dict[str, Any]:
    clients = {"per_client_rate_kbps": [rate] * count}
    return {
        "adaptive": {"clients_stalled_pct": stalled_pct, "stalls": 0, "average_rate_kbps": rate, **clients}
    }


def browsers(seconds: float, abandoned: float = 0.0) -> dict[str, Any]:
    return {
        "browser": {"plt_s": {"median": seconds, "p95": 2 * seconds}, "abandoned": abandoned, "loads": 200}
    }


def compare(
    choices: Mapping[str, Sequence[Mapping[str, Any]]], axis: str = KIND, document: Any = None
) -> Answer:
    """Return the answer of a study of one axis: for each of its labels the heads of every replication."""
    results = [
        one({axis: label}, replication, **heads)
        for label, each in choices.items()
        for replication, heads in enumerate(each)
    ]
    return answer(results, {axis: list(choices)}, document)


def words(found: Answer) -> list[str]:
    return [verdict.word for verdict in found.verdicts.values()]
