"""Measure real Linux TCP through a real FIFO, on this machine: what the simulator is held against.

python -m benches.kernel.measure SCENARIO … [--repeat 1] [--together 3] [--to T.csv] [--details D.jsonl]

Needs root, ip, tc, ethtool, tcpdump and cc. Scenarios go by names such as reno-8f-16m-50ms-b67
(`scenarios.py`); several run at once, in namespaces of their own. A run whose queue, relay or captures were
disturbed is not kept but made again.
"""

import csv
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product
from pathlib import Path

from benches.kernel.bed import Bed, missing
from benches.kernel.scenarios import Scenario, scenario
from benches.tables import write_rows
from tools.program import program

KEYS = ("scenario", "replication")
# A relay that is later than this in one frame of a hundred is no fixed delay.
LATE_US = 500
# Nor is a queue that is served so much more slowly than it should be one of that rate: a strict bucket
# (burst 100) loses up to 0.0008 by late timers alone.
LEAST_SERVICE = 0.999
ATTEMPTS = 3


def disturbed(asked: Scenario, told: dict) -> str:
    """Return what disturbed a run, or nothing."""
    # What a standstill bunches arrives at once: half a buffer of it is no longer what the flows sent.
    standstill_us = asked.shortest_queue_ms() * 1000 / 2
    if told["capture_drops"]:
        return f"captures missed {told['capture_drops']} packets"
    for way, seen in told["queues"].items():
        if seen["service"] < LEAST_SERVICE:
            return f"the queue was served at {seen['service']} of its rate ({way})"
        if missed := max(seen["dropped"] - seen["kernel_dropped"], 0):
            return f"the capture behind the queue missed {missed} packets ({way})"
    for way, relay in told["relay"].items():
        if relay["not_sent"]:
            return f"the relay could not send {relay['not_sent']} frames"
        if relay["late_us_max"] > standstill_us:
            return f"the relay stood still for {relay['late_us_max']} us ({way})"
        if relay["late_us_p99"] > LATE_US:
            return f"one frame in a hundred left the relay {relay['late_us_p99']} us late ({way})"
    return ""


def run(name: str, asked: Scenario, replication: int) -> tuple[list[dict], dict]:
    """Measure a scenario once, again if something disturbed it."""
    for attempt in range(ATTEMPTS):
        with Bed(name, asked) as bed:
            rows, told = bed.measure(seed=1 + 1000 * replication + 100000 * attempt)
        if not (trouble := disturbed(asked, told)):
            head = {"scenario": asked.name, "replication": replication, **asked.columns()}
            return [head | row for row in rows], told | {"replication": replication, "rows": rows}
        print(f"{asked.name}: {trouble}", file=sys.stderr, flush=True)
    raise RuntimeError(f"{asked.name}: disturbed {ATTEMPTS} times; is the machine busy?")


def keep(table: Path, rows: list[dict]) -> None:
    """Put rows into a table, in place of those of the same run."""
    old = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines())) if table.exists() else []
    new = {tuple(str(row[key]) for key in KEYS) for row in rows}
    kept = [row for row in old if tuple(row[key] for key in KEYS) not in new] + rows
    # Up before down, repetitions in order, scenarios by name.
    kept.sort(key=lambda row: (row["scenario"], int(row["replication"]), row["link"] == "down"))
    write_rows(table, kept, list(rows[0]))


def main(
    *scenarios: str,
    repeat: int = 1,
    first: int = 0,
    together: int = 3,
    to: Path | None = None,
    details: Path | None = None,
) -> int:
    """Measure; 1 if a scenario could not be.

    Parameters
    ----------
    repeat
        Runs of each, with other starts.
    first
        Number of the first of these runs.
    together
        Runs at once.
    to
        Table that the rows are put into.
    details
        File that relay, counters and machine are appended to.
    """
    if lacking := missing():
        print(lacking, file=sys.stderr)
        return 1
    replications = range(first, first + repeat)
    failed = False
    with ThreadPoolExecutor(together) as pool:
        started = [
            pool.submit(run, f"{os.getpid()}-{number}", entry, replication)
            for number, (entry, replication) in enumerate(product(map(scenario, scenarios), replications))
        ]
        for done in as_completed(started):
            try:
                rows, told = done.result()
            except (RuntimeError, ValueError) as error:
                failed = True
                print(error, file=sys.stderr, flush=True)
                continue
            for row in rows:
                print(json.dumps(row), flush=True)
            if to:
                keep(to, rows)
            if details:
                with details.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(told) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    program(__doc__, main)
