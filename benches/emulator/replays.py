"""Does the simulator decide as the live queue did? Each queue discipline behind kernel TCP.

python -m benches.emulator.replays [--seconds 10] [KIND …]

16 Mb/s down and 4 up, 20 ms, four CUBIC flows up that ask for ECN; once as root, with the kernel's stamps,
and once as an ordinary user (uid 65534), without. Prints how many decisions the replay of the logged arrivals
makes alike, as Markdown. Exit 1 if one with stamps differs. Needs root, to be both.
"""

import json
import os
import shutil
import sys
from typing import Any

from benches.command import sojourn
from benches.emulator.endings import ORDINARY
from tools.program import program

KINDS: dict[str, tuple[str, ...]] = {
    "fifo": ('kind="fifo"', 'limit="30pkt"'),
    "codel": ('kind="codel"', "ecn=true"),
    "pie": ('kind="pie"', "ecn=true"),
    "red": ('kind="red"', 'limit="60pkt"', "ecn=true", "min=5.0", "max=15.0"),
    "fq-codel": ('kind="fq-codel"', "ecn=true"),
    "cake": ('kind="cake"',),
    "dualpi2": ('kind="dualpi2"',),
}
"""The queue disciplines, each with keys that have it drop or mark soon."""
PATH = ("--down", "16Mbit", "--up", "4Mbit", "--rtt", "20ms")
HEADS = ("queue", "stamps", "decisions", "alike", "drops", "alike", "marks", "alike")
SINK = """
import os, selectors, socket
server, ready = socket.create_server(("", 5001), backlog=64), selectors.DefaultSelector()
ready.register(server, selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        if key.fileobj is server:
            ready.register(server.accept()[0], selectors.EVENT_READ)
        elif not key.fileobj.recv(1 << 20):
            ready.unregister(key.fileobj)
"""
SEND = """
import os, socket, sys, threading, time
flows, seconds = int(sys.argv[1]), float(sys.argv[2])
def send():
    flow = socket.create_connection((os.environ["SOJOURN_SERVER"], 5001))
    while True:
        flow.sendall(bytes(1 << 16))
for _ in range(flows):
    threading.Thread(target=send, daemon=True).start()
time.sleep(seconds)
os._exit(0)
"""
"""Flows to the server's end for some time."""


def queue(kind: str) -> str:
    """Return the queue of a kind as a TOML value."""
    return "{" + ",".join(KINDS[kind]) + "}"


def replay(kind: str, seconds: float, *, ordinary: bool) -> dict[str, Any]:
    """Run flows through a kind of queue; return what came of it."""
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    words = [*PATH, "--congestion", "cubic", "--ecn", "--set", f"path.up.queue={queue(kind)}", "--json"]
    words += ["--server", f"exec {python} -c '{SINK}'", "--", python, "-c", SEND, "4", str(seconds)]
    before = ("env", "HOME=/", "PYTHONDONTWRITEBYTECODE=1", *(ORDINARY if ordinary else ()))
    return json.loads(sojourn("emulate", *words, cwd="/", before=before))


def main(*kinds: str, seconds: float = 10) -> int:
    """Print the table; 1 if root's decisions differ."""
    if os.geteuid() != 0:
        print("error: needs root, to be root and an ordinary user in turn", file=sys.stderr)
        return 2
    print("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|", flush=True)
    differs = False
    for kind in kinds or KINDS:
        for ordinary in (False, True):
            came = replay(kind, seconds, ordinary=ordinary)
            found = came["engine"]["replay"]["up"]
            counts = []
            for what, alike in (("decisions", "equal"), ("drops", "equal_drops"), ("marks", "equal_marks")):
                all_of = found[what]
                counts += [str(all_of), f"{100 * found[alike] / all_of:.6g} %" if all_of else "–"]
            differs |= not ordinary and found["equal"] != found["decisions"]
            print("| " + " | ".join((kind, came["engine"]["stamps"], *counts)) + " |", flush=True)
    return 1 if differs else 0


if __name__ == "__main__":
    program(__doc__, main)
