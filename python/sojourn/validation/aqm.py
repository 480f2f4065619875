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
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from sojourn.validation import documents
from sojourn.validation.checks import Check, mean_and_spread, within

REPLICATIONS = 4
END_SHARE = 0.25
CALIBRATED_SHARE = 0.15
CALIBRATED_MS = {"red": 10, "pie": 10, "codel": 35}
PUBLISHED_NAMES = {"red": "ARED", "pie": "PIE", "codel": "CoDel"}
NS3_MS = {"red": 31.0, "pie": 25.0, "codel": 54.0}
"""Delay of ns-3 3.37 at the calibrated targets, with delayed acknowledgements and its own CoDel and PIE."""
DROPTAIL_PACKETS, DROPTAIL_MS = 400, 680.0
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
(run with delayed acknowledgements and with its own variants); DropTail within {calibrated:g} %.

Three readings of what the study does not say (receivers acknowledge every packet; callers pause; CoDel is
its authors' code of 2012) were settled when results with the other readings had been seen. The first two
are what ns-2's plain sinks and a codec with voice activity detection do. The last table has the others.
"""

Queue = dict[str, Any]
Document = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One discipline at one target: a number for each replication."""

    delay_ms: tuple[float, ...]
    loss: tuple[float, ...]
    utilisation: tuple[float, ...]
    transmission_ms: float
    """Mean time that a packet takes to be sent."""


@dataclass(frozen=True)
class Variation:
    """One thing that is done otherwise than in the study files."""

    name: str
    kinds: tuple[str, ...] = ("red", "pie", "codel")
    change: Callable[[Document], None] = lambda document: None
    keys: Mapping[str, Any] | None = None
    """Keys of the queue."""
    stretch: float = 1.0
    """Targets are so many times what they are called."""

    @property
    def of_scene(self) -> bool:
        """Whether it is the scene that changes, and not a queue."""
        return self.keys is None and self.stretch == 1.0


def _tcp(document: Document) -> Iterator[dict[str, Any]]:
    return (flows for flows in document["flows"] if flows["transport"] != "udp")


def _delay_acks(document: Document) -> None:
    for flows in _tcp(document):
        flows["delayed-ack"] = True


def _never_pause(document: Document) -> None:
    for user in document["users"]:
        user.pop("talk-spurts")


def _whole_web(document: Document) -> None:
    for flows in document["flows"]:
        flows["source"].pop("preset", None)


VARIATIONS = {
    "study": Variation("as in the study files"),
    "delayed-acks": Variation("receivers delay acknowledgements (40 ms)", change=_delay_acks),
    "no-pauses": Variation("callers never pause", change=_never_pause),
    "whole-web": Variation("web as the model has it (0.45 Mb/s)", change=_whole_web),
    "mean-packet": Variation("ARED's mean packet 1000 bytes", ("red",), keys={"mean-packet": "1000B"}),
    "codel-2013": Variation("CoDel as in ns-2.35 (2013)", ("codel",), keys={"variant": "ns2_2013"}),
    "codel-rfc8289": Variation("CoDel of RFC 8289", ("codel",), keys={"variant": "rfc8289"}),
    "pie-rfc8033": Variation("PIE of RFC 8033", ("pie",), keys={"variant": "rfc8033"}),
    # As a PIE would aim that took each packet, of 750 bytes in the mean, for 500 bytes.
    "pie-stretched": Variation("PIE's targets × 1.5 (packets taken for 500 bytes)", ("pie",), stretch=1.5),
}


def scene() -> Document:
    """Return the study's scene without its sweep and figures."""
    shipped = Path(str(files("sojourn")))
    places = [parent / "studies" / "aqm-target.toml" for parent in shipped.parents]
    document = tomllib.loads(next(place for place in places if place.is_file()).read_text(encoding="utf-8"))
    document["queues"] = {queue["kind"]: queue for queue in document["sweep"]["path.down.queue"]}
    for key in ("description", "sweep", "figures"):
        document.pop(key)
    document["repeat"] = REPLICATIONS
    return document


def targets(kind: str) -> tuple[int, int, int]:
    """Return a discipline's targets in milliseconds: low end, calibrated, high end."""
    return 2, CALIBRATED_MS[kind], 50


def variation(key: str) -> tuple[Document, list[tuple[str, int]]]:
    """Return the study document of a variation, and the discipline and target of each of its points."""
    varied = VARIATIONS[key]
    document = scene()
    queues = document.pop("queues")
    varied.change(document)
    cells = [(kind, target) for kind in varied.kinds for target in targets(kind)]
    axis = [
        {**queues[kind], "target": f"{varied.stretch * target:g}ms", **(varied.keys or {})}
        for kind, target in cells
    ]
    return {**document, "name": f"aqm-{key}", "sweep": {"path.down.queue": axis}}, cells


def droptail(key: str) -> Document:
    """Return the study document of DropTail behind a deep buffer in the scene of a variation."""
    document = scene()
    document.pop("queues")
    VARIATIONS[key].change(document)
    document["path"]["down"]["queue"] = documents.fifo(DROPTAIL_PACKETS)
    return {**document, "name": f"aqm-droptail-{key}"}


def fluctuating() -> tuple[Document, list[tuple[str, int]]]:
    """Return the study document of the fluctuating rate, and ARED's rate and target of each of its points."""
    document = scene()
    red = document.pop("queues")["red"]
    document["path"]["down"]["rate"] = copy.deepcopy(FLUCTUATING)
    cells = [(rate, target) for target in (CALIBRATED_MS["red"], 50) for rate in RATES]
    axis = [{**red, "rate": rate, "target": f"{target}ms"} for rate, target in cells]
    return {**document, "name": "aqm-fluctuating", "sweep": {"path.down.queue": axis}}, cells


def cells(document: Document, keys: list[Any], root: Path, jobs: int | None) -> dict[Any, Cell]:
    """Run what is missing of a document and return its points' numbers under `keys`, in study order."""
    down = [result["links"]["down"] for result in documents.results(document, root, jobs)]
    found = {}
    for i, key in enumerate(keys):
        links = down[i * REPLICATIONS : (i + 1) * REPLICATIONS]
        per_packet = [
            8e3 * link["departed_bytes"] / link["departed_pkts"] / link["rate_bps"] for link in links
        ]
        found[key] = Cell(
            tuple(link["queue_delay_ms"]["mean"] for link in links),
            tuple(link["loss"] for link in links),
            tuple(link["utilisation"] for link in links),
            statistics.fmean(per_packet),
        )
    return found


def published() -> dict[tuple[str, int], dict[str, float]]:
    """Return the study's printed delays (ms) and losses by discipline and target."""
    shipped = Path(str(files("sojourn")))
    name = "published/aqm-target-delay.csv"
    places = [shipped / name, *(parent / "studies" / name for parent in shipped.parents)]
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
        references = [("the study", entry)] + ([("ns-3", {"delay": NS3_MS[kind]})] if calibrated else [])
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
    mean = {
        key: (statistics.fmean(cell.loss), statistics.fmean(cell.utilisation))
        for key, cell in of_study.items()
    }
    at = {
        name: [mean[kind, targets(kind)[i]][0] for kind in CALIBRATED_MS]
        for i, name in enumerate(("2 ms", "calibrated", "50 ms"))
    }
    utilisations = [utilisation for _, utilisation in mean.values()]
    unsteady = cells(*fluctuating(), root, jobs)
    delay = {key: statistics.fmean(cell.delay_ms) for key, cell in unsteady.items()}
    loss = {key: statistics.fmean(cell.loss) for key, cell in unsteady.items()}
    low, high = CALIBRATED_MS["red"], 50

    def of(values: Mapping[Any, float], target: int, factor: float = 1.0) -> str:
        return ", ".join(f"{factor * values[rate, target]:.3g}" for rate in RATES)

    return [
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
        ),
        (
            "Utilisation is 0.92 to 0.96 over figure 3.",
            f"{min(utilisations):.3f} to {max(utilisations):.3f}",
            min(utilisations) >= 0.915 and max(utilisations) <= 0.965,
        ),
        (
            "On a link whose rate fluctuates, Adaptive RED set for the highest rate does worse than set for "
            "a lower one (at its calibrated target).",
            f"target {low} ms, set for {', '.join(RATES)}: delay {of(delay, low)} ms, "
            f"loss {of(loss, low, 100)} %",
            delay[RATES[2], low] > 1.1 * delay[RATES[1], low]
            or loss[RATES[2], low] > 1.1 * loss[RATES[1], low],
        ),
        (
            "The same where the target is long enough to set the thresholds, which at 10 ms stand at 5 "
            "packets whatever the rate.",
            f"target {high} ms: delay {of(delay, high)} ms, loss {of(loss, high, 100)} %",
            delay[RATES[2], high] > 1.1 * delay[RATES[1], high],
        ),
    ]


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


def _row(name: str, found: Mapping[Any, Cell], deep: Cell | None) -> list[str]:
    cells_of = [text for kind in CALIBRATED_MS for text in _three(found, kind)]
    return [name, *cells_of, f"{statistics.fmean(deep.delay_ms):.0f}" if deep else ""]


def _with_transmission(cell: Cell) -> Cell:
    delays = tuple(delay + cell.transmission_ms for delay in cell.delay_ms)
    return Cell(delays, cell.loss, cell.utilisation, cell.transmission_ms)


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


def section_text() -> str:
    """Return the section's first words."""
    return TEXT.format(
        replications=REPLICATIONS,
        targets=", ".join(f"{ms} ms ({PUBLISHED_NAMES[kind]})" for kind, ms in CALIBRATED_MS.items()),
        droptail=DROPTAIL_PACKETS,
        end=100 * END_SHARE,
        calibrated=100 * CALIBRATED_SHARE,
    )
