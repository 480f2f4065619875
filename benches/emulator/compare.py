"""Kernel flows through the emulator, through the kernel's own queue, and the simulator's: three columns.

python -m benches.emulator.compare [SCENARIO …] [--on emulated kernel simulated] [--together 1] [--repeat 1]
python -m benches.emulator.compare --table

Names and the kernel's path are those of `benches/kernel` (`reno-8f-16m-50ms-b67`); without any, all of the
grid: Reno and CUBIC, 1 and 8 flows, 1, 16 and 100 Mb/s, buffers of 0.25, 1 and 4 BDP. The same programs send
over the same path each time: through `sojourn emulate` (single packets, kernel stamps), and through `htb`
with a `pfifo`. A run whose bed did not hold is made again, three times at most, and tries are counted. The
simulator runs the study of that path, `stack = "linux"`, five replications. Each figure comes from arrivals
and departures at the queue, by the same code. Needs root, and what `benches/kernel` needs.

Each run is put into a table when it ends (`compare.csv` beside this file, or `--to`), and one that is there
is not made again. `--table` prints what docs/emulate.md has of it.
"""

import argparse
import csv
import json
import random
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from sojourn.study.toml import toml

from benches.command import sojourn
from benches.emulator import beside
from benches.kernel import bed, captures, measure
from benches.kernel.scenarios import FRAME_BYTES, Scenario, scenario
from benches.tables import write_rows
from tools.validation.kernel import REPLICATIONS, document
from tools.validation.runs import at_link
from tools.validation.testbed import ANSWER

FLOWS = Path(bed.__file__).with_name("flows.py")
TABLE = Path(__file__).with_suffix(".csv")
KEYS = ("scenario", "on", "seed")
COLUMNS = (*KEYS, "window_s", *beside.COMPARED, "dropped_pkts", "tries", "not_held")
ROUND_TRIPS_MS = {1: 100, 16: 50, 100: 20}
"""By rate in Mb/s: so that a quarter of a BDP is a packet or two at least."""
SHARES = (0.25, 1, 4)
"""Buffers, in BDP."""
BUCKET_MS, LEAST_BUCKET = 0.5, 1600
"""Of `htb`: what the link sends in half a millisecond, and a full frame at least. Service that a late wake-up
costs is lost where it is later than the bucket is long; wake-ups are 25 us late, one in a thousand 0.1 ms."""
CARD = "100Gbit"
"""Of the emulated hosts, as none: the kernel's path has none. A burst of nine packets that a card of 1 Gb/s
spreads over 0.1 ms finds room for one more in a queue of 100 Mb/s."""
FIRST_S = {1: 20, 16: 10, 100: 5}
LENGTH_S = {1: 120, 16: 90, 100: 30}
LENGTH_OF_ONE_S = {(100, 0.25): 60, (100, 1): 60}
LONG_S = {"reno": 300, "cubic": 120}
"""One flow and 4 BDP above 1 Mb/s: ten of its sawteeth, which last 30 s (Reno) and 8 s (CUBIC)."""
ETHERNET = 14


def bucket_bytes(rate_mbps: float) -> int:
    """Return what `htb`'s bucket holds at a rate."""
    return max(LEAST_BUCKET, round(rate_mbps * BUCKET_MS * 125))


def grid() -> Iterator[str]:
    """Iterate over the names of all scenarios."""
    for rate, rtt in ROUND_TRIPS_MS.items():
        bdp = rate * 1e3 * rtt / 8 / FRAME_BYTES
        bucket = bucket_bytes(rate)
        named = f"-burst{bucket}" if bucket != LEAST_BUCKET else ""
        for share, flows, controller in product(SHARES, (1, 8), ("reno", "cubic")):
            yield f"{controller}-{flows}f-{rate}m-{rtt}ms-b{max(round(share * bdp), 1)}{named}"


def asked_of(name: str) -> Scenario:
    """Return a scenario with the window that its sawteeth need."""
    plain = scenario(name)
    rate = int(plain.up_mbps)
    bdp = rate * 1e3 * plain.base_rtt_ms / 8 / FRAME_BYTES
    share = min(SHARES, key=lambda share: abs(share * bdp - plain.buffer_pkts))
    length = LENGTH_S.get(rate, 60)
    if plain.up_flows == 1 and rate > 1:
        length = (
            LONG_S[plain.controller] if share == SHARES[-1] else LENGTH_OF_ONE_S.get((rate, share), length)
        )
    begin = FIRST_S.get(rate, 20)
    return scenario(name, (begin, begin + length))


def study_of(asked: Scenario) -> dict[str, Any]:
    """Return the study of a scenario."""
    columns = {name: str(value) for name, value in asked.columns().items()}
    return document({"scenario": asked.name, **columns})


def emulated(asked: Scenario, seed: int) -> tuple[dict[str, Any], str]:
    """Run the flows behind the emulator; return the queue's figures, and why the bed did not hold."""
    # Not of a real-time class, as the other path's hosts are: with the emulator's they would use up what the
    # kernel lets real-time threads have of a second, and all would stand still for the rest.
    flows = ("exec", sys.executable, str(FLOWS))
    send = ("send", "$SOJOURN_SERVER", str(bed.PORT), str(asked.up_flows), asked.controller)
    end = asked.end_s + asked.longest_queue_s()
    sends = " ".join((*flows, *send, str(asked.begin_s), repr(end), str(seed)))
    # The flows start at the time that they read; they go on until they are ended.
    command = f"({sys.executable} -c 'import time; print(time.time() + 1)'; sleep 999) | {sends}"
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "path.toml").write_text(toml(study_of(asked)), encoding="utf-8")
        sysctls = [
            word
            for name, value in bed.SYSCTLS.items()
            if name.startswith("net.ipv4.tcp_")
            for word in ("--sysctl", f"{name}={value}")
        ]
        receive = shlex.join((*flows, "receive", str(bed.PORT)))
        words = (
            *("path.toml", "--no-offload", "--access-rate", CARD, "--congestion", asked.controller, *sysctls),
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
    return found, "; ".join(filter(None, [late(asked, came["lateness_us"]), *came["verdict"]["reasons"]]))


def late(asked: Scenario, lateness: dict[str, dict[str, float]]) -> str:
    """Return how the emulator was held up, as `benches/kernel` judges its relay, or nothing."""
    # Data up and acknowledgements down: either may be held up.
    both = [each for each in lateness.values() if each]
    if (most := max(each["max"] for each in both)) > asked.shortest_queue_ms() * 1000 / 2:
        return f"the emulator stood still for {most:.0f} us"
    if (p99 := max(each["p99"] for each in both)) > measure.LATE_US:
        return f"one packet in a hundred was {p99:.0f} us late"
    return ""


def kernel(asked: Scenario, seed: int) -> tuple[dict[str, Any], str]:
    """Run the flows through the kernel's own queue; return its figures, and why the bed did not hold."""
    with bed.Bed(f"{asked.name.replace('.', '')}-{seed}", asked) as path:
        [row], told = path.measure(seed=seed)
    return row, measure.disturbed(asked, told)


def measured(on: str, asked: Scenario, seed: int) -> Iterator[dict[str, Any]]:
    """Measure a scenario until its bed holds, three times at most; the last try is kept."""
    for attempt in range(measure.ATTEMPTS):
        path = {"emulated": emulated, "kernel": kernel}[on]
        found, trouble = path(asked, seed + 100_000 * attempt)
        if not trouble:
            break
        print(f"{asked.name}, {on}, try {attempt + 1}: {trouble}", file=sys.stderr, flush=True)
    found = {beside.QUANTITY.get(column, column): value for column, value in found.items()}
    yield found | {"seed": seed, "tries": attempt + 1, "not_held": trouble}


def simulated(asked: Scenario) -> Iterator[dict[str, Any]]:
    """Return the replications of a scenario's study."""
    with tempfile.TemporaryDirectory() as scratch:
        study = study_of(asked)
        study["path"]["jitter"] = ANSWER
        Path(scratch, "path.toml").write_text(toml(study), encoding="utf-8")
        lines = sojourn("run", "path.toml", "--json", "--jobs", "1", cwd=scratch).splitlines()
    for result in map(json.loads, lines):
        found = {name: at_link(result, "up", name) for name in beside.COMPARED}
        yield found | {"seed": result["replication"], "dropped_pkts": result["links"]["up"]["dropped_pkts"]}


class Runs:
    """The table of what was run."""

    def __init__(self, file: Path) -> None:
        self.file = file
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        self.rows = list(csv.DictReader(text.splitlines()))
        self._lock = threading.Lock()

    def has(self, *key: object) -> bool:
        """Whether a run is there whose bed held."""
        held = (row for row in self.rows if not row["not_held"])
        return any(tuple(row[name] for name in KEYS) == tuple(map(str, key)) for row in held)

    def keep(self, rows: Iterator[dict[str, Any]]) -> None:
        """Put rows in, in place of those of the same runs, whose tries are counted on."""
        for row in rows:
            new = {column: str(row.get(column, "")) for column in COLUMNS}
            with self._lock:
                old = [each for each in self.rows if all(each[name] == new[name] for name in KEYS)]
                if new["tries"]:
                    new["tries"] = str(int(new["tries"]) + sum(int(each["tries"]) for each in old))
                self.rows = [each for each in self.rows if each not in old] + [new]
                order = list(grid())
                place = {name: number for number, name in enumerate(order)}
                self.rows.sort(
                    key=lambda each: (place.get(each["scenario"], len(place)), each["on"], int(each["seed"]))
                )
                write_rows(self.file, self.rows, COLUMNS)
            print(json.dumps(new), flush=True)


def run(runs: Runs, on: str, name: str, seed: int) -> None:
    """Make a run, if it is not there, and keep it."""
    asked = asked_of(name)
    head = {"scenario": name, "on": on, "window_s": asked.end_s - asked.begin_s}
    if on == "simulated":
        if not runs.has(name, on, REPLICATIONS - 1):
            runs.keep(head | row for row in simulated(asked))
    elif not runs.has(name, on, seed):
        runs.keep(head | row for row in measured(on, asked, seed))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--on", nargs="+", default=list(beside.PATHS), choices=beside.PATHS)
    parser.add_argument("--together", type=int, default=1, help="runs at once")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, with other starts")
    parser.add_argument("--to", type=Path, default=TABLE)
    parser.add_argument("--table", action="store_true", help="print what is there")
    asked = parser.parse_args(words)
    runs = Runs(asked.to)
    if asked.table:
        print(beside.text(runs.rows))
        return 0
    if set(asked.on) != {"simulated"} and (lacking := bed.missing()):
        print(f"error: {lacking}", file=sys.stderr)
        return 2
    names = asked.scenarios or list(grid())
    jobs = [
        (on, name, seed)
        for on, name in product(asked.on, names)
        for seed in range(1, 1 + (1 if on == "simulated" else asked.repeat))
    ]
    with ThreadPoolExecutor(asked.together) as pool:
        list(pool.map(lambda job: run(runs, *job), jobs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
