"""Paths with several queues, held against ns-2.35: a parking lot, uneven hops, senders behind access links.

`data/hops.csv` has what ns-2 gave, three seeds a scenario. Its DropTail with a limit of N holds N − 1
packets, so ours have one packet less.
"""

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from sojourn.study.toml import toml

from tools.validation import recorded
from tools.validation.checks import Check, compare, near
from tools.validation.documents import bulk, dumbbell, fifo, link
from tools.validation.runs import Runs, at_link

REPLICATIONS = 3
WARMUP_S, DURATION_S = 30, 150
QUANTITIES = {
    "delay": ("mean queueing delay", "ms", near("ns-2", share=0.10)),
    "utilisation": ("utilisation", "", near("ns-2", points=2)),
    "loss": ("loss", "", near("ns-2", share=0.25)),
}
GOODPUT = near("ns-2", share=0.30)

RULES = "; ".join(f"{label} {rule.text}" for label, _, rule in QUANTITIES.values())

TEXT = f"""## Paths with several queues

The same paths on ns-2.35 and on sojourn ({REPLICATIONS} seeds each; means, with the least and greatest of
ours). New Reno with SACK, delayed ACKs of 40 ms, minimum RTO of 200 ms, initial window of 3, 1502-byte
packets, drop-tail queues; flows start within 2 s, {WARMUP_S} s are left out and 120 s measured. ns-2's queue
with a limit of N holds N − 1 packets, and so do ours.

- **parking3-bB**: three hops of 10 Mb/s and 10 ms with B packets each; 4 long flows over all, 4 cross flows
  over each. Hosts are 1 ms away.
- **uneven2**: hops of 20 and 10 Mb/s with 50 and 25 packets, 8 long flows and 2 cross flows a hop.
- **access-RATE-bB**: 20 flows, each behind an access link of its own (10 or 100 Mb/s, 10 ms), then a core of
  100 Mb/s with B packets; round trip 40 ms.

Rules: {RULES}; goodput of each class of flows {GOODPUT.text}. A reference is the mean of ns-2's
seeds.
"""

_TCP = {
    "mss": "1450B",
    "initial-window": 3,
    "min-rto": "200ms",
    "ack-delay": "40ms",
    "sack": True,
    "start-within": "2s",
}


def _flows(name: str, count: int, **keys: Any) -> dict[str, Any]:
    return bulk("up", count, "newreno", name=name, **_TCP, **keys)


def _row_of_hops(name: str, rates: list[float], buffers: list[int], long: int, cross: int) -> dict[str, Any]:
    names = [f"hop{i}" for i in range(len(rates))]
    hops = [
        {
            "name": hop,
            "delay": "10ms",
            "up": link(bps, fifo(packets - 1)),
            "down": link(bps, fifo(packets - 1)),
        }
        for hop, bps, packets in zip(names, rates, buffers, strict=True)
    ]
    path = {"client-delay": "1ms", "server-delay": "1ms", "hop": hops}
    flows = [_flows("long", long), *(_flows(f"cross{i}", cross, over=[hop]) for i, hop in enumerate(names))]
    return dumbbell(name, REPLICATIONS, DURATION_S, WARMUP_S, path, flows=flows)


def _behind_access(name: str, bps: float, packets: int) -> dict[str, Any]:
    access = {**link(bps, fifo(999)), "delay": "10ms"}
    both = {way: link(100e6, fifo(packets - 1)) for way in ("up", "down")}
    path = {"client-delay": "0ms", "server-delay": "1ms", "hop": [{"name": "core", "delay": "9ms", **both}]}
    return dumbbell(name, REPLICATIONS, DURATION_S, WARMUP_S, path, flows=[_flows("all", 20, access=access)])


SCENARIOS: dict[str, dict[str, Any]] = {
    each["name"]: each
    for each in (
        *(_row_of_hops(f"parking3-b{buffer}", [10e6] * 3, [buffer] * 3, 4, 4) for buffer in (25, 100)),
        _row_of_hops("uneven2", [20e6, 10e6], [50, 25], 8, 2),
        _behind_access("access-slow-b8", 10e6, 8),
        _behind_access("access-fast-b8", 100e6, 8),
        _behind_access("access-slow-b83", 10e6, 83),
    )
}


def published() -> dict[str, dict[str, dict[str, float]]]:
    """Return ns-2's figures: scenario → hop or class of flows → quantity, the mean of its seeds."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for row in recorded.rows("hops"):
        # Classes of flows are called after their goodput there.
        of = found.setdefault(row["scenario"], {}).setdefault(row["of"].removesuffix("_bps"), {})
        for key in ("delay", "utilisation", "loss", "goodput_bps"):
            if row[key]:
                of.setdefault(key, []).append(float(row[key]))
    return {
        name: {of: {key: fmean(values) for key, values in keys.items()} for of, keys in each.items()}
        for name, each in found.items()
    }


def checks(runs: Runs, names: tuple[str, ...] = tuple(SCENARIOS)) -> Iterator[Check]:
    """Run the scenarios and compare every hop, and the goodput of every class of flows."""
    theirs = published()
    for name in names:
        found = runs.of(SCENARIOS[name])
        for of, figures in theirs[name].items():
            if "goodput_bps" in figures:
                ours = [result["groups"][of]["goodput_bps"] for result in found]
                key = f"hops/{name}/{of}/goodput"
                yield compare(key, "goodput", "b/s", ours, {"ns-2": figures["goodput_bps"]}, GOODPUT)
            elif of != "access0":  # ns-2 logs the first sender's access link alone
                for quantity, (label, unit, rule) in QUANTITIES.items():
                    ours = [at_link(result, f"{of}.up", quantity) for result in found]
                    key = f"hops/{name}/{of}/{quantity}"
                    yield compare(key, label, unit, ours, {"ns-2": figures[quantity]}, rule)


def text(name: str) -> str:
    """Return a scenario as a study file."""
    return toml(SCENARIOS[name])
