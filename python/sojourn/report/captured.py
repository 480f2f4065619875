"""What two captures of one queue show: nothing was simulated, and no choice is compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.errors import spaced
from sojourn.losses.captures import faster
from sojourn.losses.captures import sentences as of_captures
from sojourn.report.answer.goals import number_at
from sojourn.results import Results
from sojourn.results.path import look_up
from sojourn.results.sizes import ms_brief
from sojourn.study.units import bit_rate, percent


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
    name_of_link, link = next(iter(result["links"].items()))
    arrived, lost = link["arrived_pkts"], link["dropped_pkts"]
    sentences = []
    if not arrived:
        sentences.append("No packet was seen in front of the queue.")
    elif not lost:
        sentences.append(
            f"No packet was lost: all {spaced(arrived)} that came to the queue were seen behind it, or "
            "cannot be judged."
        )
    else:
        sentences.append(
            f"{spaced(lost)} of {spaced(arrived)} packets {'was' if lost == 1 else 'were'} lost between the "
            f"captures ({percent(link['loss'], 2)})."
        )
    wait = {name: number_at(link, f"queue_delay_ms.{name}") for name in ("mean", "p50", "p95", "max")}
    if None not in wait.values():
        mean, median, most, longest = (ms_brief(number) for number in wait.values() if number is not None)
        sentences.append(
            f"Packets that came through had waited {mean} ms on average above the shortest wait: median "
            f"{median} ms, 95th percentile {most} ms, longest {longest} ms."
        )
    used = number_at(link, "utilisation")
    if used is not None and link.get("rate_bps"):
        shares = look_up(result, f"losses.{name_of_link}")
        wrong = [f"{said}." for said in (faster(shares, link["rate_bps"]) if shares else [])]
        sentences += wrong or [
            f"Of the {bit_rate(link['rate_bps'], 4)} that were given as its rate, {percent(used)} were used."
        ]
    if missed := look_up(result, f"losses.{name_of_link}.capture"):
        sentences += [f"Note: {said}." for said in of_captures(missed)]
    return Captured("What was measured", sentences)
