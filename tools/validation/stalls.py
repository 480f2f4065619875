"""When viewers of the [has] study stall: table II's regions with one thing changed at a time."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.validation import streaming
from tools.validation.runs import Runs
from tools.validation.streaming import FESTIVE, GPAC, QUEUE, QUEUES, RTT_MS

REPLICATIONS = 2
BUFFER = "60s"
REGIONS = {"1xBDP": "1 BDP", "2-20xBDP": "2–20 BDP", "30xBDP": "30 BDP"}
HEADS = ["player", "changed", *(f"{region}: % stalled" for region in REGIONS.values())]
HEADS += ["30 BDP: stalls a run", "30 BDP: mean stall, s", "1 BDP: utilisation"]

TEXT = f"""### When viewers stall: table II at a buffer of 60 s, one thing changed at a time

Rows of ours that say "nothing" are table II's; the changed ones have {REPLICATIONS} replications. The
study's stalls a run are its sums over {streaming.REPLICATIONS} runs.

GPAC's releases 0.5.2 to 0.7.0 (2015 to 2017) take a step to the next level only when a second segment asks
for it (`dash_do_rate_adaptation` in src/media_tools/dash_client.c; `SwitchProbeCount`, by default 1). The
study's sentence on its player does not say so, but its column of `default` up to 20 BDP is that of a player
which does: without this rule ours stalls about twice as many viewers and several times as often. Sources
from January 2016 on also go up one level at a time and look at the buffer, which the study's sentence
excludes. To give up a segment that comes too slowly (`AllowAbort`) is off unless set, and the study cannot
have set it: more than half of the link would have been left unused at 1 BDP. Those that still stall up to 20
BDP do so within two minutes for the most part, before the buffer is large, and from 2 BDP on only in the
films drawn with spread 0.25; with Big Buck Bunny alone nobody does, with more even films few do.

At 30 BDP the windows decide. Six of 131072 bytes stand in the queue without loss, a second of packets.
GPAC's clock leaves that round trip out, so a share of 0.96 Mb/s is measured as more than 1065 kb/s; every
viewer stays at this level and stalls when a segment is larger than its nominal size. Smaller windows,
windows that grow until packets are lost, or a clock that starts at the request bring fewer stalls or none.

*Unexplained:* at 30 BDP ours stalls more often than the study's, each time for half as long. The windows
change the number, the seconds of video with which playing goes on change the length; none that is sourced
gives both.

*Unexplained:* the study's FESTIVE stalls at 30 BDP and nowhere else. With a lower target of the buffer ours
does so too, but then also from 2 to 20 BDP, at the end of the climb (two to four minutes into the clip);
films of nearly constant rate do not part the two.
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
    return {**FESTIVE, "full-target": False, "target-buffer": f"{seconds}s"}


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
    viewers = [streaming.viewers(change.algorithm, buffer=BUFFER, **change.users)]
    sweep = {QUEUE: [f"{bdp}BDP" for bdp in QUEUES]}
    return streaming.document(f"stalls-{number}", viewers, RTT_MS, sweep=sweep, repeat=REPLICATIONS)


def rows(runs: Runs) -> Iterator[list[str]]:
    """Return the table: for each player the study's row, ours, and ours changed."""
    six = streaming.cells(streaming.queue_document(60), runs, streaming.ALGORITHM, QUEUE)
    for player in ("default", "FESTIVE"):
        yield [player, "*the study*", *_study(player)]
        yield [player, "nothing", *_ours(player, {queue: six[player, queue] for _, queue in six})]
        for number, (what, change) in enumerate(CHANGES.items()):
            if change.player == player:
                found = streaming.cells(document(number, change), runs, QUEUE)
                yield [player, what, *_ours(player, {queue: of for (queue,), of in found.items()})]


def _study(player: str) -> list[str]:
    table = streaming.stalls(60)
    worst = table[player, "30xBDP"].row
    stalls, seconds = worst["stalls"], worst["stall_seconds"]
    stalled = [f"{table[player, region].number:g}" for region in REGIONS]
    return [*stalled, f"{stalls / streaming.REPLICATIONS:.0f}", f"{seconds / stalls:.1f}", ""]


def _ours(player: str, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    def mean(runs: Sequence[Mapping[str, Any]], name: str) -> float:
        return statistics.fmean(streaming.numbers(runs, name))

    table = streaming.stalls(60)
    regions = [streaming.in_region(found, table[player, region]) for region in REGIONS]
    stalls, seconds = (mean(regions[-1], name) for name in ("stalls", "stall_s"))
    stalled = [f"{mean(runs, 'clients_stalled_pct'):.0f}" for runs in regions]
    length = f"{seconds / stalls:.1f}" if stalls else ""
    return [*stalled, f"{stalls:.0f}", length, f"{mean(found['1BDP'], 'utilisation'):.2f}"]
