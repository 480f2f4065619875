"""The scene of the AQM study on ns-2 and ns-3, and ours held against them.

`data/aqm-peers.csv` has what ``benches/peers/mixed.py`` gave (ns-2.35 and ns-3 3.37, three seeds each). Our
web is here what theirs is: connections that each bring a response of exponential size.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sojourn.study.units import percent

from tools.validation import aqm_scene, documents, recorded
from tools.validation.checks import Check, compare
from tools.validation.peers import QUANTITIES, RULES
from tools.validation.runs import Runs
from tools.validation.tables import Table

TEXT = """\
The scene again, with ns-2.35 and ns-3 3.37 beside ours (`benches/peers/mixed.py`, means of {seeds} seeds).
Where the programs have models of their own, all use the same one here: web responses have exponential sizes
(4 connections a second for each load, mean 1400 bytes), and the video is one model. New Reno counts
acknowledgements in all three. Each program has its own variant of PIE and CoDel, and ours takes the variant
of the simulator it is compared with. The package of ns-2 has no PIE: its authors' code of 2013 was built as
an extension of it. ns-3 keeps one packet more in the device, which neither its disciplines nor its delays
count.

- **pie**: the authors' code; **pie-packets**: the same with the backlog counted in packets of 500 bytes.
- **pie-ns3**: the steps of RFC 8033 with the study's timer, burst and measured departure rate.
- **delayed-acks**: receivers acknowledge every second packet, or after 40 ms.
- **windows**: windows are of at most 32 packets.

Rules, as in the other scenarios of the two simulators: {rules}.
"""

DEVICE_PACKET_MS = 1e3 * 8 * aqm_scene.FULL_BYTES / 2e6
TRAITS_TEXT = f"""\
PIE as ns-3 has it, at 10 ms. *One packet more on the way*: ours with each TCP round trip longer by the
{DEVICE_PACKET_MS:.3f} ms of a full packet, which is what waits in ns-3's device. *Halving the window*: ns-3
with a New Reno whose threshold after a loss is half of its window, as ours and ns-2's is; ns-3's own is half
of the packets in flight when the third duplicate acknowledgement arrives, less those SACKed and lost.
"""

WEB = {
    "kind": "sessions",
    "sizes": {"kind": "exponential", "mean": "1400B"},
    "interconnection": {"kind": "exponential", "mean": "250ms"},
}
NS3_PIE = {"kind": "pie", "limit": "100pkt", "variant": "rfc8033", "update": "30ms", "burst": "100ms"}
NS3_PIE |= {"delay": "rate", "rate-threshold": "10000B", "derandomise": False}
"""PIE as ns-3 has it, with the study's settings."""
IN_PACKETS = {"in-packets": True, "mean-packet": "500B"}
PACKETS_OF_500, WINDOWS_OF_32 = "packets of 500 bytes", "windows of 32 packets"
HALF_OF_WINDOW = "half of the window"
SCENES: dict[str, dict[str, Any]] = {
    "": {},
    "delayed-acks": {"delayed-ack": True},
    "windows": {"receive-window": f"{32 << 10}B"},
}
"""What the TCP flows of a row do otherwise."""
_NS3_CODEL = {"kind": "codel", "limit": "100pkt", "variant": "ns3"}

Key = tuple[str, str, int, int, int, str]


@dataclass(frozen=True)
class Row:
    """One queue of ours, and where the peers' figures for it are."""

    stem: str
    queue: dict[str, Any]
    peers: tuple[str, ...]
    kind: str
    target_ms: int = 0
    limit: int = 100
    scene: str = ""
    variant: str = ""

    @property
    def name(self) -> str:
        """Name of the row on the page."""
        return f"{self.stem}-{self.scene}" if self.scene else self.stem

    def of(self, peer: str) -> Key:
        """Return the key of a peer's figures."""
        return peer, self.kind, self.target_ms, self.limit, int(self.scene == "delayed-acks"), self.variant


@cache
def measured() -> dict[Key, list[dict[str, float]]]:
    """Return the peers' figures: discipline, target, limit, delayed ACKs and variant → an entry a seed."""
    found: dict[Key, list[dict[str, float]]] = {}
    for row in recorded.rows("aqm-peers"):
        numbers = (int(row[name]) for name in ("target_ms", "limit", "delayed_acks"))
        key = (row["peer"], row["queue"], *numbers, row["variant"])
        entry = {"delay": row["delay_ms"], "utilisation": row["utilisation"], "loss": row["loss"]}
        found.setdefault(key, []).append({name: float(value) for name, value in entry.items()})
    return found


def mean(key: Key, quantity: str) -> float:
    """Return the mean of a peer's seeds."""
    return statistics.fmean(entry[quantity] for entry in measured()[key])


def rows(queues: dict[str, dict[str, Any]]) -> Iterator[Row]:
    """Yield what is compared; `queues` are the study's, by kind."""
    both = ("ns2", "ns3")
    for limit in (100, 200, 400):
        yield Row(f"fifo-{limit}pkt", documents.fifo(limit), both, "fifo", limit=limit)
    deep = documents.fifo(400)
    yield Row("fifo-400pkt", deep, ("ns2",), "fifo", limit=400, scene="windows", variant=WINDOWS_OF_32)
    yield Row("fifo-100pkt", documents.fifo(100), both, "fifo", scene="delayed-acks")
    for acks in ("", "delayed-acks"):
        for kind, own, peers, name, targets in (
            ("red", queues["red"], both, "red", (2, 10, 50)),
            ("pie", queues["pie"], ("ns2",), "pie", (2, 10, 50)),
            ("pie", NS3_PIE, ("ns3",), "pie-ns3", (2, 10, 50)),
            ("codel", _NS3_CODEL, ("ns3",), "codel-ns3", (2, 35, 50)),
        ):
            for target in targets[1:2] if acks else targets:
                queue = {**own, "target": f"{target}ms"}
                yield Row(f"{name}-{target}ms", queue, peers, kind, target, scene=acks)
    for target in (2, 10, 50):
        queue = {**queues["pie"], **IN_PACKETS, "target": f"{target}ms"}
        yield Row(f"pie-packets-{target}ms", queue, ("ns2",), "pie", target, variant=PACKETS_OF_500)


def _document(scene: str) -> aqm_scene.Document:
    """Return the scene with the web of the peers and what the TCP flows do otherwise."""
    document = aqm_scene.scene()
    del document["queues"]
    for flows in aqm_scene.tcp_flows(document):
        flows.update(SCENES[scene])
        if flows["source"]["kind"] == "packmime":
            flows["source"] = WEB
    return document


def checks(runs: Runs) -> Iterator[Check]:
    """Compare delay, utilisation and loss of the scene under every queue."""
    for scene in SCENES:
        wanted = [row for row in rows(aqm_scene.scene()["queues"]) if row.scene == scene]
        sweep = {"path.down.queue": [row.queue for row in wanted]}
        document = {**_document(scene), "name": f"aqm-peers-{scene or 'study'}", "sweep": sweep}
        found = aqm_scene.cells(document, [row.name for row in wanted], runs)
        for row in wanted:
            cell = found[row.name]
            of_ours = {"delay": cell.delay_ms, "utilisation": cell.utilisation, "loss": cell.loss}
            for quantity, (label, unit, rule) in QUANTITIES.items():
                references = {peer: mean(row.of(peer), quantity) for peer in row.peers}
                key = f"aqm/peers-{row.name}/down/{quantity}"
                yield compare(key, label, unit, of_ours[quantity], references, rule)


def traits(runs: Runs) -> Table:
    """Return what ours and ns-3 do otherwise than each other, changed in one."""
    head = ["row", "sojourn", "one packet more on the way", "ns-3, halving the window", "ns-3"]
    return Table("What one trait of ns-3's changes", head, list(_traits(runs)), TRAITS_TEXT)


def _traits(runs: Runs) -> Iterator[list[str]]:
    queue = {**NS3_PIE, "target": "10ms"}
    for scene in ("", "delayed-acks"):
        row = Row("pie-ns3-10ms", queue, ("ns3",), "pie", 10, scene=scene)
        cells = [row.name]
        for longer_ms in (0.0, DEVICE_PACKET_MS):
            document = _document(scene)
            for flows in aqm_scene.tcp_flows(document):
                flows["rtt"] = f"{float(flows['rtt'].removesuffix('ms')) + longer_ms:g}ms"
            document["path"]["down"]["queue"] = queue
            document["name"] = f"aqm-{row.name}{'-longer' if longer_ms else ''}"
            cell = aqm_scene.cells(document, [None], runs)[None]
            cells.append(_printed(statistics.fmean(cell.delay_ms), statistics.fmean(cell.loss)))
        for key in (replace(row, variant=HALF_OF_WINDOW).of("ns3"), row.of("ns3")):
            cells.append(_printed(mean(key, "delay"), mean(key, "loss")))
        yield cells


def _printed(delay_ms: float, loss: float) -> str:
    return f"{delay_ms:.1f} ms, {percent(loss)}"


def section_text() -> str:
    """Return the words before the table."""
    return TEXT.format(seeds=min(len(entries) for entries in measured().values()), rules=RULES)
