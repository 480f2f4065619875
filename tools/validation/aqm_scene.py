"""The scene of the AQM study as a study document, and what is read from its results."""

import statistics
from dataclasses import dataclass
from typing import Any

from sojourn.study import Study

from tools.validation.runs import Runs, at_link

REPLICATIONS = 4
HEADER_BYTES = 40
"""Of every packet of the scene: TCP or RTP and UDP, and IP."""
FULL_BYTES = 1024 + HEADER_BYTES

Document = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One discipline at one setting: a number for each replication."""

    delay_ms: tuple[float, ...]
    p95_ms: tuple[float, ...]
    loss: tuple[float, ...]
    utilisation: tuple[float, ...]
    payload: tuple[float, ...]
    """Utilisation by what the packets carry, headers left out."""
    once: tuple[float, ...]
    """Utilisation by what is sent for the first time, retransmissions left out."""
    mos: tuple[float, ...]
    """Mean opinion of the callers as they listen."""
    transmission_ms: float
    """Mean time that a packet takes to be sent."""


def scene() -> Document:
    """Return the study's scene without its sweep and figures."""
    document = Study.load("aqm-target").document
    document["queues"] = {queue["kind"]: queue for queue in document["sweep"]["path.down.queue"]}
    for key in ("description", "sweep", "figures"):
        document.pop(key)
    document["repeat"] = REPLICATIONS
    return document


def tcp_flows(document: Document) -> list[dict[str, Any]]:
    """Return the groups of flows that are TCP's."""
    return [flows for flows in document["flows"] if flows["transport"] != "udp"]


def cells(document: Document, keys: list[Any], runs: Runs) -> dict[Any, Cell]:
    """Return the numbers of a document's points under `keys`, in study order."""
    results = runs.of(document)
    return {key: _cell(results[i * REPLICATIONS : (i + 1) * REPLICATIONS]) for i, key in enumerate(keys)}


def _cell(results: list[dict[str, Any]]) -> Cell:
    links = [result["links"]["down"] for result in results]
    share = [1 - HEADER_BYTES * link["departed_pkts"] / link["departed_bytes"] for link in links]
    repeated = [
        result["flows"]["retransmits"] * (1 - link["loss"]) * FULL_BYTES / link["departed_bytes"]
        for result, link in zip(results, links, strict=True)
    ]
    per_packet = [8e3 * link["departed_bytes"] / link["departed_pkts"] / link["rate_bps"] for link in links]
    scores = [result["voice"]["listens"]["mos"].get("mean") for result in results]
    used = [link["utilisation"] for link in links]
    return Cell(
        delay_ms=tuple(at_link(result, "down", "delay") for result in results),
        p95_ms=tuple(at_link(result, "down", "p95") for result in results),
        loss=tuple(link["loss"] for link in links),
        utilisation=tuple(used),
        payload=tuple(of * part for of, part in zip(used, share, strict=True)),
        once=tuple(of * (1 - part) for of, part in zip(used, repeated, strict=True)),
        mos=tuple(mos for mos in scores if mos is not None),
        transmission_ms=statistics.fmean(per_packet),
    )
