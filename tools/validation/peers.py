"""The scenarios that ns-2 and ns-3 were run on, as studies, and ours held against their figures.

`data/peers.csv` has what the two peers gave (ns-3 3.37 and ns-2.35, one seed each): the distance between them
shows how far two carefully written models of the same TCP can differ. ``benches/peers`` runs the same
dumbbells on them again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

from sojourn.study.units import percent

from tools.validation import recorded
from tools.validation.checks import Check, between_or, compare, near
from tools.validation.documents import bulk, dumbbell, fifo, link
from tools.validation.runs import Runs, at_link
from tools.validation.tables import Table

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
    tcp: str
    initial_window: int
    limit: int
    warmup_s: float
    duration_s: float
    start_within_s: float
    down_flows: int = 0
    up_flows: int = 0
    queue: str = "fifo"
    seed: int = 1
    repeat: int = REPLICATIONS

    def document(self) -> dict[str, Any]:
        """Return the scenario as a study document."""
        queue = fifo(self.limit) | {"kind": self.queue}
        keys = {"initial-window": self.initial_window, "start-within": f"{self.start_within_s:g}s"}
        flows = (("down", self.down_flows), ("up", self.up_flows))
        rates = {"down": link(self.down_bps, queue), "up": link(self.up_bps, queue)}
        path = {"rtt": f"{self.rtt_ms:g}ms", **rates}
        groups = [bulk(way, count, self.tcp, **keys) for way, count in flows if count]
        document = dumbbell(self.name, self.repeat, self.duration_s, self.warmup_s, path, flows=groups)
        return {**document, "seed": self.seed}


_SPEED = {"down_bps": 100e6, "up_bps": 100e6, "rtt_ms": 20, "down_flows": 10, "initial_window": 10}
_SPEED |= {"warmup_s": 5, "duration_s": 60, "start_within_s": 1}
_BACKBONE = {"down_bps": 149.76e6, "up_bps": 149.76e6, "rtt_ms": 60, "down_flows": 768, "initial_window": 3}
_BACKBONE |= {"warmup_s": 30, "duration_s": 90, "start_within_s": 5}
_ACCESS = {"down_bps": 16e6, "up_bps": 1e6, "rtt_ms": 50, "initial_window": 3}
_ACCESS |= {"warmup_s": 60, "duration_s": 360, "start_within_s": 1}


def _access(load: str, activity: str, limit: int) -> Scenario:
    down, up = {"long-few": (8, 1), "long-many": (64, 8)}[load]
    keys = {"down_flows": 0 if activity == "up" else down, "up_flows": 0 if activity == "down" else up}
    return Scenario(f"access-{load}-{activity}-{limit}", tcp="cubic", limit=limit, **keys, **_ACCESS)


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        *(
            Scenario(f"speed-{tcp}-{queue}", tcp=tcp, queue=queue, limit=limit, **_SPEED)
            for queue, limit, controllers in (
                ("fifo", 167, ("newreno", "cubic", "bic")),
                ("codel", 1000, ("newreno", "cubic")),
            )
            for tcp in controllers
        ),
        *(Scenario(f"backbone-long-{limit}", tcp="newreno", limit=limit, **_BACKBONE) for limit in (28, 749)),
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
    for row in recorded.rows("peers"):
        figures = {key: float(value) for key, value in row.items() if key not in ("scenario", "peer")}
        found.setdefault(row["scenario"], {})[row["peer"]] = figures
    return found


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


def loaded(peers: dict[str, dict[str, float]]) -> list[str]:
    """Return the links that carry more than acknowledgements, which nothing queues behind."""
    delays = {way: [figures[f"{way}_delay_ms"] for figures in peers.values()] for way in ("down", "up")}
    return [way for way, of_link in delays.items() if max(of_link) >= 1]


def checks(runs: Runs) -> Iterator[Check]:
    """Run the scenarios and compare delay, utilisation and loss of the links that carry data."""
    for name, peers in published().items():
        found = runs.of(SCENARIOS[name].document())
        for direction, (quantity, (label, unit, rule)) in product(loaded(peers), QUANTITIES.items()):
            column = f"{direction}_delay_ms" if quantity == "delay" else f"{direction}_{quantity}"
            theirs = {peer: figures[column] for peer, figures in peers.items()}
            ours = [at_link(result, direction, quantity) for result in found]
            yield compare(f"peers/{name}/{direction}/{quantity}", label, unit, ours, theirs, rule)


def traits(runs: Runs) -> Table:
    """Run what the peers' traits concern with each of them."""
    head = ["row", "sojourn: loss, delay"]
    for trait in TRAITS:
        head += [trait.name, NAMES[trait.peer]]
    return Table("What one trait of theirs changes", head, list(_traits(runs)), TRAITS_TEXT)


def _traits(runs: Runs) -> Iterator[list[str]]:
    for name, peers in published().items():
        documents = [trait.document(SCENARIOS[name]) for trait in TRAITS]
        for direction in loaded(peers) if all(documents) else ():
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
    return _printed(*(fmean(at_link(result, direction, name) for result in found) for name in quantities))


def _printed(loss: float, delay_ms: float) -> str:
    return f"{percent(loss, 2)}, {delay_ms:.1f} ms"
