"""What traffic does behind another queue: as its replay says, and as the same programs do.

python -m benches.passive.elsewhere [CASE …] [--runs 1] [--seed 1] [--seconds 40] [--folder DIR] [--json]

Each case runs between real programs (`sojourn run --on testbed`) behind three queues, captured by `tcpdump`
at both hosts. What `sojourn workload` takes from a capture behind one queue is replayed over it and over the
others, four times with other answer times, beside what the programs did there. Needs what the testbed needs,
root, and tcpdump. With a folder the runs are kept, and those that it has are not made again.

The rule, written before the first run: the mean delay within 20 % or 3 ms, the loss within 40 % or 0.3
points, what the link carried within 10 %. Exit code 1 says that something is outside.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from sojourn import _core
from sojourn.study import Study
from sojourn.sweep.testbed.bed import AGENT
from sojourn.sweep.testbed.point import measure

from benches.command import sojourn

_CAPTURING = Path(__file__).with_name("capturing.py")
CLIENTS = "198.18.0.0/16"
"""The testbed's: its senders of bulk open their connections, and would be taken for clients."""
ENDS = {"client": "clients", "server": "servers"}
QUEUES = {
    "20pkt": 'kind = "fifo", limit = "20pkt"',
    "120pkt": 'kind = "fifo", limit = "120pkt"',
    "fq-codel": 'kind = "fq-codel"',
}
REPLAYS = 4
BOUNDS = {"delay_ms": (0.2, 3.0), "loss": (0.4, 0.003), "carried": (0.1, 0.0)}
"""As a share of what the programs had, or as much, whichever is more."""


def _bulk(direction: str, count: int, transport: str = "cubic") -> str:
    return f"""[[flows]]
source = {{ kind = "bulk" }}
transport = "{transport}"
stack = "linux"
direction = "{direction}"
count = {count}
start-within = "1s"
"""


def _user(kind: str, more: str = "") -> str:
    return f'[[users]]\nkind = "{kind}"\nstack = "linux"\n{more}\n'


_SESSIONS = _bulk("down", 8).replace('kind = "bulk"', 'kind = "sessions", preset = "imc14"')
CASES = {
    "bulk": _bulk("down", 4) + _bulk("up", 1),
    "bbr": _bulk("down", 2, "bbr"),
    "sessions": _SESSIONS,
    # Each has an address of its own.
    "web": 8 * _user("web"),
    "mix": 4 * _user("web") + _bulk("down", 2) + _bulk("up", 1),
    "page-1.1": _user("page", 'http = "1.1"\npause = "1s"'),
    "page-2": _user("page", 'http = "2"\npause = "1s"') + _bulk("down", 1),
    "page-3": _user("page", 'http = "3"\npause = "1s"'),
    "page-3-bulk": _user("page", 'http = "3"\npause = "1s"') + _bulk("down", 1),
}


def path(queue: str, seed: int, seconds: int) -> str:
    """Return the path of a case."""
    return f"""name = "elsewhere"
duration = "{seconds}s"
warmup = "0s"
seed = {seed}
[path]
rtt = "40ms"
down = {{ rate = "10Mbit", queue = {{ {QUEUES[queue]} }} }}
up = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "60pkt" }} }}
"""


def numbers(came: Mapping[str, Any]) -> dict[str, float]:
    """Return delay, loss and what the link down carried (of users the engine adds up no goodput)."""
    link = came["links"]["down"]
    return {"delay_ms": link["queue_delay_ms"]["mean"], "loss": link["loss"], "carried": link["utilisation"]}


def real(case: str, queue: str, seed: int, seconds: int, folder: Path) -> dict[str, Any]:
    """Run the programs of a case behind a queue, captured at both hosts; return the result, which is kept."""
    kept = folder / "result.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "study.toml").write_text(path(queue, seed, seconds) + CASES[case])
        [point] = Study.load(folder / "study.toml").points
        os.environ |= {"SOJOURN_AGENT": str(AGENT), "SOJOURN_CAPTURES": str(folder.absolute())}
        came, _, _ = measure(point, agent=_CAPTURING)
        kept.write_text(json.dumps(came))
    return json.loads(kept.read_text())


def replayed(end: str, queue: str, seconds: int, folder: Path) -> dict[str, float]:
    """Replay what one end captured of a run over a queue; return the means."""
    workload = folder / f"{end}.parquet"
    if not workload.exists():
        sojourn("workload", str(folder / f"{end}.pcap"), "-o", str(workload), "--clients", CLIENTS)
    study = folder / f"{end}-{queue}.toml"
    again = _bulk("down", 1)
    source = f'kind = "recorded", file = "{workload.name}"'
    study.write_text(path(queue, 1, seconds) + again.replace('kind = "bulk"', source))
    came = []
    for seed in range(1, REPLAYS + 1):
        [point] = Study.load(study, [("seed", str(seed)), ("path.jitter", "40us")]).points
        came.append(numbers(json.loads(_core.run(point.text)["summary"])))
    return {name: fmean(each[name] for each in came) for name in came[0]}


def beside(case: str, seeds: range, seconds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each queue, the queue that the traffic was captured behind, end and number."""
    rooms = {(queue, seed): folder / f"{case}-{queue}-{seed}" for queue in QUEUES for seed in seeds}
    came = {key: real(case, *key, seconds, room) for key, room in rooms.items()}
    for queue in QUEUES:
        theirs = [numbers(came[queue, seed]) for seed in seeds]
        for captured in QUEUES:
            for end, at in ENDS.items():
                ours = [replayed(end, queue, seconds, rooms[captured, seed]) for seed in seeds]
                for name, (share, amount) in BOUNDS.items():
                    programs, replay = (fmean(each[name] for each in them) for them in (theirs, ours))
                    yield {
                        "case": case, "queue": queue, "captured": captured, "at": at, "number": name,
                        "programs": programs, "replay": replay,
                        "held": all(came[queue, seed]["engine"]["verdict"]["held"] for seed in seeds),
                        "within": abs(replay - programs) <= max(share * programs, amount),
                    }  # fmt: skip


def shown(row: Mapping[str, Any]) -> str:
    """Return a row as text."""
    ratio = row["replay"] / row["programs"] - 1 if row["programs"] else float("nan")
    said = ("" if row["within"] else "  OUTSIDE") + ("" if row["held"] else "  the bed did not hold")
    where = f"{row['case']:9} {row['captured']:>8} -> {row['queue']:8} {row['at']:8} {row['number']:8}"
    return f"{where} {row['programs']:9.4g} {row['replay']:9.4g} {ratio:+7.1%}{said}"


def main() -> int:
    """Run the cases that are named, or all."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("cases", nargs="*", choices=[*CASES, []])
    words.add_argument("--runs", type=int, default=1)
    words.add_argument("--seed", type=int, default=1, help="of the first run")
    words.add_argument("--seconds", type=int, default=40)
    words.add_argument("--folder", type=Path)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    subprocess.run(["tcpdump", "--version"], check=True, capture_output=True)
    outside = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case in given.cases or CASES:
            seeds = range(given.seed, given.seed + given.runs)
            for row in beside(case, seeds, given.seconds, given.folder or Path(scratch)):
                outside += not row["within"]
                print(json.dumps(row) if given.json else shown(row), flush=True)
    return int(outside > 0)


if __name__ == "__main__":
    raise SystemExit(main())
