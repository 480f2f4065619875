"""What a study's cells have to stand beside a measurement: numbers, and the series of one cell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.report.figures.values import axis_name
from sojourn.report.measured.measurement import Series
from sojourn.results import Results
from sojourn.results.limits import Cell as Labels
from sojourn.results.limits import cell_of
from sojourn.results.path import look_up
from sojourn.study import expand
from sojourn.study.grouped import grouped
from sojourn.study.links import base_rtt_ns
from sojourn.study.units import nanoseconds

DURATION = "connections.duration_s"
"""Begins the names of quantiles of how long completed connections last."""


@dataclass(frozen=True)
class Cell:
    """One cell of a study: its labels by axis, and the hash and result of each replication."""

    labels: Mapping[str, str]
    runs: Sequence[tuple[str, Mapping[str, Any]]]
    base_ms: float | None = None
    """The path's base round trip, for cells without groups of flows, which have their own."""
    seconds: float | None = None
    """How long a run is without its warm-up."""

    @property
    def where(self) -> str:
        """The cell in words."""
        words = [f"{axis_name(axis)} {label}" for axis, label in self.labels.items()]
        return ", ".join(words) or "the one point"

    def number(self, path: str, found: Results) -> float | None:
        """Return a number of results, the mean over replications."""
        if path.startswith(f"{DURATION}."):
            share = float(path.removeprefix(f"{DURATION}.p")) / 100
            return _mean(_duration(found, point, share) for point, _ in self.runs)
        return _mean(look_up(result, path) for _, result in self.runs)

    def throughput_mbps(self, link: str) -> float | None:
        """Return the payload of all groups of flows in a direction, Mbit/s."""
        bps = _mean(_sum(result, link, "goodput_bps") for _, result in self.runs)
        return None if bps is None else bps / 1e6

    def again_per_s(self, link: str) -> float | None:
        """Return the segments sent again a second, of all groups of flows whose data go in a direction."""
        again = _mean(_sum(result, link, "retransmits") for _, result in self.runs)
        return again / self.seconds if again is not None and self.seconds else None

    def carried_mbps(self, link: str) -> Series | None:
        """Return what left a link over time in the first replication, Mbit/s, headers with it."""
        about = self.runs[0][1]["links"].get(link) or {}
        kept, rate = about.get("series"), about.get("rate_bps")
        if not kept or not rate or not kept.get("utilisation"):
            return None
        used = np.array([np.nan if each is None else each for each in kept["utilisation"]], dtype=float)
        return Series(_middles(kept["bin_s"], len(used)), used * rate / 1e6)

    def round_trip_ms(self, run: int = 0) -> Series | None:
        """Return the round trip of one replication over time: the path's, and the mean wait in both queues.

        None for paths of several queues, where flows differ in which they pass.
        """
        result = self.runs[run][1]
        groups = (result.get("groups") or {}).values()
        base = [each["base_rtt_ms"] for each in groups if "base_rtt_ms" in each]
        if not base and self.base_ms is not None:
            base = [self.base_ms]
        kept = [about.get("series") for about in result["links"].values()]
        if not base or not set(result["links"]) <= {"down", "up"} or not all(kept):
            return None
        # A queue that no packet came to has no bins, and held nobody up.
        waits = [
            [each or 0.0 for each in about["queue_delay_ms"]] for about in kept if about["queue_delay_ms"]
        ]
        waits = waits or [[0.0]]
        bins = min(map(len, waits))
        whole = min(base) + np.sum([wait[:bins] for wait in waits], axis=0)
        return Series(_middles(kept[0]["bin_s"], bins), whole)

    def round_trip(self) -> dict[str, float | None]:
        """Return mean, median and 95th percentile of the round trip over bins of time, ms."""
        each = [kept for run in range(len(self.runs)) if (kept := self.round_trip_ms(run))]
        return {
            "mean": _mean(kept.mean for kept in each),
            "p50": _mean(kept.quantile(0.5) for kept in each),
            "p95": _mean(kept.quantile(0.95) for kept in each),
        }


def cells_of(found: Results) -> list[Cell]:
    """Return the cells of a study, in its order."""
    made = grouped((cell_of(result["point"]), (point, result)) for point, result in found.items())
    known = _of_documents(found)
    return [Cell(dict(labels), runs, *known.get(labels, ())) for labels, runs in made.items()]


def _of_documents(found: Results) -> dict[Labels, tuple[float, float]]:
    """Return each cell's base round trip in ms, and how long its runs are without their warm-up, in s."""
    try:
        points = expand({**found.document, "repeat": 1, "figures": []}, found.name)
    except (_core.StudyError, SojournError):  # of another engine, or between two captures
        return {}
    return {cell_of(each["point"]): _of_document(each["document"]) for each in points}


def _of_document(document: Mapping[str, Any]) -> tuple[float, float]:
    lasts_ns = nanoseconds(document["duration"]) - nanoseconds(document["warmup"])
    return base_rtt_ns(document) / 1e6, lasts_ns / 1e9


def nearest(cells: Sequence[Cell], pairs: Mapping[int, Sequence[tuple[float | None, float | None]]]) -> Cell:
    """Return the cell whose numbers differ least from the measured ones, by the sum of their |log ratio|."""

    def apart(place: int) -> tuple[int, float]:
        both = [(ours, other) for ours, other in pairs[place] if ours and other and ours > 0 and other > 0]
        return -len(both), sum(abs(log(ours / other)) for ours, other in both)

    return cells[min(range(len(cells)), key=apart)]


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return fmean(known) if known else None


def _middles(bin_s: float, count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) * bin_s


def _sum(result: Mapping[str, Any], link: str, what: str) -> float | None:
    groups = (result.get("groups") or {}).values()
    there = [each[what] for each in groups if each["direction"] == link and what in each]
    return sum(there) if there else None


def _duration(found: Results, point: str, share: float) -> float | None:
    try:
        table = found.flows(point)
    except SojournError:
        return None
    lasted = (
        table.select((pl.col("end_ns") - pl.col("start_ns").cast(pl.Int64)) / 1e9).to_series().drop_nulls()
    )
    return lasted.quantile(share, "nearest")
