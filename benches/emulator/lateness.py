"""How late the emulator is, by rate: iperf3 through it, one way and both.

python -m benches.emulator.lateness [--seconds 10] [--repeat 3] [RATE:WAYS …]

Without any: 1, 16, 100 and 250 Mb/s both ways and 1 Gb/s one way; 10 ms of round trip, FIFO of one BDP,
CUBIC. Prints a row of Markdown for each; of several runs, the one with the median of the greatest p99. The
goodput is iperf3's without its first two seconds, which are slow start; lateness is of all of the run. Needs
iperf3, and root to be of use.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches.command import sojourn
from tools.program import program

POINTS = ("1Mbit:both", "16Mbit:both", "100Mbit:both", "250Mbit:both", "1000Mbit:one")
SLOW_START_S = 2
HEADS = (
    "rate", "goodput, Mb/s", "round trip, ms", "late, µs: p50", "p99", "p99.9", "most", "read late, p99",
    "lost outside", "decisions as replayed", "emulator's thread", "processors", "held",
)  # fmt: skip


def run(rate: str, ways: str, seconds: float) -> dict[str, Any]:
    """Return what one run came to, with iperf3's goodput of each direction."""
    with tempfile.TemporaryDirectory() as scratch:
        both = "--bidir" if ways == "both" else ""
        load = f"iperf3 -c $SOJOURN_SERVER -t {seconds:g} -O {SLOW_START_S} {both} -J > goodput.json"
        path = ("--down", rate, "--up", rate, "--rtt", "10ms", "--queue", "fifo", "--limit", "1BDP")
        words = (*path, "--congestion", "cubic", "--json", "--server", "exec iperf3 -s -1 > /dev/null")
        came = json.loads(sojourn("emulate", *words, "--", "sh", "-c", load, cwd=scratch))
        end = json.loads(Path(scratch, "goodput.json").read_text(encoding="utf-8"))["end"]
    names = ("sum_received", "sum_received_bidir_reverse")
    return {**came, "goodput": [end[name]["bits_per_second"] for name in names if name in end]}


def worst(came: dict[str, Any], key: str) -> float:
    """Return the greater of both directions, of those that carried data."""
    return max(late[key] for late in came["lateness_us"].values() if late)


def row(rate: str, ways: str, came: dict[str, Any]) -> tuple[str, ...]:
    """Return a run as a row."""
    engine = came["engine"]
    trips = sorted(engine["base_rtt_ms"]["got"])
    outside = engine["ring_dropped_pkts"] + sum(each["refused_pkts"] for each in engine["outside"].values())
    replay = engine["replay"].values()
    decided = sum(each["decisions"] for each in replay)
    alike = sum(each["equal"] for each in replay)
    read = [late["p99"] for late in engine["read_lateness_us"].values() if late]
    return (
        f"{rate} {'both ways' if ways == 'both' else 'one way'}",
        " + ".join(f"{each / 1e6:.3g}" for each in came["goodput"]),
        f"+{trips[len(trips) // 2] - engine['base_rtt_ms']['set']:.2f}",
        *(f"{worst(came, key):.0f}" for key in ("p50", "p99", "p999", "max")),
        f"{max(read):.0f}" if read else "–",
        str(outside),
        f"all {decided}" if alike == decided else f"{alike} of {decided}",
        f"{engine['thread_pct']:.0f} %",
        f"{engine['processors']['busy_pct']:.0f} % busy, {engine['processors']['steal_pct']:g} % stolen",
        "yes" if came["verdict"]["held"] else "no: " + "; ".join(came["verdict"]["reasons"]),
    )


def main(*points: str, seconds: float = 10, repeat: int = 3) -> int:
    """Print the table; points are RATE:WAYS."""
    if not shutil.which("iperf3"):
        print("error: not installed: apt-get install iperf3", file=sys.stderr)
        return 2
    print("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|", flush=True)
    for point in points or POINTS:
        rate, _, ways = point.partition(":")
        runs = [run(rate, ways, seconds) for _ in range(repeat)]
        runs.sort(key=lambda came: worst(came, "p99"))
        print("| " + " | ".join(row(rate, ways, runs[len(runs) // 2])) + " |", flush=True)
        for came in runs:
            print(json.dumps({"point": point, "p99": worst(came, "p99")}), file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    program(__doc__, main)
