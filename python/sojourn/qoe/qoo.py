"""Quality of Outcome (QoO): how much of what an application needs a network gives it, 0 to 100.

Source: draft-ietf-ippm-qoo. An application requires a throughput, and states for its mean loss and for
percentiles of its latency a requirement for perfection (ROP), up to which nothing is felt, and a point of
unacceptable performance (CPUP). What was measured is placed between them, and the worst counts:

    QoO = min(latency, loss, throughput)
    latency = 100 · min over percentiles of clamp(1 − (measured − ROP) / (CPUP − ROP))

loss likewise; throughput is 100 or 0.

Differences: none known. There are no official profiles; the one here is the draft's example. Percentiles of
short or sparse measurements flatter the score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sojourn.errors import SojournError

MEASURED = (0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0)
"""The percentiles of the short form."""


@dataclass(frozen=True)
class Profile:
    """What an application needs.

    Attributes
    ----------
    latency_ms : dict
        By percentile (0 to 100), latency of perfection and unacceptable latency.
    loss : (float, float)
        Mean loss of perfection, and unacceptable, as shares.
    throughput_bps : float
        The least throughput.
    round_trip : bool
        Latencies are two-way.
    """

    latency_ms: Mapping[float, tuple[float, float]]
    loss: tuple[float, float]
    throughput_bps: float
    round_trip: bool = True

    def __post_init__(self) -> None:
        if not self.latency_ms:
            raise SojournError("a QoO profile states latency at one percentile at least")
        for name, (best, worst) in [
            *((f"the {p:g} % latency", v) for p, v in self.latency_ms.items()),
            ("loss", self.loss),
        ]:
            if not 0 <= best < worst:
                raise SojournError(
                    f"QoO: {name} of perfection, {best:g}, must be below the unacceptable, {worst:g}"
                )


class Outcome(NamedTuple):
    """A score and its parts, 0 to 100."""

    qoo: float
    latency: float
    loss: float
    throughput: float


EXAMPLE = Profile({99.0: (200.0, 500.0), 99.9: (300.0, 600.0)}, (0.01, 0.05), 4e6)
"""The draft's example: 4 Mb/s, 99 % within 200 ms (500), 99.9 % within 300 (600), loss 1 % (5 %)."""


def qoo(profile: Profile, latency_ms: Mapping[float, float], loss: float, throughput_bps: float) -> Outcome:
    """Score a network for an application.

    Parameters
    ----------
    profile
        What it needs.
    latency_ms
        Measured latency by percentile, of all that the profile states.
    loss
        Mean loss as a share.
    throughput_bps
        Throughput.

    Raises
    ------
    SojournError
        A percentile of the profile was not measured.

    >>> qoo(EXAMPLE, {99.0: 350, 99.9: 375}, 0.02, 28e6)
    Outcome(qoo=50.0, latency=50.0, loss=75.0, throughput=100.0)
    """
    if missing := profile.latency_ms.keys() - latency_ms.keys():
        raise SojournError(f"QoO needs the latency of {', '.join(f'{p:g} %' for p in sorted(missing))}")
    parts = [_placed(latency_ms[percentile], limits) for percentile, limits in profile.latency_ms.items()]
    latency, lost = min(parts), _placed(loss, profile.loss)
    throughput = 100.0 if throughput_bps >= profile.throughput_bps else 0.0
    return Outcome(min(latency, lost, throughput), latency, lost, throughput)


def _placed(measured: float, limits: tuple[float, float]) -> float:
    best, worst = limits
    # Rounded, since 1 - (0.02 - 0.01) / 0.04 is not 0.75.
    return round(100 * min(max(1 - (measured - best) / (worst - best), 0.0), 1.0), 9)
