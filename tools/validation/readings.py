"""What the findings of the [has] study depend on: its readings changed one at a time, and all together."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.validation import streaming
from tools.validation.documents import fifo, link
from tools.validation.runs import Runs
from tools.validation.streaming import (
    AIMING,
    ALGORITHM,
    ALGORITHMS,
    COUNT,
    FESTIVE,
    GPAC,
    NEAREST_MS,
    QUEUE,
    RTT_MS,
)  # fmt: skip
from tools.validation.tables import Table

REPLICATIONS = 2
FIRST = "as the studies have it"
ALONE, HALF, WHOLE = "beside the queue", "half in it, half in the other direction's", "all in it"
DELAYS = {ALONE: 0.0, HALF: RTT_MS / 2, WHOLE: float(RTT_MS)}
"""Of the round trip of 40 ms, what is spent in the queue."""
APART = ("4s", "30s")
"""Viewers start at most so long after one another: the study's time, and one found by trying 30 and 60 s."""
TOGETHER_TEXT = """The rates of the study's viewers, added up, are more than its line carried: {most}.
Here the line carries nearly all that viewers ask for, since segments are on average as large as their
nominal rates say. The study's ladder is its clips' average, too. So either its segments were smaller than
that, or its viewers did not all play for as long as utilisation was taken. Were they to start up to 30 s
after one another, where the study says 4 s, its utilisations and rates would fit together; the unfairness
of two viewers would be further from its own, and instability would hardly move. No sentence of the study
says 30 s: it was found by trying, and is not taken.
"""


@dataclass(frozen=True)
class Reading:
    """One way to read what the study does not say: what is other than in its study files."""

    delay_ms: float = RTT_MS
    users: Mapping[str, Any] = field(default_factory=dict)
    algorithms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unequal: bool = True
    """Whether it can matter to viewers at unequal round trips."""


_FESTIVE_FROM_REQUEST = {"FESTIVE": {**FESTIVE, "sample": "request"}}
_FROM_REQUEST = {"default": {**GPAC, "sample": "request"}, **_FESTIVE_FROM_REQUEST}
_ANYWHERE = {"clips": ["bbb-x264-4s"], "start-anywhere": True}
_PLAIN = {"stack": "plain"}
_AUTO = {"receive-window": "6MB"}
READINGS: dict[str, Reading] = {
    FIRST: Reading(),
    "the queue is a FIFO, the delay beside it": Reading(delay_ms=0),
    "half of the delay in the queue, half in the other direction's": Reading(RTT_MS / 2, unequal=False),
    "TCP to the standards (stack = plain)": Reading(users=_PLAIN),
    "a receive window that grows to Linux's 6 MB": Reading(users=_AUTO),
    "one clip, Big Buck Bunny, each from another segment on": Reading(users=_ANYWHERE),
    "one clip, Big Buck Bunny, all from the first segment on": Reading(users={"clips": ["bbb-x264-4s"]}),
    "eight clips as uneven as animation": Reading(
        users={"clips": [{"spread": 0.47, "number": number} for number in range(8)]}
    ),
    "throughput from the request": Reading(algorithms=_FROM_REQUEST, unequal=False),
    "FESTIVE's own target of 30 s": Reading(
        algorithms={"FESTIVE": {**FESTIVE, "full-target": False}}, unequal=False
    ),
    "FESTIVE aims at 0.85 of the bandwidth (p-mode = target)": Reading(algorithms={"FESTIVE": AIMING}),
    "FIFO, plain TCP, 6 MB, one clip from anywhere, FESTIVE from the request": Reading(
        delay_ms=0, users={**_PLAIN, **_AUTO, **_ANYWHERE}, algorithms=_FESTIVE_FROM_REQUEST
    ),
}
MEASURES = ("1 BDP / 2 BDP", "12 / 2 BDP", "% stalled")
HEADS = ["reading", *(f"{name}: {measure}" for measure in MEASURES for name in ALGORITHMS)]


def placed(document: dict[str, Any], delay_ms: float, rtt_ms: float) -> dict[str, Any]:
    """Return a document with `delay_ms` of the round trip in its queue.

    The rest is beside the queue if there is none in it; otherwise in the queue of the other direction.
    """
    path = document["path"]
    half = 0 < delay_ms < rtt_ms
    up = streaming.netem("1000pkt", rtt_ms - delay_ms) if half else fifo(1000)
    down = link(streaming.LINK_BPS, streaming.netem("1BDP", delay_ms))
    rtt = "0ms" if half else f"{rtt_ms - delay_ms:g}ms"
    return {**document, "path": {**path, "rtt": rtt, "down": down, "up": {**path["up"], "queue": up}}}


def six_document(name: str, reading: Reading) -> dict[str, Any]:
    """Return six viewers at 40 ms behind 1, 2 and 30 BDP, read in this way."""
    chosen = [reading.algorithms.get(player, kind) for player, kind in ALGORITHMS.items()]
    viewers = [streaming.viewers(GPAC, **reading.users)]
    sweep = {ALGORITHM: chosen, QUEUE: ["1BDP", "2BDP", "30BDP"]}
    made = streaming.document(f"reading-{name}", viewers, RTT_MS, sweep=sweep, repeat=REPLICATIONS)
    return placed(made, reading.delay_ms, RTT_MS)


def unequal_document(name: str, reading: Reading) -> dict[str, Any]:
    """Return viewers at 20 to 120 ms behind 2 and 12 BDP, read in this way."""
    delay_ms = min(reading.delay_ms, NEAREST_MS)
    made = streaming.unequal_document(f"reading-{name}-unequal", (2, 12), delay_ms, **reading.users)
    return {**made, "repeat": REPLICATIONS, "path": placed(made, delay_ms, NEAREST_MS)["path"]}


def places_document(where: str) -> dict[str, Any]:
    """Return table IV (a)'s viewers with the delay somewhere."""
    name = f"streaming-delay-{list(DELAYS).index(where)}"
    clients = streaming.clients_document()
    sweep = {axis: labels for axis, labels in clients["sweep"].items() if axis != streaming.BUFFER}
    made = {**clients, "name": name, "sweep": sweep, "repeat": REPLICATIONS}
    return placed(made, DELAYS[where], RTT_MS)


def apart_document(within: str) -> dict[str, Any]:
    """Return table IV (a)'s viewers, who start at most so long after one another."""
    users = streaming.viewers(FESTIVE, buffer=streaming.BUFFERS[0], **{"start-within": within})
    sweep = {COUNT: [2, 4, 6, 8], QUEUE: ["1BDP", "2BDP"]}
    return streaming.document(f"starts-{within}", [users], RTT_MS, sweep=sweep, duration="1500s")


def _mean(found: Sequence[Mapping[str, Any]], name: str) -> float:
    return statistics.fmean(streaming.numbers(found, name))


def tables(runs: Runs) -> Iterator[Table]:
    """Return what the findings depend on, and table IV (a) with the delay elsewhere."""
    rows = []
    for number, (what, reading) in enumerate(READINGS.items()):
        six = streaming.cells(six_document(str(number), reading), runs, ALGORITHM, QUEUE)
        costs = [streaming.cost(name, six[name, "1BDP"], six[name, "2BDP"]).ours for name in ALGORITHMS]
        stalled = [_mean(six[name, "30BDP"], "clients_stalled_pct") for name in ALGORITHMS]
        falls = [""] * len(ALGORITHMS)
        if reading.unequal:
            found = streaming.cells(unequal_document(str(number), reading), runs, ALGORITHM, QUEUE)
            ends = ((name, found[name, "2BDP"], found[name, "12BDP"]) for name in ALGORITHMS)
            falls = [f"{streaming.halved(*each).ours:.2f}" for each in ends]
        rows.append([what, *(f"{n:.2f}" for n in costs), *falls, *(f"{n:.0f}" for n in stalled)])
    title = "What these depend on: cost of 1 BDP, unfairness at 12 BDP, viewers stalled at 30 BDP"
    yield Table(title, HEADS, rows)
    found = {where: streaming.cells(places_document(where), runs, COUNT, QUEUE) for where in DELAYS}
    rows = []
    for entry in streaming.published("has-table4a-festive-clients", "utilisation"):
        [count], [queue] = entry.labels[COUNT], entry.labels[QUEUE]
        means = [_mean(of[count, queue], "utilisation") for of in found.values()]
        rows.append([queue, count, *(f"{100 * share:.0f}" for share in (entry.number, *means))])
    heads = ["queue", "viewers", "study, %", *(f"delay {where}" for where in DELAYS)]
    yield Table("Table IV (a), utilisation: where the delay of 40 ms is", heads, rows)
    yield _together(runs)


def _together(runs: Runs) -> Table:
    """Return what viewers of table IV (a) ask for beside what the line carries of it."""
    found = [streaming.cells(apart_document(within), runs, COUNT, QUEUE) for within in APART]
    rates = streaming.published("has-table4a-festive-clients", "average_rate_kbps")
    carried = streaming.published("has-table4a-festive-clients", "utilisation")
    rows, gaps = [], {}
    for rate, share in zip(rates, carried, strict=True):
        [count], [queue] = share.labels[COUNT], share.labels[QUEUE]
        asked, filled = _asked(count, rate.number), 100 * share.number
        gaps[asked - filled] = (
            f"{count} at {rate.number:g} kb/s are {asked:.0f} %, and {filled:g} % were filled"
        )
        row = [queue, count, f"{asked:.0f}", f"{filled:.0f}"]
        for of in found:
            ours, kbps = (_mean(of[count, queue], name) for name in ("utilisation", "average_rate_kbps"))
            row += [f"{_asked(count, kbps):.0f}", f"{100 * ours:.0f}"]
            row += [
                f"{round(100 * (n - 1)):+d} %".replace("-", "−")
                for n in (ours / share.number, kbps / rate.number)
            ]
            row += [f"{_mean(of[count, queue], name):.3g}" for name in ("instability_segments", "unfairness")]
        rows.append(row)
    of_ours = ("asked for, %", "filled, %", "filled, off", "rate, off", "instability", "unfairness")
    heads = ["queue", "viewers", "study: asked for, % of the line", "study: filled, %"]
    heads += [f"starts {within[:-1]} s apart: {name}" for within in APART for name in of_ours]
    title = "Table IV (a): what viewers ask for, and what the line carries of it"
    return Table(title, heads, rows, TOGETHER_TEXT.format(most=gaps[max(gaps)]))


def _asked(count: str, kbps: float) -> float:
    """Return what viewers at a nominal rate ask for, in per cent of the line."""
    return 100 * int(count) * kbps * 1000 / streaming.LINK_BPS
