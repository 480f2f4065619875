"""Real Linux TCP through a real FIFO, as measured, and the same scenarios simulated.

`data/kernel.csv` has what was measured (Linux 6.18: network namespaces, htb with a pfifo of N packets, a
relay for the delay; see docs/validation.md). `data/kernel-fresh.csv` has scenarios that the engine was not
developed with, measured by `benches/kernel/measure.py`. What the studies take over of the set-up:

- a full frame is 1514 bytes: the 1500-byte packet and 14 bytes of Ethernet header, as link overhead;
- the links keep their rate by htb's rule (`rule = "htb"`) with the measured burst: a receiver has a packet at
  the start of its transmission, so nothing is taken off the round trip;
- N packets wait beside the one that is sent; IW 10; acknowledgements delayed for 40 ms at most; windows
  that never limit; Linux's habits otherwise (`stack = "linux"`);
- the direction without a queue has no rate.
"""

from __future__ import annotations

import csv
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sojourn.validation.checks import Check, mean_and_spread, within
from sojourn.validation.documents import bulk, fifo, link, results

REPLICATIONS = 5
# With flows both ways replications differ by up to 10 points of utilisation, and the rule is one point.
TWO_WAY_REPLICATIONS = 20
UTILISATION_POINTS = 0.01
DELAY_SHARE = 0.07
LOSS_SHARE = 0.25
# What counts as no loss where the kernel had none.
NO_LOSS = 1e-5

QUANTITIES = {
    "utilisation": ("utilisation", "", f"within {100 * UTILISATION_POINTS:g} points of the kernel's"),
    "delay": ("mean queueing delay", "ms", f"within {DELAY_SHARE:.0%} of the kernel's"),
    "p95": ("95th percentile of the queueing delay", "ms", f"within {DELAY_SHARE:.0%} of the kernel's"),
    "loss": ("loss", "", f"within {LOSS_SHARE:.0%} of the kernel's"),
}
_COLUMNS = {"utilisation": "utilisation", "delay": "delay_mean_ms", "p95": "delay_p95_ms", "loss": "loss"}


@dataclass(frozen=True)
class Measured:
    """What was measured at one queue in one scenario, its repetitions together."""

    scenario: str
    link: str
    parameters: dict[str, str]
    runs: tuple[dict[str, float], ...]

    def values(self, quantity: str) -> list[float]:
        """Return a quantity of every run."""
        return [run[_COLUMNS[quantity]] for run in self.runs]


def measurements(section: str = "kernel") -> list[Measured]:
    """Return what a section's table has, one entry for each scenario and link."""
    numbers = ("utilisation", "delay_mean_ms", "delay_p50_ms", "delay_p95_ms", "loss", "loss_episodes")
    text = files("sojourn.validation").joinpath(f"data/{section}.csv").read_text(encoding="utf-8")
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault((row["scenario"], row["link"]), []).append(row)
    return [
        Measured(scenario, way, rows[0], tuple({name: float(row[name]) for name in numbers} for row in rows))
        for (scenario, way), rows in found.items()
    ]


def document(parameters: dict[str, str]) -> dict[str, Any]:
    """Return the study of one measured scenario."""
    up_bps = 1e6 * float(parameters["up_mbps"])
    down_bps = 1e6 * float(parameters["down_mbps"]) if parameters["down_mbps"] else None
    queue = fifo(int(parameters["buffer_pkts"]))
    bucket = {"rule": "htb", "burst": f"{parameters['burst_bytes']}B"}

    def flows(direction: str, count: str) -> list[dict[str, Any]]:
        keys = {"stack": "linux", "receive-window": "100MB"}
        return [bulk(direction, int(count), parameters["congestion_control"], **keys)] if int(count) else []

    return {
        "name": parameters["scenario"],
        "seed": 1,
        "repeat": TWO_WAY_REPLICATIONS if down_bps else REPLICATIONS,
        "duration": f"{parameters['end_s']}s",
        "warmup": f"{parameters['begin_s']}s",
        "path": {
            "rtt": f"{parameters['base_rtt_ms']}ms",
            "down": link(down_bps, queue, overhead="14B", **bucket) if down_bps else link(None, fifo(None)),
            "up": link(up_bps, queue, overhead="14B", **bucket),
        },
        "flows": [*flows("up", parameters["up_flows"]), *flows("down", parameters["down_flows"])],
    }


def holds(quantity: str, ours: float, reference: float) -> bool:
    """Say whether the rule of a quantity holds."""
    if quantity == "utilisation":
        return within(ours, [reference], add=UTILISATION_POINTS)
    if quantity == "loss":
        return within(ours, [reference], share=LOSS_SHARE) if reference else ours < NO_LOSS
    return within(ours, [reference], share=DELAY_SHARE)


def checks(root: str | os.PathLike[str], jobs: int | None = None, section: str = "kernel") -> Iterator[Check]:
    """Run every scenario that was measured, and compare."""
    for entry in measurements(section):
        found = results(document(entry.parameters), root, jobs)
        for quantity, (label, unit, rule) in QUANTITIES.items():
            runs = entry.values(quantity)
            reference = statistics.fmean(runs)
            values = [_value(quantity, result["links"][entry.link]) for result in found]
            ours, spread = mean_and_spread(values)
            yield Check(
                key=f"{section}/{entry.scenario}/{entry.link}/{quantity}",
                quantity=label,
                unit=unit,
                ours=ours,
                spread=spread,
                references=((f"Linux ({len(runs)})", reference),),
                ok=holds(quantity, ours, reference),
                rule=rule,
            )


def _value(quantity: str, queue: dict[str, Any]) -> float:
    if quantity == "delay":
        return queue["queue_delay_ms"]["mean"]
    return queue["queue_delay_ms"]["p95"] if quantity == "p95" else queue[quantity]
