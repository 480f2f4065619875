"""What the [has] study found of queue sizes under adaptive streaming, looked for in runs of this engine.

Its tables II, IV (a) and V are printed beside ours. The findings are the study's; the bounds are this file's
reading of them. Runs are whole: viewers of 16-minute clips, five replications, as in `studies/has-*.toml`.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.report.published import Entry, load
from sojourn.results.interval import half_width

from tools.validation.checks import Check, Rule, compare, near, span
from tools.validation.documents import fifo, link
from tools.validation.runs import Runs
from tools.validation.tables import Table

LADDER = [235, 380, 568, 760, 1065, 1777, 2387, 3046, 3906, 4361]
GPAC = {"kind": "gpac", "probes": 2, "sample": "first-byte"}
FESTIVE = {"kind": "festive", "full-target": True, "p-mode": "band", "sample": "first-byte"}
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
COMMON = {"seed": 1, "repeat": REPLICATIONS, "duration": "1200s"}
"""What every study of this section has."""
LINK_BPS = 6e6
RTT_MS = 40
NEAREST_MS = 20
VIEWERS = 6
QUEUES = (1, 2, 5, 10, 20, 30)
BUFFERS = ("60s", "240s", "640s")
"""The study's playback buffers; it does not say with which of them it took table IV."""
UNEQUAL_QUEUES = (2, 4, 6, 8, 10, 12)
ONE_BDP = (0.70, 0.90)
COSTS = span(*ONE_BDP, "1 BDP costs 10 to 30 % of what 2 BDP carry")
FALLS = span(0, 0.55, "at most 0.55 (the study: it falls by half)")
SOMEBODY = Rule("a player by rate: some viewers stall", lambda ours, *_: ours > 0)
NOBODY = Rule("BBA-2: no viewer stalls", lambda ours, *_: ours == 0)
UTILISED = near("the study's", share=0.10)
UNFAIR = near("the study's", add=0.10)
QUEUE, ALGORITHM, BUFFER = "path.down.queue.limit", "users.0.algorithm", "users.0.buffer"
COUNT = "users.0.count"

TEXT = f"""## Adaptive streaming

The [has] study: viewers of 16-minute clips behind one queue of {LINK_BPS / 1e6:g} Mb/s, base RTT {RTT_MS} ms
(table V: six viewers at {NEAREST_MS}, 40, … 120 ms, the queue in BDP of the nearest). Simulated:
{REPLICATIONS} replications; ± is the half width of the 95 % interval of their mean. What the study does not
say is read as in `studies/has-queue.toml`, where the reasons are; some of these readings are fitted
(`Fitted`, above). The tables below show the other readings. The first is the queue's: Mininet's links have
delay and queue in one `netem` ([models](models/netem.md)), whose limit counts the packets that wait out their
delay. Instability and unfairness are of the nominal rate of the segment asked for last; "of bits carried"
takes the segment's own bits. Of table II only the column at 30 BDP has a rule; where the others differ, and
what that depends on, is said below it. Of the eight clips only Big Buck Bunny's segment sizes are real. The
other seven are generated with a spread of 0.25, which is an assumption.
"""

AIMING = {**FESTIVE, "p-mode": "target"}
"""FESTIVE as it is here by default."""
BUFFER_TEXT = f"""The study does not say with which playback buffer it took the table. The rule above is that
of its utilisations with {BUFFERS[0]}: the buffer was chosen by these figures (`Fitted`, above). Instability
is that from segment to segment, over the last 20 s of video.
"""
UNEQUAL_TEXT = """Between real programs (kernel TCP, our players over real HTTP) BBA-2 does as it does
here, the farthest viewer at 12 BDP included, and no viewer of FESTIVE stalls at 30 BDP:
[testbed](testbed.md). So neither is of simulated TCP or of the simulated queue; what the study's players or
its Mininet did differently is not known.
"""
INSTABILITY_TEXT = """The study gives instability over the last 20 s and does not say how often it reads the
rate: once a second, as FESTIVE's authors do, or once a segment, of which 20 s have five. Nor does it say
how its FESTIVE goes down: where the present rate is not the highest below 0.85 of the bandwidth any more,
or where it is above 0.85 of the bandwidth while up is free to all of it (`band`). Both were chosen by these
figures and by the unfairness of the same table (`Fitted`, above); what each would be without the other is
here.
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
    path = {"rtt": "0ms", "down": down, "up": link(1e8, fifo(1000))}
    viewers = [dict(user) for user in users]
    return {"name": f"streaming-{name}", **COMMON, "path": path, "users": viewers, **keys}


def queue_document(buffer_s: int) -> dict[str, Any]:
    """Return table II and figure 2: three algorithms over queues, at one playback buffer."""
    sweep = {ALGORITHM: list(ALGORITHMS.values()), QUEUE: [f"{bdp}BDP" for bdp in QUEUES]}
    return document(f"queue-{buffer_s}", [viewers(GPAC, buffer=f"{buffer_s}s")], RTT_MS, sweep=sweep)


def clients_document(
    name: str = "clients", algorithm: Mapping[str, Any] = FESTIVE, buffers: Sequence[str] = BUFFERS
) -> dict[str, Any]:
    """Return table IV (a): FESTIVE viewers over queues of 1 and 2 BDP, with each playback buffer."""
    sweep = {COUNT: [2, 4, 6, 8], QUEUE: ["1BDP", "2BDP"], BUFFER: list(buffers)}
    return document(name, [viewers(algorithm)], RTT_MS, sweep=sweep)


def unequal_document(
    name: str = "unequal", queues: Sequence[int] = UNEQUAL_QUEUES, delay_ms: float = NEAREST_MS, **keys: Any
) -> dict[str, Any]:
    """Return table V: viewers at unequal round trips, `delay_ms` of each in the queue.

    `keys` are of all viewers.
    """
    users = [viewers(GPAC, 1, rtt=f"{NEAREST_MS * (i + 1) - delay_ms:g}ms", **keys) for i in range(VIEWERS)]
    chosen = list(ALGORITHMS.values())
    ties = {f"users.{i}.algorithm": chosen for i in range(1, VIEWERS)}
    sweep = {ALGORITHM: chosen, QUEUE: [f"{bdp}BDP" for bdp in queues]}
    return document(name, users, delay_ms, sweep=sweep, tie=[{"with": ALGORITHM, "set": ties}])


Cells = dict[tuple[str, ...], list[Mapping[str, Any]]]
NAMES = {str(algorithm["kind"]): name for name, algorithm in ALGORITHMS.items()}


def cells(document: Mapping[str, Any], runs: Runs, *axes: str) -> Cells:
    """Return the `adaptive` of every replication by the labels of some axes."""
    found: Cells = {}
    for result in runs.of(document):
        labels = [str(result["point"][axis]) for axis in axes]
        found.setdefault(tuple(NAMES.get(label, label) for label in labels), []).append(result["adaptive"])
    return found


def numbers(found: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return a number of every replication."""
    return [float(result[name]) for result in found]


def published(table: str, name: str) -> list[Entry]:
    """Return what a published table has of a number of `adaptive`, in our unit."""
    return load(f"published/{table}.csv").entries(f"adaptive.{name}")


def stalls(buffer_s: int, name: str = "clients_stalled_pct") -> dict[tuple[str, str], Entry]:
    """Return a number of table II at a buffer, by player and region of queues."""
    return {
        (entry.row["algorithm"], entry.row["queue_region"]): entry
        for entry in published(_TABLE_2, name)
        if entry.labels[BUFFER] == (f"{buffer_s}s",)
    }


def in_region(found: Mapping[str, Sequence[Mapping[str, Any]]], entry: Entry) -> list[Mapping[str, Any]]:
    """Return the runs behind the queues that an entry of table II is of."""
    return [run for queue in entry.labels[QUEUE] for run in found[queue]]


def checks(runs: Runs) -> Iterator[Check]:
    """Look for the findings."""
    six = cells(queue_document(60), runs, ALGORITHM, QUEUE)
    for name in ALGORITHMS:
        yield cost(name, six[name, "1BDP"], six[name, "2BDP"])
    unequal = cells(unequal_document(), runs, ALGORITHM, QUEUE)
    for name in ALGORITHMS:
        yield halved(name, unequal[name, "2BDP"], unequal[name, "12BDP"])
    of_study = stalls(60)
    for name in ALGORITHMS:
        key, quantity = f"streaming/30-bdp-stalls/{name}/viewers", "viewers that stall at 30 BDP"
        stalled = numbers(six[name, "30BDP"], "clients_stalled_pct")
        references = {"study": of_study[name, "30xBDP"].number}
        yield compare(key, quantity, "%", stalled, references, NOBODY if name == "BBA-2" else SOMEBODY)
    clients = cells(clients_document(), runs, COUNT, QUEUE, BUFFER)
    for entry in published(_TABLE_4, "utilisation"):
        [count], [queue] = entry.labels[COUNT], entry.labels[QUEUE]
        key = f"streaming/table-4a/{entry.row['queue']}/{count}-viewers"
        shares = [100 * share for share in numbers(clients[count, queue, BUFFERS[0]], "utilisation")]
        study = {"study": 100 * entry.number}
        yield compare(key, "utilisation by video, FESTIVE", "%", shares, study, UTILISED)
    for entry in published(_TABLE_5, "unfairness"):
        [queue] = entry.labels[QUEUE]
        key = f"streaming/table-5/{queue.replace('BDP', 'xBDP')}/BBA-2"
        found = numbers(unequal["BBA-2", queue], "unfairness")
        quantity = "unfairness with unequal round trips"
        yield compare(key, quantity, "", found, {"study": entry.number}, UNFAIR)


def cost(name: str, one: Sequence[Mapping[str, Any]], two: Sequence[Mapping[str, Any]]) -> Check:
    """Hold what 1 BDP carries of what 2 BDP carry against the study's statement."""
    pairs = zip(numbers(one, "utilisation"), numbers(two, "utilisation"), strict=True)
    references = dict(zip(("study, least", "study, most"), ONE_BDP, strict=True))
    quantity = "utilisation at 1 BDP over that at 2 BDP"
    ratios = [small / large for small, large in pairs]
    return compare(f"streaming/1-bdp-cost/{name}/ratio", quantity, "", ratios, references, COSTS)


def halved(name: str, near: Sequence[Mapping[str, Any]], far: Sequence[Mapping[str, Any]]) -> Check:
    """Hold what is left of unfairness behind a larger queue against the study's statement."""
    pairs = zip(numbers(far, "unfairness"), numbers(near, "unfairness"), strict=True)
    of_study = {entry.labels[QUEUE]: entry.number for entry in published(_TABLE_5, "unfairness")}
    references = {"study, BBA-2": of_study["12BDP",] / of_study["2BDP",]}
    quantity = "unfairness at 12 BDP over that at 2 BDP"
    ratios = [after / before for after, before in pairs]
    return compare(f"streaming/unequal-rtt/{name}/ratio", quantity, "", ratios, references, FALLS)


_TABLE_2 = "has-table2-stalls"
_TABLE_4 = "has-table4a-festive-clients"
_TABLE_5 = "has-table5-bba2-heterogeneous-rtt"


NUMBERS = {"utilisation_pct": ("utilisation", 100), "instability": ("instability_segments", 1)}
"""Our numbers for those of table IV (a) that are called otherwise, and what they are multiplied by."""


def tables(runs: Runs) -> Iterator[Table]:
    """Return tables II, IV (a) and V."""
    yield _stall_table(runs)
    by_count = cells(clients_document(), runs, COUNT, QUEUE, BUFFER)
    rows = []
    for entry in load(f"published/{_TABLE_4}.csv").frame.iter_rows(named=True):
        metric, count, queue = entry["metric"], str(entry["video_clients"]), entry["queue"]
        name, share = NUMBERS.get(metric, (metric, 1))
        each = [by_count[count, queue.replace("x", ""), buffer] for buffer in BUFFERS]
        ours = [_with_interval([share * n for n in numbers(found, name)]) for found in each]
        carried = f"{name}_carried"
        own = _with_interval(numbers(each[0], carried)) if carried in each[0][0] else ""
        rows.append([queue, metric, count, f"{entry['value']:g}", *ours, own])
    heads = ["queue", "metric", "viewers", "study", *BUFFERS, f"of bits carried, {BUFFERS[0]}"]
    yield Table("Table IV (a): FESTIVE, with each of the study's playback buffers", heads, rows, BUFFER_TEXT)
    yield _instability_table(runs)
    unequal = cells(unequal_document(), runs, ALGORITHM, QUEUE)
    rows = []
    for entry in published(_TABLE_5, "unfairness"):
        [queue] = entry.labels[QUEUE]
        players = ("BBA-2", "FESTIVE", "default")
        ours = [_with_interval(numbers(unequal[name, queue], "unfairness")) for name in players]
        rates = [result["per_client_rate_kbps"] for result in unequal["BBA-2", queue]]
        means = [f"{statistics.fmean(rate):.0f}" for rate in zip(*rates, strict=True)]
        own = _with_interval(numbers(unequal["BBA-2", queue], "unfairness_carried"))
        rows.append([queue, ours[0], own, f"{entry.number:g}", *ours[1:], " ".join(means)])
    heads = ["queue", "BBA-2", "of bits carried", "study, BBA-2", "FESTIVE", "default"]
    heads.append("BBA-2: kb/s at 20, 40, … 120 ms")
    yield Table("Table V: unfairness with unequal round trips", heads, rows, UNEQUAL_TEXT)


def _instability_table(runs: Runs) -> Table:
    aiming = clients_document("aiming", AIMING, BUFFERS[:1])
    found = [cells(each, runs, COUNT, QUEUE, BUFFER) for each in (aiming, clients_document())]
    rows = []
    for entry in published(_TABLE_4, "instability_segments"):
        [count], [queue] = entry.labels[COUNT], entry.labels[QUEUE]
        each = [of[count, queue, BUFFERS[0]] for of in found]
        read = [numbers(of, name) for of in each for name in ("instability", "instability_segments")]
        unfair = [_with_interval(numbers(of, "unfairness")) for of in each]
        rows.append([queue, count, f"{entry.number:g}", *map(_with_interval, read), *unfair])
    often = ("once a second", "once a segment")
    heads = [f"{mode}, {how}" for mode in ("0.85 of the bandwidth", "band") for how in often]
    heads += ["unfairness: 0.85 of the bandwidth", "unfairness: band"]
    title = f"Table IV (a), instability with {BUFFERS[0]}: how FESTIVE aims, and how often its rate is read"
    return Table(title, ["queue", "viewers", "study", *heads], rows, INSTABILITY_TEXT)


def _stall_table(runs: Runs) -> Table:
    rows = []
    for buffer_s in (60, 640):
        found = cells(queue_document(buffer_s), runs, ALGORITHM, QUEUE)
        for (player, region), entry in stalls(buffer_s).items():
            behind = in_region({queue: found[player, queue] for _, queue in found}, entry)
            stalled = statistics.fmean(numbers(behind, "clients_stalled_pct"))
            ours = [f"{n:.0f}" for n in (stalled, *(sum(numbers(behind, n)) for n in ("stalls", "stall_s")))]
            study = [entry.row[name] for name in ("clients_stalled_pct", "stalls", "stall_seconds")]
            cells_of = [f"{own} ({other:g})" for own, other in zip(ours, study, strict=True)]
            rows.append([player, str(buffer_s), region, str(len(behind)), *cells_of])
    heads = ["algorithm", "buffer, s", "queue", "runs", "viewers stalled, % (study)", "stalls", "seconds"]
    return Table("Table II: ours (study); sums are over our runs, and over those of the study", heads, rows)


def _with_interval(found: Sequence[float]) -> str:
    half, mean = half_width(found), statistics.fmean(found)
    text = f"{mean:.3g}" if mean < 1000 else f"{mean:.0f}"
    return text if half is None else f"{text} ± {half:.2g}"
