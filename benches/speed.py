"""Data packets across the bottleneck per second of wall time: sojourn, ns-2 and ns-3, same scenarios.

The programs take turns (A B C A B C …) so that a slow spell of the machine meets all of them; the table has
medians, and the median of the ratios within a turn. Times are of the simulation alone, as each program
takes it itself; memory is the peak of the whole process, and sojourn's has the Python interpreter in it.
All run the cheapest form of the scenario that they know. What is not installed is left out, with the
reason.

    python -m benches.speed [--turns 3] [--scenario NAME]… [--peer NAME]… [--json FILE]
"""

import argparse
import json
import os
import platform
import statistics
from pathlib import Path
from typing import Any

from sojourn import _core

from benches.peers.driver import PEERS, Unavailable
from tools.validation.peers import SCENARIOS, shortened

# Simulated seconds. ns-3 takes more than ten times as long as the others, so it simulates less of the same.
SIMULATED_S = {
    "speed-newreno-fifo": {"ns3": 20, "": 240},
    "speed-cubic-fifo": {"ns3": 20, "": 240},
    "backbone-long-28": {"ns3": 10, "": 90},
    "backbone-long-749": {"ns3": 10, "": 90},
}


def one_run(peer: str, name: str, seed: int) -> dict[str, float]:
    """Run a scenario once and return its rate and memory."""
    simulated = SIMULATED_S[name]
    found = PEERS[peer](shortened(SCENARIOS[name], simulated.get(peer, simulated[""]), seed))
    packets = found["down"]["whole_run_data_pkts"]
    rate = {"data_pkts": packets, "wall_s": found["wall_s"], "kpps": packets / found["wall_s"] / 1e3}
    return {**rate, "rss_mb": found["rss_mb"], "simulated_s": found["simulated_s"]}


def measure(name: str, peers: list[str], turns: int) -> dict[str, Any]:
    """Let the programs take turns at one scenario."""
    runs: dict[str, list[dict[str, float]]] = {peer: [] for peer in peers}
    skipped: dict[str, str] = {}
    for turn in range(turns):
        for peer in peers:
            if peer in skipped:
                continue
            try:
                runs[peer].append(one_run(peer, name, seed=1 + turn))
            except Unavailable as reason:
                skipped[peer] = str(reason)
    rows = {}
    for peer, done in runs.items():
        if peer in skipped:
            continue
        row = {key: statistics.median(run[key] for run in done) for key in done[0]}
        row["kpps_all"] = [round(run["kpps"], 1) for run in done]
        if peer != "sojourn" and len(runs.get("sojourn", ())) == len(done):
            pairs = zip(runs["sojourn"], done, strict=True)
            row["sojourn_times_faster"] = statistics.median(a["kpps"] / b["kpps"] for a, b in pairs)
        rows[peer] = row
    return {"scenario": name, "programs": rows, "skipped": skipped}


def print_table(found: dict[str, Any]) -> None:
    """Print one scenario's rows."""
    for peer, row in found["programs"].items():
        ratio = row.get("sojourn_times_faster")
        print(
            f"{found['scenario']:20} {peer:8} {row['kpps']:8.0f} k/s {row['rss_mb']:7.1f} MB "
            f"{row['simulated_s']:6.0f} s simulated in {row['wall_s']:7.3f} s"
            + (f"   sojourn {ratio:6.1f} times faster" if ratio else ""),
            flush=True,
        )
    for peer, reason in found["skipped"].items():
        print(f"{found['scenario']:20} {peer:8} left out: {reason}", flush=True)


def main() -> None:
    """Measure, print the table, and write it as JSON if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3, help="turns that every program takes (default 3)")
    parser.add_argument("--scenario", action="append", choices=SIMULATED_S, help="by default all four")
    parser.add_argument("--peer", action="append", choices=PEERS, help="by default all that are installed")
    written = "also write the figures here; - for standard output only"
    parser.add_argument("--json", metavar="FILE", help=written)
    arguments = parser.parse_args()
    if arguments.turns < 1:
        parser.error(f"--turns {arguments.turns}: expected at least 1")
    scenarios = []
    for name in arguments.scenario or SIMULATED_S:
        scenarios.append(measure(name, arguments.peer or list(PEERS), arguments.turns))
        if arguments.json != "-":
            print_table(scenarios[-1])
    if arguments.json:
        machine = {"system": platform.platform(), "cores": os.cpu_count(), "sojourn": _core.version()}
        text = json.dumps({"turns": arguments.turns, "machine": machine, "scenarios": scenarios}, indent=1)
        if arguments.json == "-":
            print(text)
        else:
            Path(arguments.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
