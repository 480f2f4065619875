"""Linux hosts with a FIFO between them, in network namespaces of one machine.

    B --veth-- G (gateway, the queue) --veth-- relay (fixed delay each way) --veth-- R --veth-- A

`up` is data from B to A; its queue is on G's interface towards the relay. `down` is data from A to B; its
queue, if there is one, is on G's interface towards B. A queue is `htb` with one class and a `pfifo` of N
packets. Offloads are off. Both interfaces of G are captured with stamps of the kernel, in nanoseconds.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.kernel.captures import dropped, figures, match, packets, service
from benches.kernel.scenarios import Scenario

HERE = Path(__file__).parent
TOOLS = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool", "tcpdump": "tcpdump", "cc": "gcc"}
OFFLOADS = ("tso", "gso", "gro", "tx", "rx")
ADDRESSES = {
    "b": "10.7.1.2",
    "gb": "10.7.1.1",
    "g": "10.7.2.1",
    "r": "10.7.2.2",
    "ra": "10.7.3.1",
    "a": "10.7.3.2",
}
"""By interface, without the number that it ends with."""
CABLES = (("b", "b0", "g", "gb0"), ("g", "g0", "d", "d0"), ("d", "d1", "r", "r0"), ("r", "ra0", "a", "a0"))
ROUTES = (
    ("b", "default", "gb"),
    ("a", "default", "ra"),
    ("g", "10.7.3.0/24", "r"),
    ("r", "10.7.1.0/24", "g"),
)
PORT = 5001
# Of a frame: Ethernet, IP, and TCP with its options.
KEPT_BYTES = 94
# Of hosts and captures, below the relay's: what other work the machine does should not decide when a receiver
# reads, because a Linux receiver acknowledges when it reads.
PRIORITY = 10
# tcpdump hands over what it has captured once a second.
FLUSH_S = 2.0
SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_rmem": "4096 4194304 33554432",
    "net.ipv4.tcp_wmem": "4096 2097152 33554432",
}


def missing() -> str:
    """Return what this machine lacks for a run, as one sentence, or nothing."""
    if os.geteuid() != 0:
        return "Network namespaces and real-time priority need root."
    if lacking := {package for tool, package in TOOLS.items() if not shutil.which(tool)}:
        return f"Not installed: apt-get install {' '.join(sorted(lacking))}"
    space = f"sj-{os.getpid()}"
    try:
        _do("ip", "netns", "add", space)
        _do("tc", "-n", space, "qdisc", "add", "dev", "lo", "root", "htb")
    except RuntimeError as error:
        return f"This kernel or container does not let the path be built: {error}"
    finally:
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
    return ""


class Bed:
    """One path; several may be there at once, each with a name of its own."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        self.scenario = scenario
        self.space = {host: f"sj-{name}-{host}" for host in ("b", "g", "d", "r", "a")}
        self.scratch = Path(tempfile.mkdtemp(prefix=f"sj-{name}-"))
        self.running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Bed:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()
        for space in self.space.values():
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
        shutil.rmtree(self.scratch)

    def _build(self) -> None:
        for space in self.space.values():
            _do("ip", "netns", "add", space)
            _do("ip", "-n", space, "link", "set", "lo", "up")
            for key, value in SYSCTLS.items():
                _do("ip", "netns", "exec", space, "sysctl", "-q", "-w", f"{key}={value}")
        for left, left_end, right, right_end in CABLES:
            self._cable(left, left_end, right, right_end)
            for host, interface in ((left, left_end), (right, right_end)):
                if address := ADDRESSES.get(interface.removesuffix("0")):
                    _do("ip", "-n", self.space[host], "address", "add", f"{address}/24", "dev", interface)
        for host, network, via in ROUTES:
            _do("ip", "-n", self.space[host], "route", "add", network, "via", ADDRESSES[via])
        self._queue("g0", self.scenario.up_mbps)
        if self.scenario.down_mbps:
            self._queue("gb0", self.scenario.down_mbps)

    def _cable(self, left: str, left_end: str, right: str, right_end: str) -> None:
        ends = (self.space[left], left_end), (self.space[right], right_end)
        one, other = (("name", end, "netns", space) for space, end in ends)
        _do("ip", "link", "add", *one, "type", "veth", "peer", *other)
        for space, end in ends:
            off = [word for offload in OFFLOADS for word in (offload, "off")]
            _do("ip", "netns", "exec", space, "ethtool", "-K", end, *off)
            _do("ip", "-n", space, "link", "set", end, "up")

    def _queue(self, interface: str, rate_mbps: float) -> None:
        rate, burst = f"{rate_mbps:g}mbit", f"{self.scenario.burst_bytes}b"
        tc = ("tc", "-n", self.space["g"])
        _do(*tc, "qdisc", "add", "dev", interface, "root", "handle", "1:", "htb", "default", "1")
        shape = ("rate", rate, "ceil", rate, "burst", burst, "cburst", burst, "quantum", "1514")
        _do(*tc, "class", "add", "dev", interface, "parent", "1:", "classid", "1:1", "htb", *shape)
        limit = ("pfifo", "limit", str(self.scenario.buffer_pkts))
        _do(*tc, "qdisc", "add", "dev", interface, "parent", "1:1", "handle", "10:", *limit)

    def start(self, host: str, *argv: str) -> subprocess.Popen[str]:
        """Start a program on a host."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.space[host], *argv], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self.running.append(process)
        os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(PRIORITY))
        return process

    def relay(self) -> subprocess.Popen[str]:
        """Start what delays frames, half of the round trip each way; at its end it tells how late it was."""
        program = self.scratch / "relay"
        _do("cc", "-O2", "-o", str(program), str(HERE / "relay.c"))
        return self.start("d", str(program), "d0", "d1", str(int(500 * self.scenario.base_rtt_ms)))

    def capture(self, host: str, interface: str) -> subprocess.Popen[str]:
        """Start a capture of an interface, into a file of its name in `scratch`."""
        return self.start(
            host,
            *("tcpdump", "-i", interface, "-n", "-s", str(KEPT_BYTES), "-B", "16384", "-Z", "root"),
            *("--time-stamp-precision=nano", "-w", str(self.scratch / interface), "tcp"),
        )

    def captured(self, captures: list[subprocess.Popen[str]]) -> int:
        """End captures once the queues are empty; return how many packets they missed."""
        time.sleep(FLUSH_S + self.scenario.longest_queue_s())
        for capture in captures:
            capture.send_signal(signal.SIGINT)
        return sum(
            int(capture.communicate()[1].split(" packets dropped by kernel")[0].split()[-1])
            for capture in captures
        )

    def measure(self, seed: int) -> tuple[list[dict[str, object]], dict[str, object]]:
        """Run the flows; return a row for each queue, and what the machine, the relay and the hosts say."""
        asked = self.scenario
        relay = self.relay()
        captures = [self.capture("g", interface) for interface in ("gb0", "g0")]
        flows = [sys.executable, str(HERE / "flows.py")]
        receivers = [self.start(host, *flows, "receive", str(PORT)) for host in ("a", "b")]
        window = (str(asked.begin_s), str(asked.end_s))
        senders = [
            self.start(
                host,
                *(*flows, "send", ADDRESSES[to], str(PORT), str(count)),
                *(asked.controller, *window, str(seed + offset)),
            )
            for host, to, count, offset in (("b", "a", asked.up_flows, 0), ("a", "b", asked.down_flows, 500))
            if count
        ]
        for process in (*receivers, *senders):
            _line(process)
        start = time.time() + 1.0
        for sender in senders:
            print(repr(start), file=sender.stdin, flush=True)
        before = _cpu()
        counters = [json.loads(_line(sender)) for sender in senders]
        after = _cpu()
        lost = self.captured(captures)
        relay.send_signal(signal.SIGTERM)
        told = {
            "scenario": asked.name,
            "relay": json.loads(relay.communicate()[0]),
            "capture_drops": lost,
            "cpu_busy": round((after[0] - before[0]) / (after[1] - before[1]), 3),
            "counters": counters,
        }
        rows, told["queues"] = self._rows(start)
        return rows, told

    def _rows(self, start: float) -> tuple[list[dict[str, object]], dict[str, dict[str, float]]]:
        asked = self.scenario
        window = tuple(int(1e9 * (start + moment)) for moment in (asked.begin_s, asked.end_s))
        rows, seen = [], {}
        for way, source, before, behind, rate in (
            ("up", "b", "gb0", "g0", asked.up_mbps),
            ("down", "a", "g0", "gb0", asked.down_mbps),
        ):
            if rate:
                address = socket.inet_aton(ADDRESSES[source])
                passages = match(*(packets(self.scratch / name, address) for name in (before, behind)))
                found = figures(passages, window, int(1e6 * asked.base_rtt_ms), 1e6 * rate)
                rows.append({"link": way, **found})
                seen[way] = {
                    "service": round(service(passages, window, 1e6 * rate), 5),
                    "dropped": dropped(passages),
                    "kernel_dropped": self._dropped(behind),
                }
        return rows, seen

    def _dropped(self, interface: str) -> int:
        """Return how many packets the kernel says that it has dropped."""
        said = _do("tc", "-s", "-j", "-n", self.space["g"], "qdisc", "show", "dev", interface)
        [queue] = [entry for entry in json.loads(said) if entry["kind"] == "pfifo"]
        return queue["drops"]


def _do(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def _line(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{' '.join(process.args)}: {process.stderr.read().strip() or 'ended early'}")
    return line


def _cpu() -> tuple[int, int]:
    total = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    ticks = [int(word) for word in total.split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
