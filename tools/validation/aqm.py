"""The study of drops by active queue management on slow links: ours beside its printed figures and ns-3's.

The scene is that of ``studies/aqm-target.toml``. Only a handful of the study's figures are printed in its
text: queueing delay and drop rate at the ends of figure 3 (targets of 2 and 50 ms), 35 ms of delay for all
three disciplines at targets of 10, 10 and 35 ms, and DropTail's 680 ms behind 400 packets. What the study
leaves open is varied, one thing at a time, to see how much of a difference it makes.
"""

from __future__ import annotations

import copy
import csv
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tools.validation import aqm_peers, aqm_scene, documents
from tools.validation.aqm_scene import Cell, Document, cells
from tools.validation.checks import Check, mean_and_spread, within

END_SHARE = 0.25
CALIBRATED_SHARE = 0.15
CALIBRATED_MS = {"red": 10, "pie": 10, "codel": 35}
PUBLISHED_NAMES = {"red": "ARED", "pie": "PIE", "codel": "CoDel"}
DROPTAIL_PACKETS, DROPTAIL_MS = 400, 680.0
SHALLOW_PACKETS = 100
"""Of the buffer that the disciplines have."""
UTILISATIONS = (0.92, 0.96, 0.98)
"""The study's: least and greatest over figure 3, and DropTail's."""
RATES = ("0.5Mbit", "2Mbit", "3.5Mbit")
FLUCTUATING = {
    "choose": ["0.5Mbit", "1Mbit", "1.5Mbit", "2Mbit", "2.5Mbit", "3Mbit", "3.5Mbit"],
    "every": ["10ms", "30ms"],
}

TEXT = """## The study of active queue management on slow links

The scene of `studies/aqm-target.toml`: a link of 2 Mb/s and 100 packets, 4 New Reno flows, two web loads,
video and 3 calls, 200 s, the first 20 left out; {replications} replications (the study: 10 to 50 seeds).
Delay is arrival to start of transmission, loss is dropped over arrived. Published are the ends of figure 3,
one delay of 35 ms for all three disciplines at the targets {targets},
and DropTail's 680 ms behind {droptail} packets.

Rules: the ends within {end:g} %; the calibrated delays within {calibrated:g} % of the study's or of ns-3's
(with its own variants); DropTail within {calibrated:g} %.

Three readings of what the study does not say (receivers acknowledge every packet; callers pause; CoDel is
its authors' code of 2012) were settled when results with the other readings had been seen. The first two
are what ns-2's plain sinks and a codec with voice activity detection do. Retransmission timers start at 3 s
because ns-2's do. The last tables have the others.
"""


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
            flows.update({key.replace("_", "-"): value for key, value in keys.items()})

    return change


def _never_pause(document: Document) -> None:
    for user in document["users"]:
        user.pop("talk-spurts")


def _whole_web(document: Document) -> None:
    for flows in document["flows"]:
        flows["source"].pop("preset", None)


def _pie(name: str, **keys: Any) -> Variation:
    return Variation(name, ("pie",), keys={key.replace("_", "-"): value for key, value in keys.items()})


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
FROM_START = {
    "from-start": Variation("warm-up included", change=lambda document: document.update(warmup="0s"))
}
ALL_VARIATIONS = {**VARIATIONS, **PIE_VARIATIONS, **FROM_START}
COUNTED = {
    "what the link carries": ("study", lambda cell: cell.utilisation),
    "the same, warm-up included": ("from-start", lambda cell: cell.utilisation),
    "payload (40 bytes of each packet are headers)": ("study", lambda cell: cell.payload),
    "what is sent for the first time": ("study", lambda cell: cell.once),
    "its payload": (
        "study",
        lambda cell: [a * b / c for a, b, c in zip(cell.once, cell.payload, cell.utilisation, strict=True)],
    ),
}
"""Ways to count utilisation: a variation, and a number for each replication."""
ON_PEERS = {
    "study": ("ns-2", "ns2", ""),
    "pie-packets": ("ns-2", "ns2", aqm_peers.PACKETS_OF_500),
    "pie-ns3": ("ns-3", "ns3", ""),
}
"""PIE's variations that a peer was run with: its name, and where its figures are."""


def targets(kind: str) -> tuple[int, int, int]:
    """Return a discipline's targets in milliseconds: low end, calibrated, high end."""
    return 2, CALIBRATED_MS[kind], 50


def variation(key: str) -> tuple[Document, list[tuple[str, int]]]:
    """Return the study document of a variation, and the discipline and target of each of its points."""
    varied = ALL_VARIATIONS[key]
    document = aqm_scene.scene()
    queues = document.pop("queues")
    varied.change(document)
    cells = [(kind, target) for kind in varied.kinds for target in targets(kind)]
    axis = [{**queues[kind], "target": f"{target}ms", **(varied.keys or {})} for kind, target in cells]
    return {**document, "name": f"aqm-{key}", "sweep": {"path.down.queue": axis}}, cells


def droptail(key: str, packets: int = DROPTAIL_PACKETS) -> Document:
    """Return the study document of DropTail in the scene of a variation."""
    document = aqm_scene.scene()
    document.pop("queues")
    ALL_VARIATIONS[key].change(document)
    document["path"]["down"]["queue"] = documents.fifo(packets)
    return {**document, "name": f"aqm-droptail-{key}" + (f"-{packets}" * (packets != DROPTAIL_PACKETS))}


def fluctuating() -> tuple[Document, list[tuple[str, int]]]:
    """Return the study document of the fluctuating rate, and ARED's rate and target of each of its points."""
    document = aqm_scene.scene()
    red = document.pop("queues")["red"]
    document["path"]["down"]["rate"] = copy.deepcopy(FLUCTUATING)
    cells = [(rate, target) for target in (CALIBRATED_MS["red"], 50) for rate in RATES]
    axis = [{**red, "rate": rate, "target": f"{target}ms"} for rate, target in cells]
    return {**document, "name": "aqm-fluctuating", "sweep": {"path.down.queue": axis}}, cells


def published() -> dict[tuple[str, int], dict[str, float]]:
    """Return the study's printed delays (ms) and losses by discipline and target."""
    shipped = Path(str(files("sojourn")))
    name = "published/aqm-target-delay.csv"
    places = [parent / "studies" / name for parent in shipped.parents]
    kinds = {name: kind for kind, name in PUBLISHED_NAMES.items()}
    found = {}
    with next(place for place in places if place.is_file()).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["aqm"] in kinds:
                entry = {"delay": float(row["queueing_delay_ms"])}
                if row["drop_pct"]:
                    entry["loss"] = float(row["drop_pct"]) / 100
                found[kinds[row["aqm"]], int(row["target_ms"])] = entry
    return found


def checks(root: Path, jobs: int | None = None) -> Iterator[Check]:
    """Run what is missing and hold the study's printed figures against ours."""
    of_study = cells(*variation("study"), root, jobs)
    for (kind, target), entry in published().items():
        ours = {"delay": of_study[kind, target].delay_ms, "loss": of_study[kind, target].loss}
        calibrated = "loss" not in entry
        references = [("the study", entry)]
        if calibrated:
            of_ns3 = aqm_peers.mean(("ns3", kind, target, 100, 0, ""), "delay")
            references.append(("ns-3", {"delay": of_ns3}))
        for quantity in entry:
            share = CALIBRATED_SHARE if calibrated else END_SHARE
            yield _check(
                f"{'calibrated' if calibrated else f'target-{target}ms'}/{kind}/{quantity}",
                ours[quantity],
                tuple((name, numbers[quantity]) for name, numbers in references),
                share,
            )
    deep = cells(droptail("study"), [None], root, jobs)[None]
    yield _check(
        f"buffer-{DROPTAIL_PACKETS}pkt/fifo/delay",
        deep.delay_ms,
        (("the study", DROPTAIL_MS),),
        CALIBRATED_SHARE,
    )
    yield from aqm_peers.checks(root, jobs)


def _check(
    key: str, values: tuple[float, ...], references: tuple[tuple[str, float], ...], share: float
) -> Check:
    ours, spread = mean_and_spread(values)
    return Check(
        key=f"aqm/{key}",
        quantity="mean queueing delay" if key.endswith("delay") else "loss",
        unit="ms" if key.endswith("delay") else "",
        ours=ours,
        spread=spread,
        references=references,
        # Near one of them: between two that lie far apart is not enough.
        ok=any(within(ours, [reference], share=share) for _, reference in references),
        rule=f"within {100 * share:g} %",
    )


def findings(root: Path, jobs: int | None = None) -> list[tuple[str, str, bool]]:
    """Look for what the study found: statement, what it comes to here, whether it holds."""
    of_study = cells(*variation("study"), root, jobs)
    deep = cells(droptail("study"), [None], root, jobs)[None]
    at = {
        name: [statistics.fmean(of_study[kind, targets(kind)[i]].loss) for kind in CALIBRATED_MS]
        for i, name in enumerate(("2 ms", "calibrated", "50 ms"))
    }
    found = [
        (
            "Of the three disciplines CoDel drops most, at equal delay and at both ends of figure 3.",
            "; ".join(
                f"{name}: "
                + ", ".join(
                    f"{PUBLISHED_NAMES[kind]} {100 * value:.1f} %"
                    for kind, value in zip(CALIBRATED_MS, values, strict=True)
                )
                for name, values in at.items()
            ),
            all(values[2] == max(values) for values in at.values()),
        )
    ]
    for words, share in (
        ("Utilisation is 0.92 to 0.96 over figure 3, and 0.98 with DropTail.", "utilisation"),
        ("The same if utilisation is by payload (40 bytes of each packet are headers).", "payload"),
    ):
        values = [statistics.fmean(getattr(cell, share)) for cell in of_study.values()]
        tail = statistics.fmean(getattr(deep, share))
        holds = min(values) >= 0.915 and max(values) <= 0.965 and abs(tail - 0.98) <= 0.005
        found.append((words, f"{min(values):.3f} to {max(values):.3f}, DropTail {tail:.3f}", holds))
    return found + _unsteady(cells(*fluctuating(), root, jobs))


def _unsteady(found: Mapping[tuple[str, int], Cell]) -> list[tuple[str, str, bool]]:
    """Hold Adaptive RED set for the highest rate against one set for the mean rate."""
    rows = []
    measures = (
        ("delay_ms", 1, "delay", " ms"),
        ("p95_ms", 1, "its 95th percentile", " ms"),
        ("loss", 100, "loss", " %"),
        ("mos", 1, "MOS of a caller who listens", ""),
    )
    for target, words in (
        (
            CALIBRATED_MS["red"],
            "On a link whose rate fluctuates, Adaptive RED set for the highest rate does worse in delay than "
            "set for a lower one (at its calibrated target).",
        ),
        (
            50,
            "The same where the target is long enough to set the thresholds, which at 10 ms stand at 5 "
            "packets whatever the rate. By losses, and so to callers, it does better.",
        ),
    ):
        texts, mean = [], {}
        for name, factor, label, unit in measures:
            values = [statistics.fmean(getattr(found[rate, target], name)) for rate in RATES]
            texts.append(f"{label} {', '.join(f'{factor * value:.3g}' for value in values)}{unit}")
            mean[name] = values
        here = f"target {target} ms, set for {', '.join(RATES)}: {'; '.join(texts)}"
        rows.append(
            (words, here, all(mean[name][2] > 1.1 * mean[name][1] for name in ("delay_ms", "p95_ms")))
        )
    return rows


def variations(root: Path, jobs: int | None = None) -> list[list[str]]:
    """Return a row for each variation: its name, each discipline's delays and losses, DropTail's delay."""
    rows = []
    for key, varied in VARIATIONS.items():
        found = cells(*variation(key), root, jobs)
        deep = cells(droptail(key), [None], root, jobs)[None] if varied.of_scene else None
        rows.append(_row(varied.name, found, deep))
        if key == "study" and deep:
            sent = {cell: _with_transmission(numbers) for cell, numbers in found.items()}
            rows.append(_row("the same, own transmission in the delay", sent, _with_transmission(deep)))
    printed = [text for kind in CALIBRATED_MS for text in _printed(kind)]
    return [*rows, ["the study", *printed, f"{DROPTAIL_MS:.0f}"]]


def pie_variations(root: Path, jobs: int | None = None) -> list[list[str]]:
    """Return a row for each of PIE's variations: its name, delays and losses, and a peer's with the same."""
    rows = []
    for key in ("study", *PIE_VARIATIONS):
        found = cells(*variation(key), root, jobs)
        name = ALL_VARIATIONS[key].name
        rows.append([name, *_three(found, "pie"), _on_peer(*ON_PEERS[key]) if key in ON_PEERS else ""])
    return [*rows, ["the study", *_printed("pie"), ""]]


def utilisations(root: Path, jobs: int | None = None) -> list[list[str]]:
    """Return a row for each way to count utilisation: name, each discipline's, DropTail's, the distance."""
    rows = []
    for name, (key, counted) in COUNTED.items():
        found = {
            cell: statistics.fmean(counted(of)) for cell, of in cells(*variation(key), root, jobs).items()
        }
        ends = []
        for kind in CALIBRATED_MS:
            of_kind = [value for (of, _), value in found.items() if of == kind]
            ends.append((min(of_kind), max(of_kind)))
        tails = []
        for packets in (DROPTAIL_PACKETS, SHALLOW_PACKETS):
            tail = cells(droptail(key, packets), [None], root, jobs)[None]
            tails.append(statistics.fmean(counted(tail)))
        least, greatest, droptail_s = UTILISATIONS
        apart = max(
            abs(min(found.values()) - least),
            abs(max(found.values()) - greatest),
            min(abs(value - droptail_s) for value in tails),
        )
        spans = [f"{low:.3f} – {high:.3f}" for low, high in ends]
        rows.append([name, *spans, *(f"{value:.3f}" for value in tails), f"{100 * apart:.1f}"])
    least, greatest, droptail_s = UTILISATIONS
    return [*rows, ["the study", *[f"{least} – {greatest}"] * 3, *[f"{droptail_s}"] * 2, ""]]


def _on_peer(name: str, peer: str, variant: str) -> str:
    keys = [(peer, "pie", target, 100, 0, variant) for target in targets("pie")]
    delays = " / ".join(f"{aqm_peers.mean(key, 'delay'):.0f}" for key in keys)
    return f"{name}: {delays}, " + " / ".join(f"{100 * aqm_peers.mean(key, 'loss'):.1f}" for key in keys)


def _row(name: str, found: Mapping[Any, Cell], deep: Cell | None) -> list[str]:
    cells_of = [text for kind in CALIBRATED_MS for text in _three(found, kind)]
    return [name, *cells_of, f"{statistics.fmean(deep.delay_ms):.0f}" if deep else ""]


def _with_transmission(cell: Cell) -> Cell:
    delays = tuple(delay + cell.transmission_ms for delay in cell.delay_ms)
    return replace(cell, delay_ms=delays)


def _three(found: Mapping[Any, Cell], kind: str) -> tuple[str, str]:
    of_kind = [found.get((kind, target)) for target in targets(kind)]
    if None in of_kind:
        return "", ""
    delays = " / ".join(f"{statistics.fmean(cell.delay_ms):.0f}" for cell in of_kind if cell)
    return delays, " / ".join(f"{100 * statistics.fmean(cell.loss):.1f}" for cell in of_kind if cell)


def _printed(kind: str) -> tuple[str, str]:
    entries = [published().get((kind, target), {}) for target in targets(kind)]
    text = partial(str.format, "{:.3g}")
    delays = " / ".join(text(entry["delay"]) if "delay" in entry else "–" for entry in entries)
    return delays, " / ".join(text(100 * entry["loss"]) if "loss" in entry else "–" for entry in entries)


def tables(root: Path) -> list[tuple[str, str, list[str], list[list[str]]]]:
    """Return title, words, head and rows of each table: what the study found, and what is open in it."""
    found = [
        [statement, here, "holds" if holds else "**does not hold**"]
        for statement, here, holds in findings(root)
    ]
    head = ["reading"]
    for name in PUBLISHED_NAMES.values():
        head += [f"{name}: delay, ms", "loss, %"]
    head += [f"DropTail, {DROPTAIL_PACKETS} packets: delay, ms"]
    return [
        ("What the study found", "", ["finding", "here", ""], found),
        (
            "What the open settings change",
            "Each cell: at the targets of 2 ms, of equal delay, and of 50 ms.\n",
            head,
            variations(root),
        ),
        (
            "PIE's open settings",
            "Each changed alone, at the targets of 2, 10 and 50 ms; a peer's figures are with its own web.\n",
            ["reading", "delay, ms", "loss, %", "a peer"],
            pie_variations(root),
        ),
        (
            "Utilisation, counted in other ways",
            "Over figure 3, by discipline. The study does not say how it counts, nor behind which buffer\n"
            "DropTail's is. *Apart*: how far the least, the greatest or the nearer DropTail is from the\n"
            "study's, at most, in points. No way of counting brings all of them there. Payload comes\n"
            "nearest by this measure; if retransmissions are not counted, ARED, PIE and DropTail behind\n"
            "the disciplines' buffer are where the study has them, and CoDel at its least target, which\n"
            "drops most, is not.\n",
            [
                "counted",
                *PUBLISHED_NAMES.values(),
                *(f"DropTail, {packets} packets" for packets in (DROPTAIL_PACKETS, SHALLOW_PACKETS)),
                "apart",
            ],
            utilisations(root),
        ),
    ]


def section_text() -> str:
    """Return the section's first words."""
    return TEXT.format(
        replications=aqm_scene.REPLICATIONS,
        targets=", ".join(f"{ms} ms ({PUBLISHED_NAMES[kind]})" for kind, ms in CALIBRATED_MS.items()),
        droptail=DROPTAIL_PACKETS,
        end=100 * END_SHARE,
        calibrated=100 * CALIBRATED_SHARE,
    )
