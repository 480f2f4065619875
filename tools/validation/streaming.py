"""What the [has] study found of queue sizes under adaptive streaming, looked for in runs of this engine.

Its tables II, IV (a) and V are printed beside ours. The findings are the study's; the bounds are this file's
reading of them. Runs are whole: viewers of 16-minute clips, five replications, as in `studies/has-*.toml`.
"""

from __future__ import annotations

import csv
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.report.published import find
from sojourn.results.interval import half_width as interval

from tools.validation.checks import Check, mean_and_spread, within
from tools.validation.documents import fifo, link, results

LADDER = [235, 380, 568, 760, 1065, 1777, 2387, 3046, 3906, 4361]
GPAC = {"kind": "gpac", "probes": 2, "sample": "first-byte"}
FESTIVE = {"kind": "festive", "full-target": True, "sample": "first-byte"}
ALGORITHMS = {"default": GPAC, "FESTIVE": FESTIVE, "BBA-2": {"kind": "bba2"}}
FILMS = [{"spread": 0.25, "number": number} for number in range(7)]
VIEWER: dict[str, Any] = {
    "rates-kbps": LADDER,
    "clips": ["bbb-x264-4s", *FILMS],
    "start-anywhere": False,
    "stack": "linux",
    "receive-window": "131072B",
}
"""What every viewer of the study has; the reasons are in `studies/has-queue.toml`."""
REPLICATIONS = 5
LINK_BPS = 6e6
RTT_MS = 40
NEAREST_MS = 20
VIEWERS = 6
QUEUES = (1, 2, 5, 10, 20, 30)
UNEQUAL_QUEUES = (2, 4, 6, 8, 10, 12)
ONE_BDP = (0.70, 0.90)
"""1 BDP costs 10 to 30 % of what 2 BDP carry."""
HALVED = 0.55
"""Unfairness falls by half: to at most so much of what it was."""
TABLE_SHARE = 0.10
TABLE_UNFAIRNESS = 0.10
"""How far a cell of tables IV and V may be from the study's: share of utilisation, amount of unfairness."""
QUEUE, ALGORITHM, BUFFER = "path.down.queue.limit", "users.0.algorithm", "users.0.buffer"

TEXT = f"""## Adaptive streaming

The [has] study: viewers of 16-minute clips behind one queue of {LINK_BPS / 1e6:g} Mb/s, base RTT {RTT_MS} ms
(table V: six viewers at {NEAREST_MS}, 40, … 120 ms, the queue in BDP of the nearest). Simulated:
{REPLICATIONS} replications; ± is the half width of the 95 % interval of their mean. What the study does not
say is read as in `studies/has-queue.toml`, where the reasons are; the tables below show the other readings.
The first is the queue's: Mininet's links have delay and queue in one `netem` ([models](models/netem.md)),
whose limit counts the packets that wait out their delay. Instability and unfairness are of the nominal rate
of the segment asked for last; "of bits carried" takes the segment's own bits. Tables IV and V: a cell holds
within {100 * TABLE_SHARE:g} % of the study's utilisation, or {TABLE_UNFAIRNESS:g} of its unfairness. Table II
is held to a rule at 30 BDP only; where it differs, and on what that depends, is said below it.
"""


def netem(limit: str, delay_ms: float) -> dict[str, Any]:
    """Return a queue as Mininet makes it: part of the delay is in it."""
    return {"kind": "netem", "limit": limit, "delay": f"{delay_ms:g}ms"}


def viewers(algorithm: Mapping[str, Any], count: int = VIEWERS, **keys: Any) -> dict[str, Any]:
    """Return a group of viewers."""
    return {"kind": "adaptive", "algorithm": dict(algorithm), "count": count, **VIEWER, **keys}


def document(name: str, users: Sequence[Mapping[str, Any]], delay_ms: float, **keys: Any) -> dict[str, Any]:
    """Return the study of some viewers behind one queue, in which `delay_ms` of the round trip are spent."""
    down = link(LINK_BPS, netem("1BDP", delay_ms))
    return {
        "name": f"streaming-{name}",
        "seed": 1,
        "repeat": REPLICATIONS,
        "duration": "1200s",
        "path": {"rtt": "0ms", "down": down, "up": link(1e8, fifo(1000))},
        "users": [dict(user) for user in users],
        **keys,
    }


def queue_document(buffer_s: int) -> dict[str, Any]:
    """Return table II and figure 2: three algorithms over queues, at one playback buffer."""
    sweep = {ALGORITHM: list(ALGORITHMS.values()), QUEUE: [f"{bdp}BDP" for bdp in QUEUES]}
    return document(f"queue-{buffer_s}", [viewers(GPAC, buffer=f"{buffer_s}s")], RTT_MS, sweep=sweep)


def clients_document() -> dict[str, Any]:
    """Return table IV (a): FESTIVE viewers over queues of 1 and 2 BDP."""
    sweep = {"users.0.count": [2, 4, 6, 8], QUEUE: ["1BDP", "2BDP"]}
    return document("clients", [viewers(ALGORITHMS["FESTIVE"])], RTT_MS, sweep=sweep)


def unequal_document(
    name: str = "unequal", queues: Sequence[int] = UNEQUAL_QUEUES, delay_ms: float = NEAREST_MS, **keys: Any
) -> dict[str, Any]:
    """Return table V: viewers at unequal round trips, `delay_ms` of each in the queue.

    `keys` are of all viewers.
    """
    users = [viewers(GPAC, 1, rtt=f"{NEAREST_MS * (i + 1) - delay_ms:g}ms", **keys) for i in range(VIEWERS)]
    chosen = list(ALGORITHMS.values())
    ties = {f"users.{i}.algorithm": chosen for i in range(1, VIEWERS)}
    return document(
        name,
        users,
        delay_ms,
        sweep={ALGORITHM: chosen, QUEUE: [f"{bdp}BDP" for bdp in queues]},
        tie=[{"with": ALGORITHM, "set": ties}],
    )


Cells = dict[tuple[str, ...], list[Mapping[str, Any]]]


def cells(document: Mapping[str, Any], root: str | os.PathLike[str], jobs: int | None, *axes: str) -> Cells:
    """Return the `adaptive` of every replication by the labels of some axes; run what is missing."""
    kinds = {str(algorithm["kind"]): name for name, algorithm in ALGORITHMS.items()}
    found: Cells = {}
    for result in results(document, root, jobs):
        labels = tuple(
            kinds.get(str(label), str(label)) for label in (result["point"][axis] for axis in axes)
        )
        found.setdefault(labels, []).append(result["adaptive"])
    return found


def numbers(found: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return a number of every replication."""
    return [float(result[name]) for result in found]


def published(name: str) -> list[dict[str, str]]:
    """Return the rows of a published table."""
    with find(name, [Path("studies")]).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def checks(root: str | os.PathLike[str], jobs: int | None = None) -> Iterator[Check]:
    """Look for the findings, and for what they depend on."""
    six = cells(queue_document(60), root, jobs, ALGORITHM, QUEUE)
    for name in ALGORITHMS:
        yield cost(name, six[name, "1BDP"], six[name, "2BDP"])
    unequal = cells(unequal_document(), root, jobs, ALGORITHM, QUEUE)
    for name in ALGORITHMS:
        yield halved(name, unequal[name, "2BDP"], unequal[name, "12BDP"])
    stalled = {row["algorithm"]: float(row["clients_stalled_pct"]) for row in _table_2(60, "30xBDP")}
    for name in ALGORITHMS:
        yield _stalls(name, six[name, "30BDP"], stalled[name], must=name != "BBA-2")
    clients = cells(clients_document(), root, jobs, "users.0.count", QUEUE)
    for row in published(_TABLE_4):
        if row["metric"] == "utilisation_pct":
            yield _utilisation(row, clients[row["video_clients"], row["queue"].replace("x", "")])
    for row in published(_TABLE_5):
        yield _unfairness(row, unequal["BBA-2", f"{row['queue_in_bdp_of_20ms_client']}BDP"])


def cost(name: str, one: Sequence[Mapping[str, Any]], two: Sequence[Mapping[str, Any]]) -> Check:
    pairs = zip(numbers(one, "utilisation"), numbers(two, "utilisation"), strict=True)
    ours, spread = mean_and_spread([small / large for small, large in pairs])
    low, high = ONE_BDP
    return Check(
        key=f"streaming/1-bdp-cost/{name}/ratio",
        quantity="utilisation at 1 BDP over that at 2 BDP",
        unit="",
        ours=ours,
        spread=spread,
        references=(("study, least", low), ("study, most", high)),
        ok=low <= ours <= high,
        rule=f"1 BDP costs {100 * (1 - high):.0f} to {100 * (1 - low):.0f} % of the link",
    )


def halved(name: str, near: Sequence[Mapping[str, Any]], far: Sequence[Mapping[str, Any]]) -> Check:
    pairs = zip(numbers(far, "unfairness"), numbers(near, "unfairness"), strict=True)
    ours, spread = mean_and_spread([after / before for after, before in pairs])
    rows = {row["queue_in_bdp_of_20ms_client"]: float(row["unfairness"]) for row in published(_TABLE_5)}
    return Check(
        key=f"streaming/unequal-rtt/{name}/ratio",
        quantity="unfairness at 12 BDP over that at 2 BDP",
        unit="",
        ours=ours,
        spread=spread,
        references=(("study, BBA-2", rows["12"] / rows["2"]),),
        ok=ours <= HALVED,
        rule=f"at most {HALVED:g}",
    )


def _stalls(name: str, found: Sequence[Mapping[str, Any]], study: float, *, must: bool) -> Check:
    ours, spread = mean_and_spread(numbers(found, "clients_stalled_pct"))
    return Check(
        key=f"streaming/30-bdp-stalls/{name}/viewers",
        quantity="viewers that stall at 30 BDP",
        unit="%",
        ours=ours,
        spread=spread,
        references=(("study", study),),
        ok=(ours > 0) == must,
        rule="rate-based players stall, BBA-2 does not",
    )


def _utilisation(row: Mapping[str, str], found: Sequence[Mapping[str, Any]]) -> Check:
    ours, spread = mean_and_spread([100 * share for share in numbers(found, "utilisation")])
    return Check(
        key=f"streaming/table-4a/{row['queue']}/{row['video_clients']}-viewers",
        quantity="utilisation by video, FESTIVE",
        unit="%",
        ours=ours,
        spread=spread,
        references=(("study", float(row["value"])),),
        ok=within(ours, [float(row["value"])], share=TABLE_SHARE),
        rule=f"within {100 * TABLE_SHARE:g} % of the study's",
    )


def _unfairness(row: Mapping[str, str], found: Sequence[Mapping[str, Any]]) -> Check:
    ours, spread = mean_and_spread(numbers(found, "unfairness"))
    return Check(
        key=f"streaming/table-5/{row['queue_in_bdp_of_20ms_client']}xBDP/BBA-2",
        quantity="unfairness with unequal round trips",
        unit="",
        ours=ours,
        spread=spread,
        references=(("study", float(row["unfairness"])),),
        ok=within(ours, [float(row["unfairness"])], add=TABLE_UNFAIRNESS),
        rule=f"within {TABLE_UNFAIRNESS:g} of the study's",
    )


_TABLE_2 = "published/has-table2-stalls.csv"
_TABLE_4 = "published/has-table4a-festive-clients.csv"
_TABLE_5 = "published/has-table5-bba2-heterogeneous-rtt.csv"

Table = tuple[str, list[str], list[list[str]]]


def tables(root: str | os.PathLike[str], jobs: int | None = None) -> Iterator[Table]:
    """Return tables II, IV (a) and V: a title, column heads, and rows."""
    yield _stall_table(root, jobs)
    by_count = cells(clients_document(), root, jobs, "users.0.count", QUEUE)
    rows = []
    for row in published(_TABLE_4):
        name, share = {"utilisation_pct": ("utilisation", 100)}.get(row["metric"], (row["metric"], 1))
        found = by_count[row["video_clients"], row["queue"].replace("x", "")]
        ours = _with_interval([share * n for n in numbers(found, name)])
        carried = f"{name}_carried"
        own = _with_interval(numbers(found, carried)) if carried in found[0] else ""
        rows.append([row["queue"], row["metric"], row["video_clients"], ours, own, row["value"]])
    heads = ["queue", "metric", "viewers", "sojourn", "of bits carried", "study"]
    yield "Table IV (a): FESTIVE", heads, rows
    unequal = cells(unequal_document(), root, jobs, ALGORITHM, QUEUE)
    rows = []
    for row in published(_TABLE_5):
        queue = f"{row['queue_in_bdp_of_20ms_client']}BDP"
        ours = [
            _with_interval(numbers(unequal[name, queue], "unfairness"))
            for name in ("BBA-2", "FESTIVE", "default")
        ]
        rates = [result["per_client_rate_kbps"] for result in unequal["BBA-2", queue]]
        means = [f"{statistics.fmean(rate):.0f}" for rate in zip(*rates, strict=True)]
        own = _with_interval(numbers(unequal["BBA-2", queue], "unfairness_carried"))
        rows.append([queue, ours[0], own, row["unfairness"], *ours[1:], " ".join(means)])
    heads = ["queue", "BBA-2", "of bits carried", "study, BBA-2", "FESTIVE", "default"]
    heads.append("BBA-2: kb/s at 20, 40, … 120 ms")
    yield "Table V: unfairness with unequal round trips", heads, rows


def _stall_table(root: str | os.PathLike[str], jobs: int | None) -> Table:
    rows = []
    for buffer_s in (60, 640):
        found = cells(queue_document(buffer_s), root, jobs, ALGORITHM, QUEUE)
        for row in published(_TABLE_2):
            if row["client_buffer_s"] != str(buffer_s):
                continue
            queues = region(row["queue_region"])
            runs = [result for queue in queues for result in found[row["algorithm"], f"{queue}BDP"]]
            totals = [sum(numbers(runs, name)) for name in ("stalls", "stall_s")]
            ours = [
                f"{statistics.fmean(numbers(runs, 'clients_stalled_pct')):.0f}",
                *(f"{n:.0f}" for n in totals),
            ]
            study = (row["clients_stalled_pct"], row["stalls"], row["stall_seconds"])
            rows.append(
                [row["algorithm"], str(buffer_s), row["queue_region"], str(len(runs))]
                + [f"{own} ({other})" for own, other in zip(ours, study, strict=True)]
            )
    heads = ["algorithm", "buffer, s", "queue", "runs", "viewers stalled, % (study)", "stalls", "seconds"]
    return (
        "Table II: ours (study); sums are over our runs, and over those of the study",
        heads,
        rows,
    )


def _table_2(buffer_s: int, region: str) -> list[dict[str, str]]:
    wanted = (str(buffer_s), region)
    return [row for row in published(_TABLE_2) if (row["client_buffer_s"], row["queue_region"]) == wanted]


def region(text: str) -> list[int]:
    """Return the queues of a region of table II: `1xBDP`, `2-20xBDP` or `any`."""
    if text == "any":
        return list(QUEUES)
    low, _, high = text.removesuffix("xBDP").partition("-")
    return [bdp for bdp in QUEUES if int(low) <= bdp <= int(high or low)]


def _with_interval(found: Sequence[float]) -> str:
    half = interval(found)
    mean = (
        f"{statistics.fmean(found):.3g}"
        if statistics.fmean(found) < 1000
        else f"{statistics.fmean(found):.0f}"
    )
    return mean if half is None else f"{mean} ± {half:.2g}"
