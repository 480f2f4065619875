"""Start and end the emulator, again and again, in every way in which it can be ended: what is left?

python -m benches.emulator.endings [100] [--seed 1]

Every second run is that of an ordinary user (uid 65534, with a user namespace; it may read files that only
root may, since the package may lie there). The command has a child that ignores TERM and hides in a session
of its own. After each run: no process below it, and the interfaces, routes, rules, mounts, names of
namespaces and variables under `net.` that there were; at the end as many network namespaces in the kernel,
and no file in the folders that it could have written to. Exit 1 if anything is left. Needs root. Where others
change this machine's network meanwhile, run it in one of its own: `unshare -n -m sh -c 'mount -t tmpfs none
/run/netns; python -m benches.emulator.endings'`.
"""

import fcntl
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tools.program import program

PATH = ("--down", "16Mbit", "--up", "4Mbit", "--rtt", "10ms")
HIDES = 'trap "" TERM HUP INT; setsid sh -c "trap : TERM HUP; while :; do sleep 1; done" & echo up; sleep 100'
WAYS = (
    "TERM",
    "KILL of the parent",
    "KILL of the emulator",
    "KILL of the command",
    "closed terminal",
    "KILL early",
)
ORDINARY = (
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip
PATIENCE_S = 15.0


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def below(marker: str) -> list[int]:
    """Return the processes that have a marker among their variables."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in place.read_bytes():
                found.append(int(place.parts[2]))
        except OSError:
            continue
    return found


def told(*words: str) -> str:
    """Return what a program says."""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def variables() -> dict[str, str]:
    """Return what is set under `net.` in this network."""
    found = {}
    for place in Path("/proc/sys/net").rglob("*"):
        try:
            found[str(place)] = place.read_text()
        except OSError:
            continue
    # They count, or tell the time.
    changing = ("nf_conntrack_count", "stable_secret", "netdev_rss_key")
    return {name: text for name, text in found.items() if not name.endswith(changing)}


def state(folder: Path) -> dict[str, object]:
    """Return what must be as it was."""
    temporary = [str(each) for each in Path(tempfile.gettempdir()).iterdir() if owner(each) == 65534]
    return {
        "interfaces": sorted(place.name for place in Path("/sys/class/net").iterdir()),
        "routes": told("ip", "route") + told("ip", "-6", "route"),
        "rules": told("ip", "rule") + told("ip", "-6", "rule"),
        "names of namespaces": told("ip", "netns", "list"),
        # Those of /run/netns are names, which are there already.
        "mounts": [
            line for line in Path("/proc/self/mounts").read_text().splitlines() if "/run/netns" not in line
        ],
        "variables": variables(),
        "files": sorted(folder.iterdir()),
        "temporary files of uid 65534": sorted(temporary),
    }


def owner(file: Path) -> int:
    """Return the user that a file belongs to."""
    try:
        return file.lstat().st_uid
    except OSError:
        return -1


def networks() -> int | None:
    """Return how many network namespaces the kernel has; None if it does not tell."""
    try:
        lines = Path("/proc/slabinfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("net_namespace ")), None)


def settled(holds: Callable[[], bool]) -> bool:
    """Wait for something to hold, for some time."""
    until = time.monotonic() + PATIENCE_S
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.02)
    return held


def changed(before: dict[str, object], folder: Path) -> str:
    """Say what is not as it was before, even after some time; nothing if all is."""
    if settled(lambda: state(folder) == before):
        return ""
    now = state(folder)
    return "not as before: " + ", ".join(key for key in before if now[key] != before[key])


def tell_networks(before: int | None) -> None:
    """Print how many networks the kernel has when those of the runs have had time to go."""
    settled(lambda: (networks() or 0) <= (before or 0))
    print(f"network namespaces in the kernel: {before} before, {networks()} now")


def one(way: str, *, ordinary: bool, marker: str, early_s: float, folder: Path) -> str:
    """Start and end one run; return what was wrong, or nothing."""
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    code = 'import socket, time; s = socket.create_server(("", 5001)); time.sleep(99)'
    server = f"exec {python} -I -S -c '{code}'"
    words = [*(ORDINARY if ordinary else ()), sys.executable, "-m", "sojourn", "emulate", *PATH]
    name, value = marker.split("=")
    kept = {**os.environ, name: value, "HOME": "/", "PYTHONDONTWRITEBYTECODE": "1"}
    master, slave = pty.openpty()

    def take_terminal() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    running = subprocess.Popen(
        [*words, "--server", server, "--", "sh", "-c", HIDES],
        stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=take_terminal, env=kept, cwd=folder,
    )  # fmt: skip
    os.close(slave)
    try:
        if way == "KILL early":
            time.sleep(early_s)
            running.kill()
        elif running.stdout is not None and running.stdout.readline() != "up\n":
            return f"it did not start: {running.communicate()[1].strip()}"
        elif way == "TERM":
            running.terminate()
        elif way == "KILL of the parent":
            running.kill()
        elif way == "KILL of the emulator":
            os.kill(children(running.pid)[0], signal.SIGKILL)
        elif way == "KILL of the command":
            os.kill(children(children(running.pid)[0])[0], signal.SIGKILL)
        else:
            os.close(master)
            master = -1
        try:
            running.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            running.kill()
            return "it did not end"
    finally:
        if master >= 0:
            os.close(master)
    if not settled(lambda: not below(marker)):
        return f"processes are left: {below(marker)}"
    return ""


def main(runs: int = 100, /, *, seed: int = 1) -> int:
    """Start and end; 1 if anything was left."""
    if os.geteuid() != 0:
        print("error: needs root, to be root and an ordinary user in turn", file=sys.stderr)
        return 2
    draw = random.Random(seed)
    wrong = 0
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        folder.chmod(0o777)
        before, networks_before = state(folder), networks()
        for number in range(runs):
            way, ordinary = WAYS[number // 2 % len(WAYS)], number % 2 == 1
            marker = f"SOJOURN_ENDING={os.getpid()}-{number}-"
            trouble = one(
                way, ordinary=ordinary, marker=marker, early_s=draw.uniform(0.05, 1.2), folder=folder
            )
            trouble = trouble or changed(before, folder)
            who = "an ordinary user" if ordinary else "root"
            ended[f"{way}, as {who}"] += 1
            if trouble:
                wrong += 1
                print(f"run {number}, {way}, as {who}: {trouble}", flush=True)
        tell_networks(networks_before)
    for what, count in sorted(ended.items()):
        print(f"{count:4}  {what}")
    print(f"{wrong} of {runs} left something, or did not start or end as they should")
    return 1 if wrong else 0


if __name__ == "__main__":
    program(__doc__, main)
