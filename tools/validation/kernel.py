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

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sojourn.study.grouped import grouped

from tools.validation import recorded
from tools.validation.checks import Check, Rule, compare, near
from tools.validation.documents import bulk, dumbbell, fifo, link
from tools.validation.runs import Runs, at_link

REPLICATIONS = 5
# With flows both ways replications differ by up to 10 points of utilisation, and the rule is one point.
TWO_WAY_REPLICATIONS = 20
NO_LOSS = 1e-5
"""What counts as no loss where the kernel had none."""
_LOSS = near("the kernel's", share=0.25)
QUANTITIES = {
    "utilisation": ("utilisation", "", near("the kernel's", points=1)),
    "delay": ("mean queueing delay", "ms", near("the kernel's", share=0.07)),
    "p95": ("95th percentile of the queueing delay", "ms", near("the kernel's", share=0.07)),
    "loss": (
        "loss",
        "",
        Rule(
            f"{_LOSS.text}, or below {100 * NO_LOSS:g} % where the kernel lost nothing",
            lambda ours, kernels, _: _LOSS.holds(ours, kernels) if kernels[0] else ours < NO_LOSS,
        ),
    ),
}
RULES = "; ".join(f"{label} {rule.text}" for label, _, rule in QUANTITIES.values())

TEXT = f"""## Linux

Real TCP of a Linux kernel (6.18) through a real FIFO: network namespaces, `htb` with `pfifo limit N` as the
bottleneck, a relay in user space for the delay, no offloads; measured once to four times a scenario,
nothing fitted or left out. Simulated: {REPLICATIONS} replications, {TWO_WAY_REPLICATIONS} with flows both
ways. Names are controller, flows, rate of the bottleneck, base RTT and buffer in packets; `1up8down` has
flows both ways with a queue on each side. A full frame is 1514 bytes (`overhead = "14B"`).

`htb` has a bucket of 1600 bytes (`-burst100`: of 100): on an idle link two full packets, or 25
acknowledgements, pass with no wait, and a packet is at its receiver's when its transmission starts. The
studies' links keep their rate by the same rule (`rule = "htb"`), and their endpoints have Linux's habits
(`stack = "linux"`): RACK-TLP, HyStart, whole-segment counting in CUBIC and Reno, data in super-segments of
which the last one has PSH and is acknowledged as soon as it is read, quick ACKs while the receive window
grows and after duplicates and pauses, compressed SACKs, needless timeouts undone (F-RTO, timestamps, DSACK),
and timers that end at ticks of 4 ms. Receivers have 4 MiB for data at first, as the measured hosts had
(`receive-buffer`).

Rules: {RULES}. The kernel's is the mean of the measured runs.
"""

AFTER_REPAIRS = (
    "bbr-8f-16m-50ms-b267",
    "cubic-1f-16m-100ms-b133",
    "reno-1up8down-1m16m-50ms-b256",
    "reno-4f-16m-50ms-b67",
    "reno-4f-1m-50ms-b256",
    "reno-8f-16m-20ms-b27",
)
"""Scenarios that were measured when the engine had been repaired by what the other fresh ones had shown."""

FRESH_TEXT = """### Scenarios that were measured afterwards

The table above was known while the engine was made. These scenarios were not: they were measured on Linux
6.18 when all its rows held, by `benches/kernel/measure.py`, which builds the same path again (hosts, gateway
with `htb` and `pfifo`, a relay in user space for the delay, captures on both sides of the queue; known
scenarios come out as above). Each was measured one to five times; a run in which relay, captures or queue
were disturbed was made again.

The engine of that day missed 14 of these 152 figures: BBR's delay at 1 Mb/s (9 to 11 % too long); for Reno
with flows both ways the utilisation of four links (by 1.5 to 2.8 points), the delay of two, and a loss; and
the loss of a single flow. Linux's behaviour was then looked up, in captures and in the kernel's rules, and
the engine was repaired: BBR counts what is in flight when pacing lets the next quantum leave; the timeout
rises with the deviation at once and falls once in a round trip; the timestamp of a segment that ends before
the last acknowledgement is not echoed; after a spurious timeout only what the timer had marked is examined
again; Reno's window is one of whole segments. No constant was chosen by these figures. The table is of the
engine after these repairs, so that for most of its scenarios it is no test of an engine that had not seen
them. Only {after} scenarios were measured after the repairs, and have led to none; the summary counts them in
a row of their own:
{names}.

A seventh, `bbr-4f-1m-50ms-b256`, has led to one since: BBR's flows waited 526 ms there for 489 in the
kernel's path, and 475 to 493 in three more runs of the kernel's flows through the emulator. Its windows
(`ss`) and `tcp_bbr` showed why. The round trip that BBR takes is that of the segment sent last, not of the
first that a delayed acknowledgement covers; windows, room for aggregation and bursts are whole segments; and
nothing is believed of what leaves as the last of a look at the round-trip time arrives. No constant was
chosen.
""".format(after=len(AFTER_REPAIRS), names=", ".join(f"`{name}`" for name in AFTER_REPAIRS))


@dataclass(frozen=True)
class Measured:
    """What was measured at one queue in one scenario, its repetitions together."""

    scenario: str
    link: str
    runs: list[dict[str, str]]

    @property
    def parameters(self) -> dict[str, str]:
        """The columns that the repetitions share."""
        return self.runs[0]

    def values(self, quantity: str) -> list[float]:
        """Return a quantity of every run."""
        column = {"delay": "delay_mean_ms", "p95": "delay_p95_ms"}.get(quantity, quantity)
        return [float(run[column]) for run in self.runs]


def measurements(section: str = "kernel") -> list[Measured]:
    """Return what a section's table has, one entry for each scenario and link."""
    found = grouped(((row["scenario"], row["link"]), row) for row in recorded.rows(section))
    return [Measured(*place, rows) for place, rows in found.items()]


def document(parameters: dict[str, str]) -> dict[str, Any]:
    """Return the study of one measured scenario."""
    up_bps = 1e6 * float(parameters["up_mbps"])
    down_bps = 1e6 * float(parameters["down_mbps"]) if parameters["down_mbps"] else None
    queue = fifo(int(parameters["buffer_pkts"]))
    bucket = {"rule": "htb", "burst": f"{parameters['burst_bytes']}B"}

    path = {
        "rtt": f"{parameters['base_rtt_ms']}ms",
        "down": link(down_bps, queue, overhead="14B", **bucket) if down_bps else link(None, fifo(None)),
        "up": link(up_bps, queue, overhead="14B", **bucket),
    }
    keys = {"stack": "linux", "receive-window": "100MB", "receive-buffer": "4194304B"}
    counts = {way: int(parameters[f"{way}_flows"]) for way in ("up", "down")}
    flows = [
        bulk(way, count, parameters["congestion_control"], **keys) for way, count in counts.items() if count
    ]
    repeat = TWO_WAY_REPLICATIONS if down_bps else REPLICATIONS
    begin, end = int(parameters["begin_s"]), int(parameters["end_s"])
    return dumbbell(parameters["scenario"], repeat, end, begin, path, flows=flows)


def checks(runs: Runs, section: str = "kernel") -> Iterator[Check]:
    """Run every scenario that was measured, and compare."""
    for entry in measurements(section):
        found = runs.of(document(entry.parameters))
        for quantity, (label, unit, rule) in QUANTITIES.items():
            measured = entry.values(quantity)
            linux = {f"Linux ({len(measured)})": statistics.fmean(measured)}
            ours = [at_link(result, entry.link, quantity) for result in found]
            key = f"{section}/{entry.scenario}/{entry.link}/{quantity}"
            yield compare(key, label, unit, ours, linux, rule)
