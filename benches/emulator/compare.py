"""Kernel flows through the emulator, through the kernel's own queue, and the simulator's: three columns.

python -m benches.emulator.compare [SCENARIO …] [--window BEGIN END] [--together 1] [--repeat 1] [--to T.csv]

Names and the kernel's path are those of `benches/kernel` (`reno-8f-16m-50ms-b67`); without any, all of the
grid: Reno and CUBIC, 1 and 8 flows, 1, 16 and 100 Mb/s, buffers of 0.25, 1 and 4 BDP. The same programs send
over the same path each time: through `sojourn emulate` (single packets, kernel stamps), and through `htb`
with a `pfifo`. A run that the machine disturbed is made again, by the same rules. The simulator runs the
study of that path, `stack = "linux"`, five replications. Each figure comes from arrivals and departures at
the queue, by the same code. Needs root, and what `benches/kernel` needs.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from benches.kernel import bed, captures, measure
from benches.kernel.scenarios import FRAME_BYTES, Scenario, scenario
from benches.tables import write_rows
from tools.validation import documents
from tools.validation.kernel import QUANTITIES, document
from tools.validation.runs import at_link

FLOWS = Path(bed.__file__).with_name("flows.py")
ROUND_TRIPS_MS = {1: 100, 16: 50, 100: 20}
"""By rate in Mb/s: so that a quarter of a BDP is a packet or two at least."""
WINDOWS_S = {1: (20, 140), 16: (10, 100), 100: (5, 35)}
ETHERNET = 14
COMPARED = ("utilisation", "delay", "loss")
COLUMNS = {"delay": "delay_mean_ms"}
"""Of a queue's figures, where the name differs."""


def grid() -> Iterator[str]:
    """Iterate over the names of all scenarios."""
    for rate, rtt in ROUND_TRIPS_MS.items():
        bdp = rate * 1e3 * rtt / 8 / FRAME_BYTES
        for share in (0.25, 1, 4):
            for flows in (1, 8):
                for controller in ("reno", "cubic"):
                    yield f"{controller}-{flows}f-{rate}m-{rtt}ms-b{max(round(share * bdp), 1)}"


def study_of(asked: Scenario) -> dict[str, Any]:
    """Return the study of a scenario."""
    columns = {name: str(value) for name, value in asked.columns().items()}
    return document({"scenario": asked.name, **columns})


def emulated(asked: Scenario, seed: int) -> dict[str, Any]:
    """Run the flows behind the emulator; again if the machine disturbed it, by the kernel path's rules."""
    for attempt in range(measure.ATTEMPTS):
        found = through_emulator(asked, seed + 100_000 * attempt)
        if not (trouble := late(asked, found)):
            return found
        print(f"{asked.name}: again: {trouble}", file=sys.stderr, flush=True)
    return {**found, "disturbed": trouble}


def late(asked: Scenario, found: dict[str, Any]) -> str:
    """Return how the emulator was held up, as `benches/kernel` judges its relay, or nothing."""
    if found["late_us_max"] > asked.shortest_queue_ms() * 1000 / 2:
        return f"the emulator stood still for {found['late_us_max']:.0f} us"
    if found["late_us_p99"] > measure.LATE_US:
        return f"one packet in a hundred was {found['late_us_p99']:.0f} us late"
    return ""


def through_emulator(asked: Scenario, seed: int) -> dict[str, Any]:
    """Run the flows behind the emulator once; return the queue's figures, and how good it was."""
    # Not of a real-time class, as the other path's hosts are: with the emulator's they would use up what the
    # kernel lets real-time threads have of a second, and all would stand still for the rest.
    flows = ("exec", sys.executable, str(FLOWS))
    send = ("send", "$SOJOURN_SERVER", str(bed.PORT), str(asked.up_flows), asked.controller)
    end = asked.end_s + asked.longest_queue_s()
    sends = " ".join((*flows, *send, str(asked.begin_s), repr(end), str(seed)))
    # The flows start at the time that they read; they go on until they are ended.
    command = f"({sys.executable} -c 'import time; print(time.time() + 1)'; sleep 999) | {sends}"
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "path.toml").write_text(documents.to_toml(study_of(asked)), encoding="utf-8")
        sysctls = [
            word
            for name, value in bed.SYSCTLS.items()
            if name.startswith("net.ipv4.tcp_")
            for word in ("--sysctl", f"{name}={value}")
        ]
        receive = shlex.join((*flows, "receive", str(bed.PORT)))
        words = (
            *("path.toml", "--no-offload", "--congestion", asked.controller, *sysctls),
            *("--duration", f"{end + 3:g}s", "--log", "log.parquet", "--server", receive, "--json"),
        )
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", "emulate", *words, "--", "sh", "-c", command],
            cwd=scratch, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not done.stdout:
            raise RuntimeError(f"{asked.name}: {done.stderr.strip()}")
        came = json.loads(done.stdout)
        rows = pl.read_parquet(Path(scratch, "log.parquet")).filter(pl.col("link") == "up")
    passages = [
        (arrived, left, size + ETHERNET)
        for arrived, left, size in rows.select("arrive_ns", "depart_ns", "size_bytes").iter_rows()
    ]
    # As the sender draws them: the first packet is the first flow's.
    chosen = random.Random(seed)
    first = min(chosen.random() for _ in range(asked.up_flows))
    start = passages[0][0] - int(1e9 * first)
    window = (start + 10**9 * asked.begin_s, start + 10**9 * asked.end_s)
    found = captures.figures(passages, window, int(1e6 * asked.base_rtt_ms), 1e6 * asked.up_mbps)
    # Data up and acknowledgements down: either may be held up.
    both = [late for late in came["lateness_us"].values() if late]
    return {
        **found,
        "late_us_p99": max(late["p99"] for late in both),
        "late_us_max": max(late["max"] for late in both),
        "not_held": "; ".join(came["verdict"]["reasons"]),
    }


def through_kernel(asked: Scenario, seed: int) -> dict[str, Any]:
    """Run the flows through the kernel's own queue; again if the machine disturbed it."""
    for attempt in range(measure.ATTEMPTS):
        with bed.Bed(f"{asked.name.replace('.', '')}-{seed}", asked) as path:
            [row], told = path.measure(seed=seed + 100_000 * attempt)
        if not (trouble := measure.disturbed(asked, told)):
            return row
        print(f"{asked.name}: again: {trouble}", file=sys.stderr, flush=True)
    return {**row, "disturbed": trouble}


def simulated(asked: Scenario) -> dict[str, float]:
    """Return the mean of the replications of a scenario's study."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "path.toml").write_text(documents.to_toml(study_of(asked)), encoding="utf-8")
        words = [sys.executable, "-m", "sojourn", "run", "path.toml", "--json", "--jobs", "1"]
        done = subprocess.run(words, cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{asked.name}: {done.stderr.strip()}")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: statistics.fmean(at_link(result, "up", name) for result in results) for name in COMPARED}


def rows_of(name: str, window: tuple[int, int] | None, repeat: int) -> list[dict[str, Any]]:
    """Measure one scenario; return a row for each quantity."""
    rate = int(scenario(name).up_mbps)
    asked = scenario(name, window or WINDOWS_S.get(rate))
    seeds = range(1, 1 + repeat)
    ours = [emulated(asked, seed) for seed in seeds]
    kernels = [through_kernel(asked, seed) for seed in seeds]
    model = simulated(asked)
    rows = []
    for quantity in COMPARED:
        column = COLUMNS.get(quantity, quantity)
        got, kernel = (statistics.fmean(run[column] for run in runs) for runs in (ours, kernels))
        rule = QUANTITIES[quantity][2]
        row = {
            "scenario": name, "window_s": asked.end_s - asked.begin_s, "runs": repeat, "quantity": quantity,
            "emulated": got, "kernel": kernel, "simulated": model[quantity],
            "as_kernel": rule.holds(got, [kernel]), "as_simulated": rule.holds(got, [model[quantity]]),
            "kernel_lowest": min(run[column] for run in kernels),
            "kernel_highest": max(run[column] for run in kernels),
            "late_us_p99": max(run["late_us_p99"] for run in ours),
            "not_held": "; ".join(sorted({run["not_held"] for run in ours} - {""})),
            "disturbed": "; ".join(sorted({run.get("disturbed", "") for run in (*ours, *kernels)} - {""})),
        }  # fmt: skip
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--window", nargs=2, type=int, metavar=("BEGIN", "END"))
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--to", type=Path)
    asked = parser.parse_args(words)
    if lacking := bed.missing():
        print(f"error: {lacking}", file=sys.stderr)
        return 2
    names = asked.scenarios or list(grid())
    window = tuple(asked.window) if asked.window else None
    with ThreadPoolExecutor(asked.together) as pool:
        found = list(pool.map(lambda name: rows_of(name, window, asked.repeat), names))
    rows = [row for each in found for row in each]
    if asked.to:
        write_rows(asked.to, rows)
    for by in ("as_kernel", "as_simulated"):
        print(f"{by}: {sum(row[by] for row in rows)} of {len(rows)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
