"""Run a scenario of `tools.validation.peers` on ns-2, ns-3 or sojourn, in a process of its own.

Every run returns the JSON object that the peer's script prints, with ``down.whole_run_data_pkts`` (data
packets that crossed the bottleneck, warm-up included), ``wall_s`` (the simulation alone: no start-up, no
set-up of nodes) and ``rss_mb`` (peak resident memory of the process). As a program it prints the figures of
scenarios::

    python -m benches.peers.driver speed-newreno-fifo access-long-many-both-64
"""

import argparse
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.validation.documents import study
from tools.validation.peers import SCENARIOS, Scenario

HERE = Path(__file__).parent
NS3_MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
MANY_FLOWS = 100
NS3_HOSTS = 8


class Unavailable(Exception):
    """A peer cannot run a scenario; the text is the reason."""


def settings(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario under the names that both scripts understand."""
    return {
        "down-rate": scenario.down_bps,
        "up-rate": scenario.up_bps,
        "rtt": scenario.rtt_ms / 1e3,
        "down-flows": scenario.down_flows,
        "up-flows": scenario.up_flows,
        "tcp": scenario.tcp,
        "iw": scenario.initial_window,
        "limit": scenario.limit,
        "warmup": scenario.warmup_s,
        "duration": scenario.duration_s,
        "start-within": scenario.start_within_s,
        "seed": scenario.seed,
    }


def ns2(scenario: Scenario) -> dict[str, Any]:
    """Run a scenario on ns-2."""
    if shutil.which("ns") is None:
        raise Unavailable("ns-2 is not installed (apt-get install ns2)")
    if scenario.queue != "fifo":
        raise Unavailable(f"ns-2 as packaged has no {scenario.queue}")
    words = [str(word) for pair in settings(scenario).items() for word in pair]
    return object_printed(["ns", str(HERE / "dumbbell.tcl"), *words])


def ns3(scenario: Scenario) -> dict[str, Any]:
    """Run a scenario on ns-3."""
    options = settings(scenario) | {"queue": scenario.queue}
    if scenario.down_flows + scenario.up_flows > MANY_FLOWS:
        # The cheapest form of such a scenario; and windows are small, so that little is kept to send.
        options |= {"hosts": NS3_HOSTS, "send-buffer": 131072}
    command = [str(ns3_binary("dumbbell")), *(f"--{key}={value}" for key, value in options.items())]
    return object_printed(command)


def ours(scenario: Scenario) -> dict[str, Any]:
    """Run a scenario on sojourn; the memory includes that of Python."""
    [point] = study(scenario.document()).points
    return object_printed([sys.executable, str(HERE / "ours.py")], point.text)


PEERS: dict[str, Callable[[Scenario], dict[str, Any]]] = {"sojourn": ours, "ns2": ns2, "ns3": ns3}


@functools.cache
def _build_directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="sojourn-ns3-")


@functools.cache
def ns3_binary(name: str) -> Path:
    """Compile an ns-3 scenario, once in a process; return the program."""
    compiler = shutil.which("g++") or shutil.which("c++")
    modules = [f"ns3-{module}" for module in NS3_MODULES]
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", *modules]).returncode:
        raise Unavailable("ns-3 is not installed (apt-get install libns3-dev)")
    if compiler is None:
        raise Unavailable("there is no C++ compiler for the ns-3 scenario")
    words = subprocess.check_output(["pkg-config", "--cflags", "--libs", *modules], text=True).split()
    # Some packages of ns-3 list libraries of other packages by path; the simulator's own are enough.
    flags = [word for word in dict.fromkeys(words) if word.startswith(("-I/usr/include", "-L", "-lns3-"))]
    binary = Path(_build_directory().name) / name
    command = [compiler, "-O3", "-DNDEBUG", "-std=c++17", str(HERE / f"{name}.cc"), "-o", str(binary)]
    command += [*flags, "-Wl,--allow-shlib-undefined"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        reason = next(iter(built.stderr.splitlines()), "no reason given")
        raise Unavailable(f"the ns-3 scenario does not compile here: {reason}")
    return binary


def object_printed(command: list[str], stdin: str = "") -> dict[str, Any]:
    """Run a command and return the JSON object that it prints, whatever is printed around it."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    _, brace, rest = done.stdout.partition("{")
    if done.returncode or not brace:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(f"{Path(command[0]).name} failed: {reason[-1] if reason else done.returncode}")
    return json.JSONDecoder().raw_decode(brace + rest)[0]


def main() -> None:
    """Print the figures of the scenarios named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scenario", nargs="*", help="by default all")
    parser.add_argument("--peer", action="append", choices=PEERS, help="by default all")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name in arguments.scenario or SCENARIOS:
        if name not in SCENARIOS:
            parser.error(f"there is no scenario {name!r}")
        scenario = SCENARIOS[name]
        for peer in arguments.peer or PEERS:
            try:
                found = PEERS[peer](replace(scenario, seed=arguments.seed, repeat=1))
            except Unavailable as reason:
                print(f"{name:28} {peer:8} skipped: {reason}")
                continue
            both = {way: found[way] for way in ("down", "up")}
            packets = sum(link.get("whole_run_data_pkts", 0) for link in both.values())
            links = "  ".join(
                f"{way} {link['delay_ms']:8.2f} ms {link['utilisation']:.3f} {link['loss']:.4f}"
                for way, link in both.items()
            )
            rate = f"{packets / found['wall_s'] / 1e3:7.0f} k/s"
            print(f"{name:28} {peer:8} {rate} {found['rss_mb']:6.1f} MB  {links}", flush=True)


if __name__ == "__main__":
    main()
