"""What the study of who loses in a router buffer found, looked for in results of its testbed.

The testbed has one bottleneck of 242 Mbit/s, an RTT of 150 ms, buffers of 16 to 256 packets, and the loads
low, high and very high. What a statement means in numbers is this file's reading, printed beside the
statement. Nothing is judged in results of another path or of other loads.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from sojourn.errors import SojournError
from sojourn.losses.flows import LEAST_FLOWS
from sojourn.results.path import look_up
from sojourn.study import expand
from sojourn.study.units import nanoseconds, percent

PUBLICATION = "flows"
"""What a study that `reproduces` this one calls it."""
BUFFER = "path.down.queue.limit"
LOADS = {"low": (226, 232), "high": (436, 447), "very-high": (771, 795)}
"""Closed-loop sessions that offer 50, 96 and 170 % of the link, fewest and most over four kinds of sizes."""
PATH = {"path.down.rate": "242Mbit", "path.down.queue.kind": "fifo", "path.down.loss": 0}
SESSIONS = {"transport": "newreno", "source.sizes.mean": "110kB", "source.interconnection.mean": "1s"}
RTT = "150ms"
BUFFERS = ("16pkt", "32pkt", "64pkt", "128pkt", "256pkt")

CAPPED = 0.05
"""Utilisation that is lower by this than with the largest buffer is capped."""
TAIL = 0.01
"""The tail of bursts is compared at the length that this share of them reaches."""
TWICE = 2.5
"""A mean window of at most this many buffers is bounded by about twice the buffer."""
FLAT = 0.1
"""A slope of the log-scale diagram of at most this size is flat; long-range dependence has 0.4 to 0.8."""
MID_SIZE = (2.0**19, 2.0**25)


@dataclass(frozen=True)
class Finding:
    """A statement of the study, how it is read, and what it comes to here.

    `holds` is None where the results cannot say.
    """

    statement: str
    reading: str
    here: str
    holds: bool | None


def judge(
    document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]
) -> tuple[list[Finding], str | None]:
    """Look for the findings if a study says that it reproduces this one.

    Returns
    -------
    tuple
        The findings, and why there are none although the study says so.
    """
    if document.get("reproduces") != PUBLICATION:
        return [], None
    changed = departure(document)
    cells = Cells(results)
    return ([], changed) if changed or not cells else (list(look_for(cells)), None)


def departure(document: Mapping[str, Any]) -> str | None:
    """Return in what a study differs from the testbed (path, buffers or loads), None if in nothing."""
    try:
        points = expand(dict(document), str(document.get("name")))
    except SojournError as error:
        return f"this version cannot read it ({error})"
    for point in points:
        for name, found, wanted in _facts(point["document"], point["point"]):
            if found != wanted:
                return f"its {name} is {found}, not {wanted}"
    return None


def _facts(scenario: Mapping[str, Any], labels: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what a point has and what the testbed has: a name, and both."""
    yield "sweep", sorted(labels), sorted(("workload", BUFFER))
    for name, wanted in PATH.items():
        yield name, look_up(scenario, name), wanted
    delays_ns = [nanoseconds(scenario["path"][f"{end}-delay"]) for end in ("client", "server")]
    yield "RTT", f"{2 * sum(delays_ns) / 1e6:g}ms", RTT
    limit, load = look_up(scenario, BUFFER), str(labels["workload"])
    yield BUFFER, limit, limit if limit in BUFFERS else f"one of {', '.join(BUFFERS)}"
    yield "workload", load, load if load in LOADS else f"one of {', '.join(LOADS)}"
    sessions = [flows for flows in scenario["flows"] if look_up(flows, "source.kind") == "sessions"]
    yield f"number of groups of sessions at {load} load", len(sessions), 1
    for name, wanted in SESSIONS.items():
        yield f"{name} at {load} load", look_up(sessions[0], name), wanted
    fewest, most = LOADS[load]
    count = sessions[0]["count"]
    wanted = count if fewest <= count <= most else f"{fewest} to {most}"
    yield f"number of sessions at {load} load", count, wanted


class Cells:
    """Results by load and buffer in packets; numbers are means over replications."""

    def __init__(self, results: Iterable[Mapping[str, Any]]) -> None:
        self._cells: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
        for result in results:
            point = result["point"]
            load, limit = str(point.get("workload")), str(point.get(BUFFER))
            if load in LOADS and limit.endswith("pkt") and "down" in (result.get("losses") or {}):
                self._cells.setdefault((load, int(limit[:-3])), []).append(result)
        self.buffers = sorted({buffer for _, buffer in self._cells})
        self.loads = [load for load in LOADS if any(load == found for found, _ in self._cells)]

    def __bool__(self) -> bool:
        return bool(self._cells)

    def all(self, load: str, buffer: int, path: str) -> list[Any]:
        """Return what the replications of a cell hold at a path below ``losses.down``."""
        found = (look_up(each["losses"]["down"], path) for each in self._cells.get((load, buffer), ()))
        return [value for value in found if value is not None]

    def value(self, load: str, buffer: int, path: str) -> float | None:
        """Return the mean of a number, or None if no result has it."""
        found = self.all(load, buffer, path)
        return statistics.fmean(found) if found else None


def look_for(cells: Cells) -> Iterator[Finding]:
    """Look for each finding of the study."""
    yield _capped(cells)
    yield _bursts(cells)
    yield _udp(cells)
    yield _mid_size(cells)
    yield _windows(cells)
    yield _flat(cells)
    yield _rising(cells)


def _every(verdicts: Iterable[bool | None]) -> bool | None:
    """Return False if one does not hold, True if all hold, None if there are none or some cannot be said."""
    found = list(verdicts)
    if False in found:
        return False
    return True if found and None not in found else None


def _capped(cells: Cells) -> Finding:
    small, large = cells.buffers[0], cells.buffers[-1]
    pairs = {
        load: (cells.value(load, small, "utilisation.mean"), cells.value(load, large, "utilisation.mean"))
        for load in LOADS
    }
    said = ", ".join(
        f"{load} {_percent(a)} against {_percent(b)}" for load, (a, b) in pairs.items() if load in cells.loads
    )
    known = small < large
    return Finding(
        "Small buffers cap utilisation whatever the load.",
        f"with the smallest buffer it is {100 * CAPPED:g} points lower or more, at each of the three loads",
        f"utilisation with {small} against {large} packets: {said}",
        _every(a <= b - CAPPED if known and None not in (a, b) else None for a, b in pairs.values()),
    )


def _bursts(cells: Cells) -> Finding:
    large = cells.buffers[-1]
    tails = {load: [_tail(ccdf) for ccdf in cells.all(load, large, "bursts.stitched_ccdf")] for load in LOADS}
    found = {load: statistics.fmean(lengths) for load, lengths in tails.items() if lengths}
    said = ", ".join(f"{load} {length:.0f} packets" for load, length in found.items())
    low = found.get("low")
    others = [found.get(load) for load in LOADS if load != "low"]
    return Finding(
        "With the largest buffer the tail of loss bursts is heavier at low load than at the other loads.",
        "the length that one stitched burst in a hundred reaches is greater",
        f"with {large} packets: {said}",
        _every(None if low is None or other is None else low > other for other in others),
    )


def _tail(ccdf: Mapping[str, list[float]]) -> float:
    """Return the greatest length that at least one burst in a hundred reaches."""
    long_enough = [at for at, share in zip(ccdf["length_pkts"], ccdf["share"], strict=True) if share >= TAIL]
    return max(long_enough, default=0)


def _udp(cells: Cells) -> Finding:
    ratios = {(load, buffer): _ratio(cells, load, buffer) for load in cells.loads for buffer in cells.buffers}
    large = cells.buffers[-1] / 2
    exception = [ratio for (load, buffer), ratio in ratios.items() if load == "low" and buffer >= large]
    rest = [ratio for (load, buffer), ratio in ratios.items() if load != "low" or buffer < large]
    texts = {cell: "–" if ratio is None else f"{ratio:.2f}" for cell, ratio in ratios.items()}
    verdicts = [None if ratio is None else ratio < 1 for ratio in rest or [None]]
    verdicts += [None if ratio is None else ratio >= 1 for ratio in exception or [None]]
    return Finding(
        "UDP sees less loss than TCP, except at low load with large buffers.",
        "a ratio below 1 in every cell, but 1 or more at low load with half the largest buffer or more",
        f"loss of UDP over that of TCP, {_by_load(cells, texts)}",
        _every(verdicts),
    )


def _ratio(cells: Cells, load: str, buffer: int) -> float | None:
    """Return the loss of UDP over that of TCP, None where neither lost anything."""
    udp, tcp = (cells.value(load, buffer, f"by_protocol.{name}.loss") for name in ("udp", "tcp"))
    if udp is None or tcp is None or not (udp or tcp):
        return None
    return udp / tcp if tcp else inf


def _by_load(cells: Cells, texts: Mapping[tuple[str, int], str]) -> str:
    """Return the buffers, and the texts of their cells load by load."""
    rows = [[load, *(text for (at, _), text in texts.items() if at == load)] for load in cells.loads]
    said = "; ".join(" ".join(row) for row in rows)
    return f"by buffer ({', '.join(map(str, cells.buffers))} packets): {said}"


def _mid_size(cells: Cells) -> Finding:
    found = [_by_size(each["boxes"]) for each in cells.all("low", 128, "per_flow")]
    said = [", ".join(f"{_size(at)} {_percent(mean, 2)}" for at, mean in octaves) for octaves in found]
    return Finding(
        "At low load and 128 packets flows of middle size (512 kB to 32 MB) lose most.",
        f"of the octaves with {LEAST_FLOWS} flows or more the one with the greatest mean loss is there, "
        "with others below and above",
        f"mean loss of a flow from {'; '.join(said)}" if found else "no such cell",
        _every(_is_worst_in_the_middle(octaves) for octaves in found),
    )


def _by_size(boxes: Mapping[str, list[float]]) -> list[tuple[float, float]]:
    """Return the size from which an octave is, and its mean loss, of octaves with flows enough."""
    rows = zip(boxes["from_bytes"], boxes["flows"], boxes["mean"], strict=True)
    return [(at, mean) for at, flows, mean in rows if flows >= LEAST_FLOWS]


def _is_worst_in_the_middle(octaves: Sequence[tuple[float, float]]) -> bool | None:
    low, high = MID_SIZE
    middle = [mean for at, mean in octaves if low <= at < high]
    smaller = [mean for at, mean in octaves if at < low]
    larger = [mean for at, mean in octaves if at >= high]
    if not middle:
        return None
    if max(smaller + larger, default=-inf) >= max(middle):
        return False
    return True if smaller and larger else None


def _windows(cells: Cells) -> Finding:
    ratios = {
        (load, buffer): largest / buffer
        for load in cells.loads
        for buffer in cells.buffers
        if (largest := cells.value(load, buffer, "windows.largest_pkts"))
    }
    texts = {cell: f"{ratio:.1f}" for cell, ratio in ratios.items()}
    return Finding(
        "The mean congestion window is bounded by about twice the buffer.",
        f"at most {TWICE:g} buffers in every octave of flow size",
        f"largest mean window of a size octave over the buffer, {_by_load(cells, texts)}",
        _every(ratio <= TWICE for ratio in ratios.values()),
    )


def _flat(cells: Cells) -> Finding:
    slope = cells.value("low", 32, "scaling.below_rtt.alpha")
    said = ["no such cell" if slope is None else f"slope below the RTT {slope:.2f}"]
    for diagram in cells.all("low", 32, "scaling.haar")[:1]:
        energy = [y for j, y in zip(diagram["octave"], diagram["log2_energy"], strict=True) if 4 <= j <= 7]
        said += [f"energy of octaves 4 to 7 {min(energy):.1f} to {max(energy):.1f}"] if energy else []
    rejected = cells.value("low", 32, "scaling.independence.rejected_share")
    said += [] if rejected is None else [f"independence is rejected in {percent(rejected, 0)} of the minutes"]
    return Finding(
        "At low load with 32 packets the log-scale diagram has no slope below the round-trip time.",
        f"a slope of at most {FLAT:g} up or down",
        "; ".join(said),
        None if slope is None else abs(slope) <= FLAT,
    )


def _rising(cells: Cells) -> Finding:
    slope = cells.value("high", 256, "scaling.below_rtt.alpha")
    return Finding(
        "At high load with 256 packets the log-scale diagram rises below the round-trip time.",
        f"a slope of more than {FLAT:g}",
        "no such cell" if slope is None else f"slope below the RTT {slope:.2f}",
        None if slope is None else slope > FLAT,
    )


def _percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def _size(number: float) -> str:
    power = 2 if number >= 2**20 else 1 if number >= 2**10 else 0
    return f"{number / 1024**power:g} {('B', 'kB', 'MB')[power]}"
