"""Find the number of sessions that offers a wanted load, measured where there is no bottleneck.

Closed-loop sessions slow down when packets are lost, so the load that they *offer* is what they
send through a path too fast to hold them up: the study's own delays, with both links a hundred times
faster than the one that is calibrated and no limit to their queues. What is offered grows almost in
proportion to the number of sessions, so a few rounds of the secant rule, each with several
replications, come to it.
"""

import copy
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.results.interval import half_width
from sojourn.study import Study, expand, listed
from sojourn.study.links import crosses, links, way_of
from sojourn.study.units import bits_per_second, percent
from sojourn.sweep.workers import Workers, spread

FASTER = 100
"""How many times faster than the bottleneck the link of the measurement is."""
_MOST_LOAD = 20.0
"""Of a link that is a hundred times as fast: with more it would hold sessions up itself (a choice)."""


@dataclass(frozen=True)
class Trial:
    """The load that a number of sessions offers, as a share of the bottleneck's rate."""

    count: int
    load: float
    half_width: float | None
    """Half of the 95 % confidence interval of the mean over replications; None of one."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval; None of one replication."""
        half = self.half_width
        return None if half is None else (max(0.0, self.load - half), self.load + half)


@dataclass(frozen=True)
class Calibration:
    """The number of sessions that comes nearest to the wanted load, and all that was tried."""

    study: str
    workload: str | None
    direction: str
    target: float
    rate_bps: int
    count: int
    load: float
    interval: tuple[float, float] | None
    trials: list[Trial]


class Scale:
    """A study without its bottleneck, with as many sessions as one wants.

    Parameters
    ----------
    study
        The study.
    workload
        Which of its named workloads; None for the flows that are in every point.
    direction
        The link whose load is meant: ``"down"`` or ``"up"``, on a path with hops ``"home.up"``.
    """

    def __init__(self, study: Study, workload: str | None, direction: str) -> None:
        self.study, self.workload, self.direction = study, workload, direction
        document = copy.deepcopy(study.document)
        for key in ("sweep", "tie", "figures", "users"):
            document.pop(key, None)
        if direction not in (names := [name for name, _ in links(document)]):
            raise SojournError(
                f"--direction {direction}: {study.file} has no such link; it has {listed(names)}"
            )
        # A name in place of a table is that of one load for every point, which ships.
        named = there if isinstance(there := document.get("workload"), dict) else {}
        if workload is not None:
            if workload not in named:
                has = listed(named) or "none"
                raise SojournError(f"--workload {workload}: {study.file} has no such workload; it has {has}")
            document["sweep"] = {"workload": [workload]}
        self.document = document
        if not self._sessions(document):
            where = f"the workload {workload!r}" if workload else "[[flows]]"
            hint = f"; choose one with --workload: {listed(named)}" if named and not workload else ""
            raise SojournError(f"{study.file}: {where} has no sessions in the direction {direction}{hint}")
        self.shares = [int(flow.get("count", 1)) for flow in self._sessions(document)]
        probe = expand({**document, "repeat": 1}, study.file)[0]["document"]
        self.rate_bps = rate_bps(dict(links(probe))[direction]["rate"], study.file)
        # No link may hold the others up: acknowledgements need theirs too.
        for _, link in links(document):
            link["rate"] = f"{self.rate_bps * FASTER}bit"
            queue = link["queue"]
            is_netem = queue.get("kind") == "netem"  # whose delay is the path's
            kept = (
                {key: queue[key] for key in ("kind", "delay") if key in queue}
                if is_netem
                else {"kind": "fifo"}
            )
            link["queue"] = {**kept, "limit": "unlimited"}

    def _sessions(self, document: dict[str, Any]) -> list[dict[str, Any]]:
        flows = list(document.get("flows") or [])
        if self.workload is not None:
            flows = document["workload"][self.workload]
        through = (way_of(self.direction), "both")
        return [
            flow
            for flow in flows
            if flow["source"].get("kind") == "sessions"
            and flow.get("direction", "down") in through
            and crosses(flow, self.direction)
        ]

    def points(self, count: int, replications: int, duration: str | None) -> list[dict[str, Any]]:
        """Return the points that measure the load of `count` sessions, shared as the study shares them."""
        document = copy.deepcopy(self.document)
        for flow, share in zip(self._sessions(document), shared(count, self.shares), strict=True):
            flow["count"] = share
        document["repeat"] = replications
        if duration is not None:
            document["duration"] = duration
        return expand(document, self.study.file)


def calibrate(
    scale: Scale, target: float, workers: Workers, *, replications: int = 5, duration: str | None = None
) -> Iterator[Trial | Calibration]:
    """Yield the trials as they are made, and at last the calibration.

    Parameters
    ----------
    scale
        What is calibrated.
    target
        The wanted load, as a share of the bottleneck's rate.
    workers
        Where the simulations run.
    replications
        Simulations per trial.
    duration
        Length of each, in the place of the study's own.
    """
    trials: dict[int, Trial] = {}
    count = max(sum(scale.shares), len(scale.shares))
    for _ in range(8):
        trials[count] = _measure(scale, count, workers, replications, duration)
        yield trials[count]
        if trials[count].load <= 0:
            if count > 1_000_000:
                raise SojournError("these sessions offer no load at all; is the study's duration too short?")
            count *= 10
            continue
        count = _next_count(list(trials.values()), target, len(scale.shares))
        if count in trials:
            break
    best = min(trials.values(), key=lambda trial: (abs(trial.load - target), trial.count))
    yield Calibration(
        study=scale.study.name,
        workload=scale.workload,
        direction=scale.direction,
        target=target,
        rate_bps=scale.rate_bps,
        count=best.count,
        load=best.load,
        interval=best.interval,
        trials=sorted(trials.values(), key=lambda trial: trial.count),
    )


def _next_count(trials: list[Trial], target: float, least: int) -> int:
    """Return the count where the line through the two trials nearest to the target meets it."""
    near = sorted(trials, key=lambda trial: abs(trial.load - target))[:2]
    slope = near[0].load / near[0].count
    if len(near) == 2:
        secant = (near[1].load - near[0].load) / (near[1].count - near[0].count)
        if 0.5 * slope < secant < 2 * slope:  # else the two are too near to tell anything but noise
            slope = secant
    return max(least, round(near[0].count + (target - near[0].load) / slope))


def _measure(scale: Scale, count: int, workers: Workers, replications: int, duration: str | None) -> Trial:
    points = scale.points(count, replications, duration)
    tasks = [(index, (point, scale.direction)) for index, point in enumerate(points)]
    loads: dict[int, float] = {}
    for index, came in spread(workers, offered_bps, tasks):
        if isinstance(came, float):
            loads[index] = came / scale.rate_bps
        else:
            raise SojournError(f"the simulation of {count} sessions failed: {came}")
    values = [loads[index] for index in sorted(loads)]
    mean = math.fsum(values) / len(values)
    return Trial(count, mean, half_width(values))


def offered_bps(point: dict[str, Any], direction: str) -> float | str:
    """Return what a simulation sent through a link per second; what workers do."""
    try:
        link = json.loads(_core.run(json.dumps(point))["summary"])["links"][direction]
        return float(link["utilisation"] * link["rate_bps"])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def shared(count: int, shares: list[int]) -> list[int]:
    """Divide a count in proportion to shares, with no share left empty."""
    total = sum(shares) or len(shares)
    edges = [round(count * sum(shares[: index + 1]) / total) for index in range(len(shares))]
    parts = [edge - before for edge, before in zip(edges, [0, *edges[:-1]], strict=True)]
    return [max(part, 1) for part in parts]


def load_share(text: str) -> float:
    """Read a load: ``96%`` or ``0.96``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < value <= _MOST_LOAD:
        raise SojournError(
            f"--load {text!r}: expected a share of the link's rate, above 0 and at most "
            f'{percent(_MOST_LOAD, 0)}, as "96%" or "0.96"'
        )
    return value


def rate_bps(rate: Any, where: str) -> int:
    """Read a constant rate, as a point's document or an option has it: bit/s, or text with a unit."""
    if isinstance(rate, int | float):
        return round(rate)
    if isinstance(rate, Mapping):
        raise SojournError(
            f"{where}: expected a constant rate above zero, as 8Mbit; this one changes over time"
        )
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMG]?bit)(?:/s)?\s*", str(rate))
    if not found or not float(found[1]):
        why = ": bps is bits to some tools and bytes to others" if "bps" in str(rate) else ""
        raise SojournError(f"{where}: expected a constant rate above zero, as 8Mbit, found {rate!r}{why}")
    return bits_per_second(found[1] + found[2])
