"""The scenarios that ns-2 and ns-3 were run on, as studies, and ours held against their figures.

`data/peers.csv` has what the two peers gave (ns-3 3.37 and ns-2.35, one seed each): the distance between them
shows how far two carefully written models of the same TCP can differ. ``benches/peers`` runs the same
dumbbells on them again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from statistics import fmean
from typing import Any

from tools.validation.checks import Check, Skipped, between_or, compare, near
from tools.validation.documents import bulk, fifo, kinds, link
from tools.validation.runs import Runs

REPLICATIONS = 3
NAMES = {"ns2": "ns-2", "ns3": "ns-3"}

QUANTITIES = {
    "delay": ("mean queueing delay", "ms", between_or(near("one", share=0.10), "the two simulators'")),
    "utilisation": ("utilisation", "", between_or(near("one", points=2), "the two simulators'")),
    "loss": ("loss", "", between_or(near("one", share=0.25), "the two simulators'")),
}
RULES = "; ".join(f"{label} {rule.text}" for label, _, rule in QUANTITIES.values())

TEXT = f"""## Two other simulators

The same dumbbells on ns-3 3.37 and ns-2.35 (one seed each; `benches/peers` runs them again) and on sojourn
({REPLICATIONS} replications: their mean, least and greatest). 1500-byte packets, SACK, delayed
ACKs of 40 ms, minimum RTO of 200 ms. Delay is the mean time from arrival to the start of transmission; loss
is dropped over arrived packets; both are taken after the warm-up. Links that carry only acknowledgements are
left out. The two simulators differ from one another, by several times in CUBIC's loss: that is how far two
carefully written simulators can differ. New Reno counts acknowledgements in all three. Each program has its
own variant of CUBIC; the last table of the section compares ours, with each simulator's variant, to that
simulator. The scene of the study of active queue management is compared with both in that study's section.

Rules: {RULES}. Where only one of them was run, its figure alone counts.

- **speed**: 100 Mb/s, RTT 20 ms, 10 long flows down, FIFO of 167 packets (1 BDP) or CoDel of 1000, IW 10,
  60 s, the first 5 left out.
- **backbone-long-B**: 149.76 Mb/s, RTT 60 ms, 768 long New Reno flows, IW 3, buffer of B packets, 90 s, the
  first 30 left out.
- **access-LOAD-ACTIVITY-B**: 16 Mb/s down, 1 Mb/s up, RTT 50 ms, CUBIC, IW 3, FIFO of B packets both ways,
  8 down and 1 up (long-few) or 64 and 8 (long-many), 360 s, the first 60 left out.
"""

TRAITS_TEXT = """\
Each scenario again with one trait of our CUBIC changed, next to the simulator that shares this trait: without
the Reno-friendly region (`reno-friendly = false`), next to ns-3 3.37; and as in Linux 2.6.22
(`transport = "cubic-ns2"`), next to ns-2. Nothing else differs from the rows above.
"""


@dataclass(frozen=True)
class Scenario:
    """Long flows over a dumbbell, in numbers that suit the study file and the peers' scripts alike."""

    name: str
    down_bps: float
    up_bps: float
    rtt_ms: float
    down_flows: int
    up_flows: int
    tcp: str
    initial_window: int
    limit: int
    warmup_s: float
    duration_s: float
    start_within_s: float
    queue: str = "fifo"
    seed: int = 1
    repeat: int = REPLICATIONS

    @property
    def needs(self) -> frozenset[str]:
        """Words of the study file without which the scenario cannot be written."""
        return frozenset({self.tcp, self.queue})

    def document(self) -> dict[str, Any]:
        """Return the scenario as a study document."""
        queue = fifo(self.limit) | {"kind": self.queue}
        keys = {"initial-window": self.initial_window, "start-within": f"{self.start_within_s:g}s"}
        flows = (("down", self.down_flows), ("up", self.up_flows))
        return {
            "name": self.name,
            "seed": self.seed,
            "repeat": self.repeat,
            "duration": f"{self.duration_s:g}s",
            "warmup": f"{self.warmup_s:g}s",
            "path": {
                "rtt": f"{self.rtt_ms:g}ms",
                "down": link(self.down_bps, queue),
                "up": link(self.up_bps, queue),
            },
            "flows": [bulk(way, count, self.tcp, **keys) for way, count in flows if count],
        }


def _speed(name: str, tcp: str, queue: str) -> Scenario:
    return Scenario(
        name=name,
        down_bps=100e6,
        up_bps=100e6,
        rtt_ms=20,
        down_flows=10,
        up_flows=0,
        tcp=tcp,
        initial_window=10,
        limit=167 if queue == "fifo" else 1000,
        warmup_s=5,
        duration_s=60,
        start_within_s=1,
        queue=queue,
    )


def _backbone(limit: int) -> Scenario:
    return Scenario(
        name=f"backbone-long-{limit}",
        down_bps=149.76e6,
        up_bps=149.76e6,
        rtt_ms=60,
        down_flows=768,
        up_flows=0,
        tcp="newreno",
        initial_window=3,
        limit=limit,
        warmup_s=30,
        duration_s=90,
        start_within_s=5,
    )


def _access(load: str, activity: str, limit: int) -> Scenario:
    down, up = {"long-few": (8, 1), "long-many": (64, 8)}[load]
    return Scenario(
        name=f"access-{load}-{activity}-{limit}",
        down_bps=16e6,
        up_bps=1e6,
        rtt_ms=50,
        down_flows=down if activity != "up" else 0,
        up_flows=up if activity != "down" else 0,
        tcp="cubic",
        initial_window=3,
        limit=limit,
        warmup_s=60,
        duration_s=360,
        start_within_s=1,
    )


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        _speed("speed-newreno-fifo", "newreno", "fifo"),
        _speed("speed-newreno-codel", "newreno", "codel"),
        _speed("speed-cubic-fifo", "cubic", "fifo"),
        _speed("speed-cubic-codel", "cubic", "codel"),
        _speed("speed-bic-fifo", "bic", "fifo"),
        *(_backbone(limit) for limit in (28, 749)),
        *(_access(load, "down", limit) for load in ("long-few", "long-many") for limit in (8, 64, 256)),
        *(_access(load, "up", 64) for load in ("long-few", "long-many")),
        *(_access("long-many", "both", limit) for limit in (8, 64, 256)),
    )
}


def shortened(scenario: Scenario, simulated_s: float, seed: int = 1) -> Scenario:
    """Return a scenario for timing: no warm-up, one replication, so many simulated seconds."""
    return replace(scenario, warmup_s=0, duration_s=simulated_s, seed=seed, repeat=1)


def published() -> dict[str, dict[str, dict[str, float]]]:
    """Return the peers' figures: scenario → peer → column."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    text = files("tools.validation").joinpath("data/peers.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        figures = {key: float(value) for key, value in row.items() if key not in ("scenario", "peer")}
        found.setdefault(row["scenario"], {})[row["peer"]] = figures
    return found


def measured(result: dict[str, Any], direction: str, quantity: str) -> float:
    """Return a quantity of one of our results."""
    found = result["links"][direction]
    return found["queue_delay_ms"]["mean"] if quantity == "delay" else found[quantity]


@dataclass(frozen=True)
class Trait:
    """What one peer does otherwise: our scenario with that changed is held against this peer alone."""

    name: str
    peer: str
    transport: str
    keys: dict[str, Any]

    def document(self, scenario: Scenario) -> dict[str, Any] | None:
        """Return the scenario with the trait, or None if no flow has the transport that it is about."""
        document = scenario.document()
        flows = [flow for flow in document["flows"] if flow["transport"] == self.transport]
        for flow in flows:
            flow.update(self.keys)
        return {**document, "name": f"{document['name']}-{self.peer}"} if flows else None


TRAITS = (
    Trait("without a Reno-friendly region", "ns3", "cubic", {"reno-friendly": False}),
    Trait("with the CUBIC of Linux 2.6.22", "ns2", "cubic", {"transport": "cubic-ns2"}),
)


def carries_data(peers: dict[str, dict[str, float]], direction: str) -> bool:
    """Say whether a link carries more than acknowledgements, which nothing queues behind."""
    return any(figures[f"{direction}_delay_ms"] >= 1 for figures in peers.values())


def checks(runs: Runs) -> Iterator[Check | Skipped]:
    """Run the scenarios and compare delay, utilisation and loss of the links that carry data."""
    for name, peers in published().items():
        scenario = SCENARIOS[name]
        if missing := scenario.needs - kinds():
            yield Skipped(f"peers/{name}", f"study files have no {' and no '.join(sorted(missing))} yet")
            continue
        found = runs.of(scenario.document())
        for direction in ("down", "up"):
            if not carries_data(peers, direction):
                continue
            for quantity, (label, unit, rule) in QUANTITIES.items():
                column = f"{direction}_delay_ms" if quantity == "delay" else f"{direction}_{quantity}"
                yield compare(
                    f"peers/{name}/{direction}/{quantity}",
                    label,
                    unit,
                    [measured(result, direction, quantity) for result in found],
                    {peer: figures[column] for peer, figures in peers.items()},
                    rule,
                )


TRAITS_HEAD = ["row", "sojourn: loss, delay"]
for _trait in TRAITS:
    TRAITS_HEAD += [_trait.name, NAMES[_trait.peer]]


def traits(runs: Runs) -> Iterator[list[str]]:
    """Run what the peers' traits concern with each of them; yield rows of a table."""
    for name, peers in published().items():
        documents = [trait.document(SCENARIOS[name]) for trait in TRAITS]
        if not all(documents):
            continue
        for direction in ("down", "up"):
            if not carries_data(peers, direction):
                continue
            row = [f"{name}, {direction}", _loss_and_delay(runs.of(SCENARIOS[name].document()), direction)]
            for trait, document in zip(TRAITS, documents, strict=True):
                theirs = peers.get(trait.peer)
                row += [
                    _loss_and_delay(runs.of(document), direction),
                    _printed(theirs[f"{direction}_loss"], theirs[f"{direction}_delay_ms"]) if theirs else "–",
                ]
            yield row


def _loss_and_delay(found: list[dict[str, Any]], direction: str) -> str:
    quantities = ("loss", "delay")
    return _printed(*(fmean(measured(result, direction, name) for result in found) for name in quantities))


def _printed(loss: float, delay_ms: float) -> str:
    return f"{loss:.2%}, {delay_ms:.1f} ms"
