"""The scene of the AQM study with one thing changed at a time: what it leaves open, and its own variants."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.validation import aqm_peers, aqm_scene, documents
from tools.validation.aqm_scene import Document

CALIBRATED_MS = {"red": 10, "pie": 10, "codel": 35}
DROPTAIL_PACKETS = 400
RATES = ("0.5Mbit", "2Mbit", "3.5Mbit")
FLUCTUATING = {
    "choose": ["0.5Mbit", "1Mbit", "1.5Mbit", "2Mbit", "2.5Mbit", "3Mbit", "3.5Mbit"],
    "every": ["10ms", "30ms"],
}


@dataclass(frozen=True)
class Variation:
    """One thing that is done otherwise than in the study files."""

    name: str
    kinds: tuple[str, ...] = ("red", "pie", "codel")
    change: Callable[[Document], None] = lambda document: None
    keys: Mapping[str, Any] | None = None
    """Keys of the queue."""

    @property
    def of_scene(self) -> bool:
        """Whether it is the scene that changes, and not a queue."""
        return self.keys is None


def _tcp(**keys: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        for flows in aqm_scene.tcp_flows(document):
            flows.update(_dashed(keys))

    return change


def _never_pause(document: Document) -> None:
    for user in document["users"]:
        user.pop("talk-spurts")


def _whole_web(document: Document) -> None:
    for flows in document["flows"]:
        flows["source"].pop("preset", None)


def _dashed(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys as study files write them."""
    return {key.replace("_", "-"): value for key, value in keys.items()}


def _pie(name: str, **keys: Any) -> Variation:
    return Variation(name, ("pie",), keys=_dashed(keys))


VARIATIONS = {
    "study": Variation("as in the study files"),
    "delayed-acks": Variation("receivers delay acknowledgements (40 ms)", change=_tcp(delayed_ack=True)),
    "rto": Variation("retransmission timers start at 1 s (RFC 6298)", change=_tcp(initial_rto="1s")),
    "windows": Variation("windows of at most 32 kB", change=_tcp(receive_window=f"{32 << 10}B")),
    "no-pauses": Variation("callers never pause", change=_never_pause),
    "whole-web": Variation("web as the model has it (0.45 Mb/s)", change=_whole_web),
    "mean-packet": Variation("ARED's mean packet 1000 bytes", ("red",), keys={"mean-packet": "1000B"}),
    "codel-2013": Variation("CoDel as in ns-2.35 (2013)", ("codel",), keys={"variant": "ns2_2013"}),
    "codel-rfc8289": Variation("CoDel of RFC 8289", ("codel",), keys={"variant": "rfc8289"}),
}
PIE_VARIATIONS = {
    "pie-packets": _pie("backlog counted in packets of 500 bytes", **aqm_peers.IN_PACKETS),
    "pie-packets-1000": _pie("backlog counted in packets of 1000 bytes", in_packets=True),
    "pie-timestamps": _pie("delay by timestamps, not by a departure rate", delay="timestamps"),
    "pie-threshold": _pie("departure rate over 16 kB", rate_threshold="16384B"),
    "pie-weight": _pie("newest departure rate weighs 1/8", rate_weight=0.125),
    "pie-update": _pie("updates every 15 ms", update="15ms"),
    "pie-burst": _pie("no burst allowed", burst="1ms"),
    "pie-cap": _pie("no cap of 2 % on a rise", cap=False),
    "pie-by-size": _pie("large packets are dropped more", by_size=True),
    "pie-derandomise": _pie("drops kept apart (RFC 8033)", derandomise=True),
    "pie-ns3": Variation("RFC 8033's steps, nothing else (as ns-3)", ("pie",), keys=aqm_peers.NS3_PIE),
    "pie-rfc8033": Variation("RFC 8033's PIE", ("pie",), keys={"variant": "rfc8033"}),
    "pie-linux": Variation("Linux's PIE", ("pie",), keys={"variant": "linux"}),
}
FROM_START = Variation("warm-up included", change=lambda document: document.update(warmup="0s"))
ALL_VARIATIONS = {**VARIATIONS, **PIE_VARIATIONS, "from-start": FROM_START}


def targets(kind: str) -> tuple[int, int, int]:
    """Return a discipline's targets in milliseconds: low end, calibrated, high end."""
    return 2, CALIBRATED_MS[kind], 50


def _changed(key: str) -> tuple[Document, dict[str, Any]]:
    """Return the scene of a variation, and the study's queues by kind."""
    document = aqm_scene.scene()
    queues = document.pop("queues")
    ALL_VARIATIONS[key].change(document)
    return document, queues


def variation(key: str) -> tuple[Document, list[tuple[str, int]]]:
    """Return the study document of a variation, and the discipline and target of each of its points."""
    varied = ALL_VARIATIONS[key]
    document, queues = _changed(key)
    cells = [(kind, target) for kind in varied.kinds for target in targets(kind)]
    axis = [{**queues[kind], "target": f"{target}ms", **(varied.keys or {})} for kind, target in cells]
    return {**document, "name": f"aqm-{key}", "sweep": {"path.down.queue": axis}}, cells


def droptail(key: str, packets: int = DROPTAIL_PACKETS) -> Document:
    """Return the study document of DropTail in the scene of a variation."""
    document, _ = _changed(key)
    document["path"]["down"]["queue"] = documents.fifo(packets)
    return {**document, "name": f"aqm-droptail-{key}" + (f"-{packets}" * (packets != DROPTAIL_PACKETS))}


def fluctuating() -> tuple[Document, list[tuple[str, int]]]:
    """Return the study document of the fluctuating rate, and ARED's rate and target of each of its points."""
    document, queues = _changed("study")
    document["path"]["down"]["rate"] = copy.deepcopy(FLUCTUATING)
    cells = [(rate, target) for target in (CALIBRATED_MS["red"], 50) for rate in RATES]
    axis = [{**queues["red"], "rate": rate, "target": f"{target}ms"} for rate, target in cells]
    return {**document, "name": "aqm-fluctuating", "sweep": {"path.down.queue": axis}}, cells
