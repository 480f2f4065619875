"""Start and end studies between real programs, again and again, at any moment: what is left?

python -m benches.emulator.testbed_endings [40] [--seed 1]

The study has bulk flows, sessions, datagrams, a caller and pages fetched by a browser: 6 s, about 10 with
its beginning and its end. Each run is ended at a moment drawn from all of that, by TERM, INT or KILL of
`sojourn run`, or by KILL of any one process below it but Python's own. After each: no process of it; the
interfaces, routes, rules, mounts, names of namespaces and variables under `net.` that there were; no file in
the folder of temporary files; and of the results only whole ones (a KILL of `sojourn run` may leave a packet
log that was being written, which the next run removes). Exit 1 if anything is left. Needs root and a
Chromium, and where others change this machine's network meanwhile a network of its own: `unshare -n -m sh -c
'mount -t tmpfs none /run/netns; python -m benches.emulator.testbed_endings'`.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benches.emulator.endings import below, changed, networks, settled, state, tell_networks
from tools.program import program

STUDY = """
name = "ended"
duration = "6s"
warmup = "1s"
[path]
rtt = "30ms"
down = { rate = "8Mbit", queue = { kind = "fq-codel" } }
up = { rate = "4Mbit", queue = { kind = "fifo", limit = "50pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
stack = "linux"
count = 2
[[flows]]
source = { kind = "sessions", sizes = "20kB", interconnection = "100ms" }
transport = "cubic"
direction = "up"
stack = "linux"
[[flows]]
source = { kind = "cbr", rate = "200kbit", size = "500B" }
transport = "udp"
direction = "down"
[[users]]
kind = "voice"
codec = "g711a"
direction = "both"
call = "500ms"
gap = "0s"
score = "emodel"
[[users]]
kind = "browser"
transport = "cubic"
stack = "linux"
[record]
losses = ["down"]
series = true
"""
TAKES_S = 12.0
WAYS = ("TERM", "INT", "KILL", "KILL of one below")
WHOLE = {".json", ".jsonl", ".parquet", ".md", ".html", ".toml"}


def left(temporary: Path, results: Path, allowed: set[str]) -> list[str]:
    """Return what a run has left of temporary files, and what of its results is no whole file."""
    shared = (place for place in Path("/dev/shm").iterdir() if "chromium" in place.name)
    found = [str(place) for place in (*temporary.iterdir(), *shared)]
    for place in results.rglob("*"):
        if place.suffix == ".json":
            json.loads(place.read_text(encoding="utf-8"))
        if place.is_file() and place.suffix not in {*WHOLE, *allowed}:
            found.append(str(place))
    return found


def is_pythons(pid: int) -> bool:
    """Whether a process is one of `multiprocessing`'s own, which complains of its end."""
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def one(way: str, after_s: float, marker: str, folder: Path, draw: random.Random) -> str:
    """Start a run and end it; return what was wrong, or nothing."""
    name, value = marker.split("=")
    running = subprocess.Popen(
        [sys.executable, "-m", "sojourn", "run", "ended.toml", "--on", "testbed"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd=folder,
        env={**os.environ, name: value, "TMPDIR": str(folder / "temporary")},
    )  # fmt: skip
    try:
        running.wait(after_s)
    except subprocess.TimeoutExpired:
        others = [pid for pid in below(marker) if pid != running.pid and not is_pythons(pid)]
        if way != WAYS[-1]:
            running.send_signal(getattr(signal, f"SIG{way}"))
        elif others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(others), signal.SIGKILL)
    try:
        # Without one of those below it may begin anew, or say what failed.
        said = running.communicate(timeout=30 if way != WAYS[-1] else 120)[0]
    except subprocess.TimeoutExpired:
        running.kill()
        return "it did not end"
    if "Traceback" in said:
        return f"it says: {said[-600:]}"
    if not settled(lambda: not below(marker)):
        return f"processes are left: {below(marker)}"
    return ""


def main(runs: int = 40, /, *, seed: int = 1) -> int:
    """Start and end; 1 if anything was left."""
    if os.geteuid() != 0:
        print("error: needs root", file=sys.stderr)
        return 2
    draw = random.Random(seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        temporary, results, nothing = (folder / name for name in ("temporary", "results", "nothing"))
        temporary.mkdir()
        nothing.mkdir()
        (folder / "ended.toml").write_text(STUDY, encoding="utf-8")
        before, networks_before = state(nothing), networks()
        for number in range(runs):
            way, after_s = WAYS[number % len(WAYS)], draw.uniform(0.1, TAKES_S)
            marker = f"SOJOURN_TESTBED_ENDING={os.getpid()}-{number}-"
            trouble = one(way, after_s, marker, folder, draw)
            look = partial(left, temporary, results, {".tmp"} if way == "KILL" else set())
            if not trouble and not settled(lambda look=look: not look()):
                trouble = "left: " + ", ".join(look())
                shutil.rmtree(temporary)
                temporary.mkdir()
            trouble = trouble or changed(before, nothing)
            points = len(list(results.glob("*/points/*.json")))
            told = f"run {number}, {way} after {after_s:.2f} s, {points} points"
            print(f"{told}: {trouble or 'ok'}", flush=True)
            wrong += bool(trouble)
            shutil.rmtree(results, ignore_errors=True)
        tell_networks(networks_before)
    print(f"{wrong} of {runs} left something, or did not end as they should")
    return 1 if wrong else 0


if __name__ == "__main__":
    program(__doc__, main)
