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

from sojourn.figures.cells import interval
from sojourn.published import find
from sojourn.validation.checks import Check, mean_and_spread
from sojourn.validation.documents import fifo, link, results

LADDER = [235, 380, 568, 760, 1065, 1777, 2387, 3046, 3906, 4361]
GPAC = {"kind": "gpac", "sample": "first-byte"}
ALGORITHMS = {"default": GPAC, "FESTIVE": {"kind": "festive", "full-target": True}, "BBA-2": {"kind": "bba2"}}
REPLICATIONS = 5
EXPERIMENTS = 2
"""Replications of what only says what a result depends on."""
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
QUEUE, ALGORITHM, BUFFER = "path.down.queue.limit", "users.0.algorithm", "users.0.buffer"

TEXT = f"""## Adaptive streaming

The [has] study: viewers of 16-minute clips behind one FIFO of {LINK_BPS / 1e6:g} Mb/s, base RTT {RTT_MS} ms
(table V: six viewers at {NEAREST_MS}, 40, … 120 ms, the queue in BDP of the nearest). Simulated:
{REPLICATIONS} replications; ± is the half width of the 95 % interval of their mean. The readings are those of
`studies/has-queue.toml`. Instability and unfairness are of the nominal rate of the segment asked for last;
the study may have taken the segment's own bits ("of bits carried").
"""


def viewers(algorithm: Mapping[str, Any], count: int = VIEWERS, **keys: Any) -> dict[str, Any]:
    """Return a group of viewers."""
    return {"kind": "adaptive", "algorithm": dict(algorithm), "count": count, "rates-kbps": LADDER, **keys}


def document(name: str, users: Sequence[Mapping[str, Any]], rtt_ms: float, **keys: Any) -> dict[str, Any]:
    """Return the study of some viewers behind one queue."""
    return {
        "name": f"streaming-{name}",
        "seed": 1,
        "repeat": REPLICATIONS,
        "duration": "1200s",
        "path": {"rtt": f"{rtt_ms:g}ms", "down": link(LINK_BPS, fifo(20)), "up": link(1e8, fifo(1000))},
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
    name: str = "unequal",
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    queues: Sequence[int] = UNEQUAL_QUEUES,
    **keys: Any,
) -> dict[str, Any]:
    """Return table V: viewers at unequal round trips; `keys` are of all viewers."""
    users = [viewers(GPAC, 1, rtt=f"{NEAREST_MS * (i + 1)}ms", **keys) for i in range(VIEWERS)]
    for user in users if "clips" in keys else ():
        del user["rates-kbps"]  # those clips have another ladder
    chosen = [ALGORITHMS[algorithm] for algorithm in algorithms]
    ties = {f"users.{i}.algorithm": chosen for i in range(1, VIEWERS)}
    return document(
        name,
        users,
        NEAREST_MS,
        sweep={ALGORITHM: chosen, QUEUE: [f"{bdp}BDP" for bdp in queues]},
        tie=[{"with": ALGORITHM, "set": ties}],
    )


def experiment_documents() -> dict[str, dict[str, Any]]:
    """Return FESTIVE at 1 and 2 BDP with one thing changed at a time, by what it is."""
    festive = ALGORITHMS["FESTIVE"]
    changed: dict[str, dict[str, Any]] = {
        "newreno": {"transport": "newreno"},
        "hystart": {"hystart": "linux"},
        "no-idle-restart": {"idle-restart": False},
        "initial-window-3": {"initial-window": 3},
        "no-sack": {"sack": False},
        "min-rto-1s": {"min-rto": "1s"},
    }
    made = {
        name: document(
            f"1-bdp-{name}",
            [viewers(festive, **keys)],
            RTT_MS,
            sweep={QUEUE: ["1BDP", "2BDP"]},
            repeat=EXPERIMENTS,
        )
        for name, keys in changed.items()
    }
    # Fewer packets than 1 BDP: what a queue that counts packets under way, too, would leave.
    for packets in (2, 4, 10):
        made[f"a queue of {packets} packets, not 20"] = document(
            f"1-bdp-{packets}-packets",
            [viewers(festive)],
            RTT_MS,
            sweep={QUEUE: [f"{packets}pkt", "2BDP"]},
            repeat=EXPERIMENTS,
        )
    return made


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
        yield _cost(name, six[name, "1BDP"], six[name, "2BDP"])
    unequal = cells(unequal_document(), root, jobs, ALGORITHM, QUEUE)
    for name in ALGORITHMS:
        yield _halved(name, unequal[name, "2BDP"], unequal[name, "12BDP"])
    stalled = {row["algorithm"]: float(row["clients_stalled_pct"]) for row in _table_2(60, "30xBDP")}
    for name in ALGORITHMS:
        yield _stalls(name, six[name, "30BDP"], stalled[name], must=name != "BBA-2")
    list(tables(root, jobs))  # what the page prints besides is simulated with the checks


def _cost(name: str, one: Sequence[Mapping[str, Any]], two: Sequence[Mapping[str, Any]]) -> Check:
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
        rule=f"1 BDP costs {1 - high:.0%} to {1 - low:.0%} of the link",
    )


def _halved(name: str, near: Sequence[Mapping[str, Any]], far: Sequence[Mapping[str, Any]]) -> Check:
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


_TABLE_2 = "published/has-table2-stalls.csv"
_TABLE_4 = "published/has-table4a-festive-clients.csv"
_TABLE_5 = "published/has-table5-bba2-heterogeneous-rtt.csv"

Table = tuple[str, list[str], list[list[str]]]


def tables(root: str | os.PathLike[str], jobs: int | None = None) -> Iterator[Table]:
    """Return experiments and tables II, IV (a) and V: a title, column heads, and rows."""
    yield _experiments(root, jobs)
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


def _experiments(root: str | os.PathLike[str], jobs: int | None) -> Table:
    rows = []
    for name, changed in experiment_documents().items():
        by_queue = cells(changed, root, jobs, QUEUE)
        small, two = (by_queue[label] for label in by_queue)
        check = _cost(name, small, two)
        rows.append([f"FESTIVE, {name}", check.quantity, f"{check.ours:.3f}"])
    even = unequal_document("unequal-even", ["BBA-2"], (2, 12), clips=["envivio-4s"])
    found = cells(even, root, jobs, ALGORITHM, QUEUE)
    check = _halved("", found["BBA-2", "2BDP"], found["BBA-2", "12BDP"])
    rows.append(["BBA-2, segments of nearly equal size (envivio-4s)", check.quantity, f"{check.ours:.3f}"])
    six = cells(queue_document(60), root, jobs, ALGORITHM, QUEUE)
    for name in ALGORITHMS:
        level = statistics.fmean(numbers(six[name, "2BDP"], "unfairness"))
        rows.append([f"{name}, all at {RTT_MS} ms", "unfairness at 2 BDP", f"{level:.3f}"])
    changed = document(
        "start",
        [viewers(GPAC, **{"start-anywhere": False})],
        RTT_MS,
        sweep={ALGORITHM: [GPAC, {"kind": "festive"}], QUEUE: ["2BDP"]},
    )
    found = cells(changed, root, jobs, ALGORITHM, QUEUE)
    for what, runs in (
        ("default, each from another segment on", six["default", "2BDP"]),
        ("default, all from the first segment on", found["default", "2BDP"]),
        ("FESTIVE, target of 56 s, each from another segment on", six["FESTIVE", "2BDP"]),
        ("FESTIVE, the paper's target of 30 s, all from the first segment on", found["FESTIVE", "2BDP"]),
    ):
        stalls = statistics.fmean(numbers(runs, "stalls"))
        rows.append([what, "stalls in a run at 2 BDP", f"{stalls:.1f}"])
    request = document("request", [viewers({"kind": "gpac"})], RTT_MS, sweep={QUEUE: ["30BDP"]})
    runs = cells(request, root, jobs, QUEUE)["30BDP",]
    for label, results_of in (("the request", runs), ("the first byte", six["default", "30BDP"])):
        stalls = statistics.fmean(numbers(results_of, "stalls"))
        rows.append([f"default, throughput from {label}", "stalls in a run at 30 BDP", f"{stalls:.0f}"])
    return "What these depend on: one thing changed at a time", ["what", "quantity", "sojourn"], rows


def _stall_table(root: str | os.PathLike[str], jobs: int | None) -> Table:
    rows = []
    for buffer_s in (60, 640):
        found = cells(queue_document(buffer_s), root, jobs, ALGORITHM, QUEUE)
        for row in published(_TABLE_2):
            if row["client_buffer_s"] != str(buffer_s):
                continue
            queues = _region(row["queue_region"])
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


def _region(text: str) -> list[int]:
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
