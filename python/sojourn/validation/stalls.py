"""When viewers of the [has] study stall: table II's regions with one thing changed at a time."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.validation import streaming
from sojourn.validation.streaming import GPAC, QUEUE, QUEUES, RTT_MS

REPLICATIONS = 2
BUFFER = "60s"
REGIONS = {"1xBDP": "1 BDP", "2-20xBDP": "2–20 BDP", "30xBDP": "30 BDP"}
HEADS = [
    "player",
    "changed",
    *(f"{region}: % stalled" for region in REGIONS.values()),
    "30 BDP: stalls a run",
    "30 BDP: mean stall, s",
    "1 BDP: utilisation",
]

TEXT = """### When viewers stall: table II at a buffer of 60 s, changed in one respect

GPAC's source explains the study's column of `default` up to 20 BDP. Releases 0.5.2 to 0.7.0 take a step to the
next level only when a second segment asks for it (`dash_do_rate_adaptation` in src/media_tools/dash_client.c,
`SwitchProbeCount`, by default 1); the study's sentence on the player does not say so. Without this rule it
stalls two to four times as many viewers as with it. Its other habit, to give up a segment that comes too slowly
(`AllowAbort`), is off unless set, and the study cannot have set it: 1 BDP would leave more than half of the link
unused. From 0.6.0 on (2016) GPAC goes up one level at a time, and looks at the buffer unless told not to, which
the study's sentence excludes.

At 30 BDP the queue holds a second of packets, and six windows of 131072 bytes fill it without loss. GPAC's clock
leaves the round trip out, so that the share of 0.96 Mb/s looks like more than 1065 kb/s: every viewer stays at
that level and stalls whenever a segment is larger than its nominal size. From the request, nobody stalls.

*Unexplained:* at 30 BDP ours stall more often, and each time for half as long, than the study's. Neither the
clips nor the seconds of video at which playing goes on bring both numbers near.

*Unexplained:* the study's FESTIVE stalls at 30 BDP only. With a lower target of the buffer ours does at 30 BDP,
and then does at 10 and 20 BDP too, two to four minutes into the clip, at the end of the climb; with more even
films as well.
"""


@dataclass(frozen=True)
class Change:
    """What is other than in the study files."""

    player: str
    algorithm: Mapping[str, Any]
    users: Mapping[str, Any] = field(default_factory=dict)


def _films(spread: float) -> dict[str, Any]:
    films = [{"spread": spread, "number": number} for number in range(len(streaming.FILMS))]
    return {"clips": ["bbb-x264-4s", *films]}


def _target(seconds: int) -> dict[str, Any]:
    return {"kind": "festive", "sample": "first-byte", "target-buffer": f"{seconds}s"}


CHANGES: dict[str, Change] = {
    "every step up at once": Change("default", {"kind": "gpac", "sample": "first-byte"}),
    "up one level at a time, as GPAC from 0.6.0 on": Change("default", {**GPAC, "gradual": True}),
    "slow segments given up (GPAC's `AllowAbort`)": Change("default", GPAC, {"give-up": True}),
    "throughput from the request": Change("default", {**GPAC, "sample": "request"}),
    "Big Buck Bunny alone": Change("default", GPAC, {"clips": ["bbb-x264-4s"]}),
    "films of nearly constant rate (spread 0.1)": Change("default", GPAC, _films(0.1)),
    "playing goes on with 8 s of video": Change("default", GPAC, {"resume": "8s"}),
    "receive window of 65536 bytes": Change("default", GPAC, {"receive-window": "65536B"}),
    "receive window of 98304 bytes": Change("default", GPAC, {"receive-window": "98304B"}),
    "a receive window that grows to Linux's 6 MB": Change("default", GPAC, {"receive-window": "6MB"}),
    "target of 44 s": Change("FESTIVE", _target(44)),
    "target of 36 s": Change("FESTIVE", _target(36)),
    "target of 30 s, FESTIVE's own": Change("FESTIVE", _target(30)),
    "target of 30 s, films of nearly constant rate": Change("FESTIVE", _target(30), _films(0.1)),
}


def document(number: int, change: Change) -> dict[str, Any]:
    """Return six viewers behind the queues of table II, changed in one respect."""
    return streaming.document(
        f"stalls-{number}",
        [streaming.viewers(change.algorithm, buffer=BUFFER, **change.users)],
        RTT_MS,
        sweep={QUEUE: [f"{bdp}BDP" for bdp in QUEUES]},
        repeat=REPLICATIONS,
    )


def rows(root: str | os.PathLike[str], jobs: int | None = None) -> Iterator[list[str]]:
    """Return the table: for each player the study's row, ours, and ours changed; run what is missing."""
    six = streaming.cells(streaming.queue_document(60), root, jobs, streaming.ALGORITHM, QUEUE)
    for player in ("default", "FESTIVE"):
        yield [player, "*the study*", *_study(player)]
        yield [player, "nothing", *_ours({bdp: six[player, f"{bdp}BDP"] for bdp in QUEUES})]
        for number, (what, change) in enumerate(CHANGES.items()):
            if change.player == player:
                found = streaming.cells(document(number, change), root, jobs, QUEUE)
                yield [player, what, *_ours({bdp: found[(f"{bdp}BDP",)] for bdp in QUEUES})]


def _study(player: str) -> list[str]:
    table = {
        row["queue_region"]: row
        for row in streaming.published("published/has-table2-stalls.csv")
        if (row["algorithm"], row["client_buffer_s"]) == (player, "60")
    }
    stalls, seconds = (float(table["30xBDP"][name]) for name in ("stalls", "stall_seconds"))
    runs = streaming.REPLICATIONS
    return [
        *(table[region]["clients_stalled_pct"] for region in REGIONS),
        f"{stalls / runs:.0f}",
        f"{seconds / stalls:.1f}",
        "",
    ]


def _ours(found: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[str]:
    def mean(runs: Sequence[Mapping[str, Any]], name: str) -> float:
        return statistics.fmean(streaming.numbers(runs, name))

    regions = [[run for bdp in streaming.region(name) for run in found[bdp]] for name in REGIONS]
    stalls, seconds = (mean(regions[-1], name) for name in ("stalls", "stall_s"))
    return [
        *(f"{mean(runs, 'clients_stalled_pct'):.0f}" for runs in regions),
        f"{stalls:.0f}",
        f"{seconds / stalls:.1f}" if stalls else "",
        f"{mean(found[1], 'utilisation'):.2f}",
    ]
