"""The testbed's agent at one end, behind a capture of what its host sees.

Run by `benches.passive.elsewhere` in place of the agent, as ``capturing.py PLAN END``. `$SOJOURN_AGENT` is
the agent, `$SOJOURN_CAPTURES` the folder of END.pcap.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def capture(folder: Path, end: str, *which: str) -> subprocess.Popen[bytes]:
    """Capture headers at this host's only device into END.pcap, of `which` packets, until terminated."""
    device = next(one.name for one in Path("/sys/class/net").iterdir() if one.name != "lo")
    watched = subprocess.Popen(
        ["tcpdump", "-i", device, "-n", "-U", "-s", "128", "-B", "16384", "-Z", "root",
         "--time-stamp-precision", "nano", "-w", str(folder / f"{end}.pcap"), *which],
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert watched.stderr is not None
    for line in watched.stderr:
        if b"listening on" in line:
            break
    return watched


def main(plan: str, end: str) -> int:
    """Capture headers at this host's only device while the agent runs; return the agent's exit code."""
    watched = capture(Path(os.environ["SOJOURN_CAPTURES"]), end)
    child = os.fork()
    if child == 0:
        agent = os.environ["SOJOURN_AGENT"]
        sys.argv = [agent, plan, end]
        runpy.run_path(agent, run_name="__main__")
    told = json.loads(Path(plan).read_text())
    for held in {told["begin"], *told["peers"].values()}:
        with suppress(OSError):
            os.close(held)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    watched.terminate()
    watched.wait()
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
