"""What the short workloads of the IMC 2014 study depend on: ways to read "sessions", beside its table 1.

The study prints Harpoon sessions, their number, and a mean of 2 s between connections. Only the first
reading here was chosen by the table (`Fitted`): the others are what the words allow. Every run has the
buffers and the framing of `studies/imc14-table1.toml`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from sojourn.report.published import load

from tools.validation.documents import dumbbell, fifo, link
from tools.validation.runs import Runs, at_link
from tools.validation.tables import Table

REPLICATIONS = 5
DURATION_S, WARMUP_S = 1220, 20
FRAMING = "38B"
APART = 1.0
"""Replications this many points apart, and a tenth of their mean, are shown by their ends too."""


def _every(mean: str, **keys: Any) -> dict[str, Any]:
    return {"preset": "imc14", "interconnection": {"kind": "exponential", "mean": mean}, **keys}


READINGS: dict[str, dict[str, Any]] = {
    "a connection every 0.5 s (the study files)": _every("0.5s"),
    "every 2 s, as printed": _every("2s"),
    "four at a time, every 2 s": _every("2s", parallel=4),
    "every 0.35 s: more than the uplink carries": _every("0.35s"),
    "three threads a session, each waits 1.3 s after a transfer": _every(
        "1.3s", **{"closed-loop": True, "parallel": 3}
    ),
    "64 threads a session, each waits 25 s": _every("25s", **{"closed-loop": True, "parallel": 64}),
    "64 threads a session, each waits 2 s": _every("2s", **{"closed-loop": True, "parallel": 64}),
}
"""Ways to read a session."""

WORKLOADS = {
    "short-few-upload": (1, 0),
    "short-few-bidirectional": (1, 8),
    "short-few-download": (0, 8),
    "short-many-bidirectional": (1, 16),
    "short-many-download": (0, 16),
}
"""Sessions up and down. Table 1 has short-many-upload too, which is short-few-upload once more."""

TEXT = f"""## What short sessions depend on

Table 1 of the IMC 2014 study cannot be met by one reading of "sessions": an upload of one session is a
steady 98.9 % and loses a third of its packets, while eight sessions down use 44 % of the other link,
which is what 0.9 Mbit/s each come to. Utilisation and loss of the uplink, and utilisation of the
downlink, in per cent, over {DURATION_S - WARMUP_S} s: the mean of {REPLICATIONS} replications (least to
greatest).

To lose a third of the packets at 8 packets of buffer takes about sixty transfers at a time (64 endless
ones lose 35 %). An open loop that is offered more than the line carries piles them up for as long as it
runs; one that is offered less does so for minutes after a large file. So a connection every 0.35 s gives the
uplink's rows, and three threads that wait 1.3 s the downloads': no reading gives both, and none has the
nearly empty downlink of the study's bidirectional rows. This stays unexplained.
"""


def document(number: int, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the workloads, read in one way."""
    down = link(16e6, fifo(64), overhead=FRAMING)
    up = link(1e6, fifo(8), overhead=FRAMING)
    path = {"client-delay": "5ms", "server-delay": "20ms", "down": down, "up": up}
    source = {"kind": "sessions", **reading}
    common = {"transport": "cubic", "initial-window": 3, "start-within": "5s"}
    workloads = {
        name: [
            {"source": source, "direction": way, "count": count, **common}
            for way, count in zip(("up", "down"), counts, strict=True)
            if count
        ]
        for name, counts in WORKLOADS.items()
    }
    sweep = {"workload": list(workloads)}
    name = f"sessions-{number}"
    return dumbbell(name, REPLICATIONS, DURATION_S, WARMUP_S, path, workload=workloads, sweep=sweep)


def table_of(runs: Runs) -> Table:
    """Return a row for each reading, and the study's."""
    rows = [["**published**", *(_published(name) for name in WORKLOADS)]]
    for number, (what, reading) in enumerate(READINGS.items()):
        found: dict[str, list[Mapping[str, Any]]] = {}
        for result in runs.of(document(number, reading)):
            found.setdefault(str(result["point"]["workload"]), []).append(result)
        rows.append([what, *(_cell(found[name]) for name in WORKLOADS)])
    return Table("Uplink: utilisation / loss; downlink: utilisation", ["reading", *WORKLOADS], rows)


def _cell(results: list[Mapping[str, Any]]) -> str:
    numbers = []
    for way, quantity in (("up", "utilisation"), ("up", "loss"), ("down", "utilisation")):
        each = [100 * at_link(result, way, quantity) for result in results]
        text = f"{statistics.fmean(each):.1f}"
        if max(each) - min(each) >= max(APART, 0.1 * statistics.fmean(each)):
            text += f" ({min(each):.1f} to {max(each):.1f})"
        numbers.append(text)
    return f"{numbers[0]} / {numbers[1]}; {numbers[2]}"


def _published(workload: str) -> str:
    for row in load("published/imc14-table1-workloads.csv").frame.iter_rows(named=True):
        if row["testbed"] == "access" and f"{row['workload']}-{row['activity']}" == workload:
            return f"{row['util_up_mean_pct']} / {row['loss_up_pct']}; {row['util_down_mean_pct']}"
    raise KeyError(workload)
