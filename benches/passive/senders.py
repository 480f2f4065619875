"""Which senders `sojourn workload` takes for BBR's, of loads that are drawn at random.

python -m benches.passive.senders [--loads 30] [--seed 500] [--json]

Each load is one or two groups of flows over one path, each of a transport of its own: long transfers, or
sessions. It is captured at its servers and at its clients, and each connection counts once for either side.
Exit code 1 says that a sender of Reno or CUBIC was taken for BBR's.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sojourn.capture import workload

from benches.command import sojourn
from benches.passive.loads import fifo, flows

REGAINS = ("cubic", "reno", "newreno", "cubic-rfc9438")
"""Transports that cut their windows at losses, and regain them as the rule's laws say."""
_OTHERS = ("bbr", "bbr3", "bic", "compound", "prague")
_SESSIONS = '{ kind = "sessions", preset = "imc14", closed-loop = true, parallel = 2 }'
_BULK = '{ kind = "bulk" }'


def drawn(seed: int) -> tuple[list[str], str]:
    """Draw a load; return the transport of each group, and the study."""
    draw = random.Random(seed)
    lossy = (kind := draw.choice("mmrrl")) == "r"
    down = 1000 * draw.choice((30, 50, 80) if kind == "l" else (2, 4, 8, 16, 30))
    up = max(down // draw.choice((1, 2, 5)), 500)
    rtt_ms = draw.choice((15, 25, 40, 60, 100, 180))
    queue = draw.choice((*["fifo"] * 4, "codel", "fq-codel", "pie", "cake"))
    bdps = draw.choice((0.3, 0.5, 1, 2, 4))
    loss = f", loss = {draw.choice((0.0003, 0.001, 0.003, 0.01, 0.02))}" if lossy else ""
    stack = {"stack": "linux"} if draw.random() < 0.7 else {}
    if lossy:
        names = [draw.choice(("cubic", "reno", "newreno", "bbr", "cubic-rfc9438"))]
    else:
        every = ("cubic", "reno", "newreno", "bbr", "bbr3", "bic", "compound", "prague", "cubic-rfc9438")
        names = [draw.choice(every) for _ in range(draw.choice((1, 1, 2)))]
    groups = ""
    for place, name in enumerate(names):
        source = draw.choice((_BULK, _BULK, _BULK, _SESSIONS))
        direction, count = draw.choice(("down", "down", "up")), draw.choice((1, 2, 4))
        keys = {"name": f"{name}-{place}", "transport": name, **({} if name == "newreno" else stack)}
        groups += flows(source, direction, count, **keys)

    def room(kbit: int) -> str:
        """Return the queue of a link."""
        packets = max(8, int(bdps * kbit * rtt_ms / 12_000))
        return fifo(packets) if queue == "fifo" else f'{{ kind = "{queue}" }}'

    path = f"""name = "senders"
duration = "40s"
seed = {seed}
[path]
rtt = "{rtt_ms}ms"
down = {{ rate = "{down}kbit", queue = {room(down)}{loss} }}
up = {{ rate = "{up}kbit", queue = {room(up)} }}
"""
    return names, path + groups


def seen(seed: int, folder: Path) -> Iterator[tuple[str, bool, int]]:
    """Yield of each connection its transport, whether it is taken for BBR's, and what its sender sent."""
    names, text = drawn(seed)
    study, capture = folder / "study.toml", folder / "seen.pcap"
    study.write_text(text)
    for side in ("servers", "clients"):
        sojourn("export", str(study), str(capture), "--at", side)
        for row in workload.read([str(capture)]).connections.filter("tcp").iter_rows(named=True):
            end = "a" if row["a_bytes"] > row["b_bytes"] else "b"
            # Each group has an address of its own, which ends with its place.
            yield names[int(row["opener"].rpartition(".")[2])], row[f"{end}_bbr"], row[f"{end}_bytes"]


def main() -> int:
    """Run the loads; print what each transport was taken for."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--loads", type=int, default=30)
    words.add_argument("--seed", type=int, default=500)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    connections: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.loads):
            for name, bbr, count in seen(seed, Path(folder)):
                connections[name] += 1
                sent[name] += count
                taken[name] += count if bbr else 0
    rows = [
        {"transport": name, "connections": connections[name], "sent": sent[name], "taken": taken[name]}
        for name in (*REGAINS, *_OTHERS)
    ]
    for row in rows:
        numbers = (
            f"{row['connections']:6} connections, {row['sent'] / 1e6:8.1f} MB, {row['taken'] / 1e6:8.1f}"
        )
        print(json.dumps(row) if given.json else f"{row['transport']:14} {numbers} MB taken for BBR's")
    return int(any(taken[name] for name in REGAINS))


if __name__ == "__main__":
    raise SystemExit(main())
