"""What the study of who loses in a router buffer found, looked for in stored results of its testbed.

The statements are those of the study (242 Mbit/s, RTT 150 ms, buffers of 16 to 256 packets, loads low,
high and very high). What they mean in numbers is this file's reading, set before its studies were run: a
bound for each statement, printed with the figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

BUFFER = "path.down.queue.limit"
LOADS = ("low", "high", "very-high")

CAPPED = 0.05
"""So much below the largest buffer's utilisation is capped."""
TAIL = 0.01
"""The tail of bursts is compared at the length that this share of them reaches."""
TWICE = 2.5
"""A mean window of at most so many buffers is bounded by about twice the buffer."""
FLAT = 0.1
"""A slope of the log-scale diagram of at most this size is flat; long-range dependence has 0.4 to 0.8."""
MID_SIZE = (2.0**19, 2.0**25)


@dataclass(frozen=True)
class Finding:
    """A statement of the study and what it comes to here; `holds` is None where the results cannot say."""

    statement: str
    here: str
    holds: bool | None


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
        found = []
        for result in self._cells.get((load, buffer), ()):
            value: Any = result["losses"]["down"]
            for part in path.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if value is not None:
                found.append(value)
        return found

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


def _capped(cells: Cells) -> Finding:
    small, large = cells.buffers[0], cells.buffers[-1]
    pairs = {
        load: (cells.value(load, small, "utilisation.mean"), cells.value(load, large, "utilisation.mean"))
        for load in cells.loads
    }
    loaded = [pair for load, pair in pairs.items() if load != "low" and None not in pair]
    said = ", ".join(f"{load} {_percent(a)} against {_percent(b)}" for load, (a, b) in pairs.items())
    return Finding(
        "Small buffers cap utilisation whatever the load.",
        f"utilisation with {small} against {large} packets: {said}",
        all(a <= b - CAPPED for a, b in loaded) if loaded and small < large else None,
    )


def _bursts(cells: Cells) -> Finding:
    large = cells.buffers[-1]
    tails = {
        load: [_tail(ccdf) for ccdf in cells.all(load, large, "bursts.stitched_ccdf")] for load in cells.loads
    }
    found = {load: statistics.fmean(lengths) for load, lengths in tails.items() if lengths}
    others = [length for load, length in found.items() if load != "low"]
    return Finding(
        "At low load the largest buffer has the heavier tail of loss bursts.",
        f"with {large} packets one stitched burst in a hundred has at least: "
        + ", ".join(f"{load} {length:.0f} packets" for load, length in found.items()),
        found["low"] > max(others) if "low" in found and others else None,
    )


def _tail(ccdf: Mapping[str, list[float]]) -> float:
    """Return the greatest length that at least one burst in a hundred reaches."""
    long_enough = [at for at, share in zip(ccdf["length_pkts"], ccdf["share"], strict=True) if share >= TAIL]
    return max(long_enough, default=0)


def _udp(cells: Cells) -> Finding:
    ratios = {}
    for load in cells.loads:
        for buffer in cells.buffers:
            tcp = cells.value(load, buffer, "by_protocol.tcp.loss")
            udp = cells.value(load, buffer, "by_protocol.udp.loss")
            if tcp and udp is not None:
                ratios[load, buffer] = udp / tcp
    largest = cells.buffers[-1]
    exception = {cell: ratio for cell, ratio in ratios.items() if cell[0] == "low" and cell[1] >= largest / 2}
    rest = [ratio for cell, ratio in ratios.items() if cell not in exception]
    said = "; ".join(
        f"{load} " + " ".join(f"{ratio:.2f}" for (at, _), ratio in ratios.items() if at == load)
        for load in cells.loads
    )
    return Finding(
        "UDP sees less loss than TCP, except at low load with large buffers.",
        f"loss of UDP over that of TCP by buffer ({', '.join(map(str, cells.buffers))} packets): {said}",
        max(rest) < 1 and ratios.get(("low", largest), 0) >= 1 if rest and exception else None,
    )


def _mid_size(cells: Cells) -> Finding:
    worst = cells.value("low", 128, "per_flow.most_lossy_bytes")
    boxes = cells.all("low", 128, "per_flow.boxes")
    here = "no such cell"
    if worst and boxes:
        rows = zip(boxes[0]["from_bytes"], boxes[0]["flows"], boxes[0]["mean"], strict=True)
        said = ", ".join(f"{_size(at)} {_percent(mean, 2)}" for at, flows, mean in rows if flows >= 10)
        here = f"mean loss of a flow from {said}"
    return Finding(
        "At low load and 128 packets flows of middle size (512 kB to 32 MB) lose most.",
        here,
        MID_SIZE[0] <= worst < MID_SIZE[1] if worst else None,
    )


def _windows(cells: Cells) -> Finding:
    ratios = {
        (load, buffer): largest / buffer
        for load in cells.loads
        for buffer in cells.buffers
        if (largest := cells.value(load, buffer, "windows.largest_pkts"))
    }
    said = "; ".join(
        f"{load} " + " ".join(f"{ratio:.1f}" for (at, _), ratio in ratios.items() if at == load)
        for load in cells.loads
    )
    return Finding(
        "The mean congestion window is bounded by about twice the buffer.",
        "largest mean window of a size octave over the buffer "
        f"({', '.join(map(str, cells.buffers))} packets): {said}",
        max(ratios.values()) <= TWICE if ratios else None,
    )


def _flat(cells: Cells) -> Finding:
    slopes = {load: cells.value(load, 32, "scaling.below_rtt.alpha") for load in cells.loads}
    known = {load: slope for load, slope in slopes.items() if slope is not None}
    rejected = cells.value("low", 32, "scaling.independence.rejected_share")
    tested = (
        f"; independence is rejected in {rejected:.0%} of the minutes at low load"
        if rejected is not None
        else ""
    )
    for diagram in cells.all("low", 32, "scaling.haar")[:1]:
        energy = [y for j, y in zip(diagram["octave"], diagram["log2_energy"], strict=True) if 4 <= j <= 7]
        tested = (
            f"; energy of octaves 4 to 7 at low load {min(energy):.1f} to {max(energy):.1f}{tested}"
            if energy
            else tested
        )
    return Finding(
        "With 32 packets the log-scale diagram is flat below the round-trip time: losses are uncorrelated.",
        "slope below the RTT: " + ", ".join(f"{load} {slope:.2f}" for load, slope in known.items()) + tested,
        abs(known["low"]) <= FLAT if "low" in known else None,
    )


def _rising(cells: Cells) -> Finding:
    slope = cells.value("high", 256, "scaling.below_rtt.alpha")
    return Finding(
        "At high load with 256 packets the diagram rises below the round-trip time: losses cluster.",
        "no such cell" if slope is None else f"slope below the RTT {slope:.2f}",
        None if slope is None else slope > FLAT,
    )


def _percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def _size(number: float) -> str:
    power = 2 if number >= 2**20 else 1 if number >= 2**10 else 0
    return f"{number / 1024**power:g} {('B', 'kB', 'MB')[power]}"
