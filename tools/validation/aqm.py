"""The study of drops by active queue management on slow links: ours beside its printed figures and ns-3's.

The scene is that of ``studies/aqm-target.toml``. Only a handful of the study's figures are printed in its
text: queueing delay and drop rate at the ends of figure 3 (targets of 2 and 50 ms), 35 ms of delay for all
three disciplines at targets of 10, 10 and 35 ms, and DropTail's 680 ms behind 400 packets. What the study
leaves open is varied, one thing at a time, to see how much of a difference it makes.
"""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sojourn.losses.findings import Finding
from sojourn.report.published import load

from tools.validation import aqm_peers, aqm_scene
from tools.validation.aqm_scene import Cell, cells
from tools.validation.aqm_variations import (
    ALL_VARIATIONS,
    CALIBRATED_MS,
    DROPTAIL_PACKETS,
    PIE_VARIATIONS,
    RATES,
    VARIATIONS,
    droptail,
    fluctuating,
    targets,
    variation,
)
from tools.validation.checks import Check, compare, near
from tools.validation.runs import Runs
from tools.validation.tables import Table

AT_ENDS = near("the study's", share=0.25)
CALIBRATED = near("the study's or of ns-3's", share=0.15)
DEEP = near("the study's", share=0.15)
PUBLISHED_NAMES = {"red": "ARED", "pie": "PIE", "codel": "CoDel"}
DROPTAIL_MS = 680.0
SHALLOW_PACKETS = 100
"""Of the buffer that the disciplines have."""
UTILISATIONS = (0.92, 0.96, 0.98)
"""The study's: least and greatest over figure 3, and DropTail's."""
ROUNDING = 0.005
"""The study prints two digits."""
WORSE = 1.1

TEXT = """## The study of active queue management on slow links

The scene of `studies/aqm-target.toml`: a link of 2 Mb/s and 100 packets, 4 New Reno flows, two web loads,
video and 3 calls, 200 s, the first 20 left out; {replications} replications (the study: 10 to 50 seeds).
Delay is arrival to start of transmission, loss is dropped over arrived. Published are the ends of figure 3,
one delay of 35 ms for all three disciplines at the targets {targets},
and DropTail's 680 ms behind {droptail} packets.

Rules: the ends {ends}; the calibrated delays {calibrated} (with its own variants); DropTail {deep}.

Three readings of what the study does not say were fitted (`Fitted`, above); the last tables have the others.
Retransmission timers start at 3 s because ns-2's do.
"""

UTILISATION_TEXT = """\
Over figure 3, by discipline. The study does not say how it counts, nor behind which buffer DropTail is.
*Apart*: how far, at most, the least, the greatest or the nearer DropTail is from the study's, in points. No
way of counting brings all of them there. Payload comes nearest by this measure. If retransmissions are not
counted, ARED, PIE and DropTail behind the disciplines' buffer are where the study has them; CoDel at its
least target, where it drops most, is not.
"""


def _payload_once(cell: Cell) -> list[float]:
    return [a * b / c for a, b, c in zip(cell.once, cell.payload, cell.utilisation, strict=True)]


COUNTED = {
    "what the link carries": ("study", lambda cell: cell.utilisation),
    "the same, warm-up included": ("from-start", lambda cell: cell.utilisation),
    "payload (40 bytes of each packet are headers)": ("study", lambda cell: cell.payload),
    "what is sent for the first time": ("study", lambda cell: cell.once),
    "its payload": ("study", _payload_once),
}
"""Ways to count utilisation: a variation, and a number for each replication."""
ON_PEERS = {
    "study": ("ns-2", "ns2", ""),
    "pie-packets": ("ns-2", "ns2", aqm_peers.PACKETS_OF_500),
    "pie-ns3": ("ns-3", "ns3", ""),
}
"""PIE's variations that a peer was run with: its name, and where its figures are."""


def published() -> dict[tuple[str, int], dict[str, float]]:
    """Return the study's printed delays (ms) and losses by discipline and target."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    table = load("published/aqm-target-delay.csv")
    for quantity, path in (("delay", "links.down.queue_delay_ms.mean"), ("loss", "links.down.loss")):
        for entry in table.entries(path):
            [kind] = entry.labels["path.down.queue"]
            if kind in PUBLISHED_NAMES:
                [target] = entry.labels["path.down.queue.target"]
                found.setdefault((kind, int(target.removesuffix("ms"))), {})[quantity] = entry.number
    return found


def checks(runs: Runs) -> Iterator[Check]:
    """Hold the study's printed figures against ours, and ours against the peers'."""
    of_study = cells(*variation("study"), runs)
    for (kind, target), entry in published().items():
        cell = of_study[kind, target]
        for quantity, (label, unit, values) in {
            "delay": ("mean queueing delay", "ms", cell.delay_ms),
            "loss": ("loss", "", cell.loss),
        }.items():
            if quantity not in entry:
                continue
            references = {"the study": entry[quantity]}
            if "loss" in entry:
                key, rule = f"target-{target}ms/{kind}/{quantity}", AT_ENDS
            else:
                key, rule = f"calibrated/{kind}/{quantity}", CALIBRATED
                references["ns-3"] = aqm_peers.mean(("ns3", kind, target, 100, 0, ""), quantity)
            yield compare(f"aqm/{key}", label, unit, values, references, rule)
    deep = cells(droptail("study"), [None], runs)[None]
    key = f"aqm/buffer-{DROPTAIL_PACKETS}pkt/fifo/delay"
    yield compare(key, "mean queueing delay", "ms", deep.delay_ms, {"the study": DROPTAIL_MS}, DEEP)
    yield from aqm_peers.checks(runs)


def findings(runs: Runs) -> Iterator[Finding]:
    """Look for what the study found."""
    of_study = cells(*variation("study"), runs)
    deep = cells(droptail("study"), [None], runs)[None]
    at: dict[str, dict[str, float]] = {"2 ms": {}, "calibrated": {}, "50 ms": {}}
    for kind, discipline in PUBLISHED_NAMES.items():
        for losses, target in zip(at.values(), targets(kind), strict=True):
            losses[discipline] = statistics.fmean(of_study[kind, target].loss)
    yield Finding(
        "Of the three disciplines CoDel drops most, at equal delay and at both ends of figure 3.",
        "the greatest mean loss, at each of the three",
        "; ".join(
            f"{name}: " + ", ".join(f"{discipline} {100 * loss:.1f} %" for discipline, loss in losses.items())
            for name, losses in at.items()
        ),
        all(max(losses, key=losses.__getitem__) == "CoDel" for losses in at.values()),
    )
    least, greatest, tail = UTILISATIONS
    for counted, share in (
        ("utilisation", "utilisation"),
        ("utilisation by payload (40 bytes of each packet are headers)", "payload"),
    ):
        values = [statistics.fmean(getattr(cell, share)) for cell in of_study.values()]
        with_tail = statistics.fmean(getattr(deep, share))
        yield Finding(
            f"Over figure 3 {counted} is {least} to {greatest}, and {tail} with DropTail.",
            f"no mean outside by more than {ROUNDING}",
            f"{min(values):.3f} to {max(values):.3f}, DropTail {with_tail:.3f}",
            least - ROUNDING <= min(values)
            and max(values) <= greatest + ROUNDING
            and abs(with_tail - tail) <= ROUNDING,
        )
    yield from unsteady(cells(*fluctuating(), runs))


def unsteady(found: Mapping[tuple[str, int], Cell]) -> Iterator[Finding]:
    """Hold Adaptive RED set for the highest rate against one set for the mean rate."""
    measures = (
        ("delay_ms", 1, "delay", " ms"),
        ("p95_ms", 1, "its 95th percentile", " ms"),
        ("loss", 100, "loss", " %"),
        ("mos", 1, "MOS of a caller who listens", ""),
    )
    worse = f"mean and 95th percentile of the delay more than {WORSE:g} times as long"
    for target, words, reading in (
        (
            CALIBRATED_MS["red"],
            "On a link whose rate fluctuates, Adaptive RED set for the highest rate does worse in delay than "
            "set for the mean rate, at its calibrated target.",
            worse,
        ),
        (
            50,
            "The same where the target is long enough to set the thresholds, which at 10 ms are 5 packets "
            "whatever the rate; but it loses less, and callers hear better.",
            f"{worse}; less loss and a higher MOS",
        ),
    ):
        texts, mean = [], {}
        for name, factor, label, unit in measures:
            values = [statistics.fmean(getattr(found[rate, target], name)) for rate in RATES]
            texts.append(f"{label} {', '.join(f'{factor * value:.3g}' for value in values)}{unit}")
            mean[name] = values
        here = f"target {target} ms, set for {', '.join(RATES)}: {'; '.join(texts)}"
        holds = all(mean[name][2] > WORSE * mean[name][1] for name in ("delay_ms", "p95_ms"))
        if target == 50:
            holds = holds and mean["loss"][2] < mean["loss"][1] and mean["mos"][2] > mean["mos"][1]
        yield Finding(words, reading, here, holds)


def variations(runs: Runs) -> list[list[str]]:
    """Return a row for each variation: its name, each discipline's delays and losses, DropTail's delay."""
    rows = []
    for key, varied in VARIATIONS.items():
        found = cells(*variation(key), runs)
        deep = cells(droptail(key), [None], runs)[None] if varied.of_scene else None
        rows.append(_row(varied.name, found, deep))
        if key == "study" and deep:
            sent = {cell: _with_transmission(numbers) for cell, numbers in found.items()}
            rows.append(_row("the same, own transmission in the delay", sent, _with_transmission(deep)))
    printed = [text for kind in CALIBRATED_MS for text in _printed(kind)]
    return [*rows, ["the study", *printed, f"{DROPTAIL_MS:.0f}"]]


def pie_variations(runs: Runs) -> list[list[str]]:
    """Return a row for each of PIE's variations: its name, delays and losses, and a peer's with the same."""
    rows = []
    for key in ("study", *PIE_VARIATIONS):
        found = cells(*variation(key), runs)
        name = ALL_VARIATIONS[key].name
        rows.append([name, *_three(found, "pie"), _on_peer(*ON_PEERS[key]) if key in ON_PEERS else ""])
    return [*rows, ["the study", *_printed("pie"), ""]]


def utilisations(runs: Runs) -> list[list[str]]:
    """Return a row for each way to count utilisation: name, each discipline's, DropTail's, the distance."""
    rows, depths = [], (DROPTAIL_PACKETS, SHALLOW_PACKETS)
    least, greatest, droptail_s = UTILISATIONS
    for name, (key, counted) in COUNTED.items():
        found = {cell: statistics.fmean(counted(of)) for cell, of in cells(*variation(key), runs).items()}
        by_kind = [[value for (of, _), value in found.items() if of == kind] for kind in CALIBRATED_MS]
        deep = [cells(droptail(key, packets), [None], runs)[None] for packets in depths]
        tails = [statistics.fmean(counted(cell)) for cell in deep]
        low, high = abs(min(found.values()) - least), abs(max(found.values()) - greatest)
        apart = max(low, high, min(abs(value - droptail_s) for value in tails))
        spans = [f"{min(values):.3f} – {max(values):.3f}" for values in by_kind]
        rows.append([name, *spans, *(f"{value:.3f}" for value in tails), f"{100 * apart:.1f}"])
    return [*rows, ["the study", *[f"{least} – {greatest}"] * 3, *[f"{droptail_s}"] * 2, ""]]


def _on_peer(name: str, peer: str, variant: str) -> str:
    keys = [(peer, "pie", target, 100, 0, variant) for target in targets("pie")]
    delays = " / ".join(f"{aqm_peers.mean(key, 'delay'):.0f}" for key in keys)
    return f"{name}: {delays}, " + " / ".join(f"{100 * aqm_peers.mean(key, 'loss'):.1f}" for key in keys)


def _row(name: str, found: Mapping[Any, Cell], deep: Cell | None) -> list[str]:
    cells_of = [text for kind in CALIBRATED_MS for text in _three(found, kind)]
    return [name, *cells_of, f"{statistics.fmean(deep.delay_ms):.0f}" if deep else ""]


def _with_transmission(cell: Cell) -> Cell:
    return replace(cell, delay_ms=tuple(delay + cell.transmission_ms for delay in cell.delay_ms))


def _three(found: Mapping[Any, Cell], kind: str) -> tuple[str, str]:
    of_kind = [found.get((kind, target)) for target in targets(kind)]
    if None in of_kind:
        return "", ""
    delays = " / ".join(f"{statistics.fmean(cell.delay_ms):.0f}" for cell in of_kind if cell)
    return delays, " / ".join(f"{100 * statistics.fmean(cell.loss):.1f}" for cell in of_kind if cell)


def _printed(kind: str) -> tuple[str, str]:
    entries = [published().get((kind, target), {}) for target in targets(kind)]

    def row(quantity: str, factor: float) -> str:
        return " / ".join(f"{factor * e[quantity]:.3g}" if quantity in e else "–" for e in entries)

    return row("delay", 1), row("loss", 100)


def tables(runs: Runs) -> Iterator[Table]:
    """Return the tables of what the study leaves open."""
    head = ["reading"]
    for name in PUBLISHED_NAMES.values():
        head += [f"{name}: delay, ms", "loss, %"]
    yield Table(
        "What the open settings change",
        [*head, f"DropTail, {DROPTAIL_PACKETS} packets: delay, ms"],
        variations(runs),
        "Each cell: at the targets of 2 ms, of equal delay, and of 50 ms.\n",
    )
    yield Table(
        "PIE's open settings",
        ["reading", "delay, ms", "loss, %", "a peer"],
        pie_variations(runs),
        "Each changed alone, at the targets of 2, 10 and 50 ms; a peer's figures are with its own web.\n",
    )
    depths = (f"DropTail, {packets} packets" for packets in (DROPTAIL_PACKETS, SHALLOW_PACKETS))
    yield Table(
        "Utilisation, counted in other ways",
        ["counted", *PUBLISHED_NAMES.values(), *depths, "apart"],
        utilisations(runs),
        UTILISATION_TEXT,
    )


def section_text() -> str:
    """Return the section's first words."""
    return TEXT.format(
        replications=aqm_scene.REPLICATIONS,
        targets=", ".join(f"{ms} ms ({PUBLISHED_NAMES[kind]})" for kind, ms in CALIBRATED_MS.items()),
        droptail=DROPTAIL_PACKETS,
        ends=AT_ENDS.text,
        calibrated=CALIBRATED.text,
        deep=DEEP.text,
    )
