"""What the short workloads of the IMC 2014 study depend on: ways to read "sessions", beside its table 1.

The study prints Harpoon sessions, their number, and a mean of 2 s between connections. Only the first
reading here was chosen by the table (`Fitted`): the others are what the words allow. Every run has the
buffers and the framing of `studies/imc14-table1.toml`.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.report.published import load
from sojourn.study.grouped import grouped

from tools.validation.documents import dumbbell, fifo, link
from tools.validation.runs import Runs, at_link
from tools.validation.tables import Table

REPLICATIONS = 5
DURATION_S, WARMUP_S = 1220, 20
FRAMING = "38B"
APART = 1.0
"""Replications this many points apart, and a tenth of their mean, are shown by their ends too."""


@dataclass(frozen=True)
class Reading:
    """One way to read a session, and how many of them upload."""

    mean: str
    """Of the exponential time between connections; in a closed loop, after a transfer."""
    threads: int = 1
    closed: bool = False
    up: int = 1

    @property
    def source(self) -> dict[str, Any]:
        """The source as study files have it."""
        times = {"kind": "exponential", "mean": self.mean}
        loop = {"closed-loop": self.closed, "parallel": self.threads}
        return {"kind": "sessions", "preset": "imc14", "interconnection": times, **loop}


READINGS = {
    "three threads, each waits 1.3 s after a transfer; sixteen sessions up (the study files)": Reading(
        "1.3s", 3, closed=True, up=16
    ),
    "the same, eight sessions up": Reading("1.3s", 3, closed=True, up=8),
    "the same, one session up, as printed": Reading("1.3s", 3, closed=True),
    "a connection every 0.5 s": Reading("0.5s"),
    "a connection every 2 s, as printed": Reading("2s"),
    "a connection every 0.35 s: more than the uplink carries": Reading("0.35s"),
    "64 threads, each waits 25 s after a transfer": Reading("25s", 64, closed=True),
}

WORKLOADS = {
    "short-few-upload": (True, 0),
    "short-few-bidirectional": (True, 8),
    "short-few-download": (False, 8),
    "short-many-bidirectional": (True, 16),
    "short-many-download": (False, 16),
}
"""Whether there are uploads, and sessions down. Of the uploads alone, table 1 has two measurements."""

TEXT = f"""## What short sessions depend on

Utilisation and loss of the uplink, and utilisation of the downlink, in per cent, over
{DURATION_S - WARMUP_S} s, for ways to read the "sessions" of the IMC 2014 study: the mean of {REPLICATIONS}
replications (least to greatest). Table 1 cannot be met as it is printed. An upload of one session is a steady
98.9 % and loses a third of its packets, while eight sessions down use 44 % of the other link, which is what
0.9 Mbit/s each come to.

To lose a third of the packets at 8 packets of buffer takes about fifty transfers at a time. An open
loop that is offered more than the line carries piles them up for as long as it runs; one that is
offered less does so for minutes after a large file, and its downlink stays half full where the study's
is nearly empty. A closed loop leaves it so: transfers that lose their acknowledgements hold their
threads. Threads and wait are those of the backbone's short-overload; the sixteen sessions were chosen
by the loss of short-few-upload. No sentence of the study says sixteen.
"""


def document(number: int, reading: Reading) -> dict[str, Any]:
    """Return the workloads, read in one way."""
    down = link(16e6, fifo(64), overhead=FRAMING)
    up = link(1e6, fifo(8), overhead=FRAMING)
    path = {"client-delay": "5ms", "server-delay": "20ms", "down": down, "up": up}
    common = {"transport": "cubic", "initial-window": 3, "start-within": "5s"}
    workloads = {
        name: [
            {"source": reading.source, "direction": way, "count": count, **common}
            for way, count in (("up", reading.up * uploads), ("down", downloads))
            if count
        ]
        for name, (uploads, downloads) in WORKLOADS.items()
    }
    sweep = {"workload": list(workloads)}
    name = f"sessions-{number}"
    return dumbbell(name, REPLICATIONS, DURATION_S, WARMUP_S, path, workload=workloads, sweep=sweep)


def table_of(runs: Runs) -> Table:
    """Return a row for each reading, and the study's."""
    rows = [["**published**", *(_published(name) for name in WORKLOADS)]]
    for number, (what, reading) in enumerate(READINGS.items()):
        results = runs.of(document(number, reading))
        found = grouped((str(result["point"]["workload"]), result) for result in results)
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
