"""`sojourn measure` against Linux's own queues: TCP through `htb` and `pfifo` each way, seen from both hosts.

python -m benches.kernel.directions [--studies 12] [--seed 1] [--folder DIR]

The path is that of `bed.py`, with hosts captured as well. Each study has 1 to 16 bulk flows, up, down or both
ways, of Reno, CUBIC and BBR, in groups that begin up to 3 s after one another; 1 to 50 Mbit/s each way; a
round trip of 10 to 150 ms; buffers of 0.2 to 6 bandwidth-delay products of the quicker way. It runs for 20 s.
A packet's true wait is what the captures before and behind its queue are apart. A shaper lets a packet that
finds its queue empty pass at once, so that a wait ends where the transmission would begin. The rule, and the
table, are those of `benches.passive.directions`. Needs what `measure.py` needs. Exit code 1 says that
something is wrong.
"""

import json
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.kernel.bed import ADDRESSES, HERE, PORT, Bed, missing
from benches.kernel.captures import frames
from benches.kernel.scenarios import Scenario
from benches.passive.both_ends import Packet, Run, packet, seen_from_both
from benches.passive.directions import WRONG, judged, sentence, totals
from tools.program import program

SECONDS = 20
HOSTS = {"clients": "b0", "servers": "a0"}
"""Interface of the host at each side."""


def drawn(of: random.Random) -> tuple[Scenario, list[dict[str, Any]]]:
    """Draw a path, and groups of flows with when each begins."""

    def log_uniform(least: float, most: float) -> float:
        return least * (most / least) ** of.random()

    up, down, rtt_ms = round(log_uniform(1, 50), 1), round(log_uniform(1, 50), 1), round(log_uniform(10, 150))
    packets = max(5, round(log_uniform(0.2, 6) * max(up, down) * 1e3 * rtt_ms / 8 / 1514))
    ways = of.choice((("up",), ("down",), ("up", "down")))
    left, groups = round(log_uniform(1, 16)), []
    while left:
        count = of.randint(1, left)
        way, control = ways[len(groups) % len(ways)], of.choice(("reno", "cubic", "bbr"))
        at_s = round(of.random() * 3, 2) if groups else 0.0
        groups.append({"way": way, "control": control, "count": count, "at_s": at_s})
        left -= count
    asked = Scenario("directions", "", 0, 0, up, down, rtt_ms, min(packets, 1000), 1600, 0, SECONDS)
    return asked, groups


def ran(bed: Bed, groups: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Run the flows; return what the relay says, and how many packets captures missed."""
    relay = bed.relay()
    captures = [bed.capture(interface[0], interface) for interface in ("gb0", "g0", *HOSTS.values())]
    flows = [sys.executable, str(HERE / "flows.py")]
    receivers = [bed.start(host, *flows, "receive", str(PORT)) for host in ("a", "b")]
    senders = []
    for number, group in enumerate(groups):
        host, to = ("b", "a") if group["way"] == "up" else ("a", "b")
        counted = str(SECONDS - group["at_s"])
        about = (
            ADDRESSES[to],
            str(PORT),
            str(group["count"]),
            group["control"],
            "0",
            counted,
            str(seed + number),
        )
        senders.append(bed.start(host, *flows, "send", *about))
    for process in (*receivers, *senders):
        process.stdout.readline()
    start = time.time() + 1.0
    for group, sender in zip(groups, senders, strict=True):
        print(repr(start + group["at_s"]), file=sender.stdin, flush=True)
    for sender in senders:
        sender.stdout.readline()
    for sender in senders:
        sender.kill()
    lost = bed.captured(captures)
    relay.send_signal(signal.SIGTERM)
    return {"relay": json.loads(relay.communicate()[0]), "capture_drops": lost}


def waits(scratch: Path, source: str, before: str, behind: str) -> Iterator[tuple[Packet, float]]:
    """Iterate over the packets of a host that left its queue, with their waits, ms."""
    left: dict[bytes, deque[int]] = defaultdict(deque)

    def of(interface: str) -> Iterator[tuple[int, Packet]]:
        for time_ns, _, ip in frames(scratch / interface):
            if (found := packet(ip)) and found.way[0] == source:
                yield time_ns, found

    for time_ns, found in of(behind):
        left[found.key].append(time_ns)
    for time_ns, found in of(before):
        while left[found.key] and left[found.key][0] < time_ns:
            left[found.key].popleft()
        if left[found.key]:
            yield found, (left[found.key].popleft() - time_ns) / 1e6


def seen(scratch: Path, folder: Path) -> Run:
    """Keep what hosts captured, and say what each packet waited."""
    captures = {side: folder / f"{side}.pcap" for side in HOSTS}
    for side, interface in HOSTS.items():
        captures[side].write_bytes((scratch / interface).read_bytes())
    found = {side: [packet(ip) for *_, ip in frames(file)] for side, file in captures.items()}
    true = [*waits(scratch, ADDRESSES["b"], "gb0", "g0"), *waits(scratch, ADDRESSES["a"], "g0", "gb0")]
    return seen_from_both(captures, found, true, [])


def main(*, studies: int = 12, seed: int = 1, folder: Path | None = None) -> int:
    """Draw, run and judge studies; 1 if a direction is wrong."""
    if lacking := missing():
        print(lacking, file=sys.stderr)
        return 1
    judgements: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sojourn-directions-") as made:
        for number in range(studies):
            asked, groups = drawn(random.Random(f"kernel {seed} {number}"))
            place = (folder or Path(made)) / f"{seed}-{number}-kernel"
            place.mkdir(parents=True, exist_ok=True)
            (place / "drawn.json").write_text(json.dumps(asked.columns() | {"groups": groups}))
            with Bed(f"{seed}{number}", asked) as bed:
                told = ran(bed, groups, 100 * seed + 7 * number)
                run = seen(bed.scratch, place)
            for way, relay in told["relay"].items():
                if relay["not_sent"] or told["capture_drops"]:
                    print(f"{number}, {way}: {told}", file=sys.stderr)
            for row in judged(run, place):
                judgements.append({"study": number} | row)
                print(sentence(judgements[-1]), flush=True)
    print(totals(judgements))
    return int(any(row["verdict"] in WRONG for row in judgements))


if __name__ == "__main__":
    program(__doc__, main)
