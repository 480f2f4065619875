"""What two captures of one queue show: nothing was simulated, and no choice is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.report.answer.goals import number_at
from sojourn.results import Results


@dataclass(frozen=True)
class Captured:
    """What was measured, in sentences."""

    title: str
    sentences: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {"sentences": self.sentences}


def captured(result: Mapping[str, Any], found: Results) -> Captured:
    """Say what was measured of the queue between two captures."""
    link = next(iter(result["links"].values()))
    arrived, lost = link["arrived_pkts"], link["dropped_pkts"]
    sentences = []
    if not arrived:
        sentences.append("No packet was seen in front of the queue.")
    elif not lost:
        sentences.append(
            f"No packet was lost: all {_count(arrived)} that came to the queue were seen behind it, or "
            "cannot be judged."
        )
    else:
        sentences.append(
            f"{_count(lost)} of {_count(arrived)} packets were lost between the captures "
            f"({link['loss']:.2%})."
        )
    wait = {name: number_at(link, f"queue_delay_ms.{name}") for name in ("mean", "p50", "p95", "max")}
    if None not in wait.values():
        sentences.append(
            f"Packets that came through had waited {wait['mean']:.3g} ms on average above the shortest wait: "
            f"median {wait['p50']:.3g} ms, 95th percentile {wait['p95']:.3g} ms, longest "
            f"{wait['max']:.3g} ms."
        )
    used = number_at(link, "utilisation")
    if used is not None and link.get("rate_bps"):
        sentences.append(
            f"Of the {link['rate_bps'] / 1e6:.4g} Mbit/s that were given as its rate, {used:.1%} were used."
        )
    return Captured("What was measured", sentences)


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")
