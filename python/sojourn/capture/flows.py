"""What the samples of each flow and direction come to, in memory that follows the flows only."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sojourn import _core

_BINS = 0.005
"""Width of a bin of delays: quantiles are within half a percent."""
_FLOOR_MS = 0.001


class Flows:
    """Adds up batches of samples by flow."""

    def __init__(self) -> None:
        self._bins: Any = None
        self._flows: Any = None

    def add(self, batch: Mapping[str, Any]) -> None:
        """Count the samples of a batch."""
        names = [pl.Series([row[i] for row in batch["flows"]], dtype=pl.String) for i in range(3)]
        flow = pl.Series(batch["flow"], dtype=pl.UInt32)
        rows = pl.DataFrame(
            {
                "flow": names[2].gather(flow),
                "remote": names[0].gather(flow),
                "protocol": pl.Series(batch["protocols"]).gather(
                    pl.Series(batch["protocol"], dtype=pl.UInt32)
                ),
                "toward": batch["toward"],
                "missing": pl.Series(batch["missing_ns"], dtype=pl.Float64).gather(flow) / 1e6,
                "time_ns": batch["time_ns"],
                "ms": pl.Series(batch["queue_delay_ns"], dtype=pl.Float64) / 1e6,
            }
        ).with_columns(bin=(pl.max_horizontal("ms", pl.lit(_FLOOR_MS)).log() / _BINS).round().cast(pl.Int32))
        key = ["remote", "protocol", "flow", "toward"]
        bins = rows.group_by(*key, "bin").agg(samples=pl.len())
        flows = rows.group_by(key).agg(
            samples=pl.len(),
            sum=pl.sum("ms"),
            max=pl.max("ms"),
            first=pl.min("time_ns"),
            last=pl.max("time_ns"),
            lacking=(pl.col("missing") > 0).sum(),
            missing=pl.max("missing"),
        )
        if self._bins is not None:
            bins = pl.concat([self._bins, bins]).group_by(*key, "bin").agg(samples=pl.sum("samples"))
            flows = (
                pl.concat([self._flows, flows])
                .group_by(key)
                .agg(pl.sum("samples", "sum", "lacking"), pl.max("max", "last", "missing"), pl.min("first"))
                .select(flows.columns)
            )
        self._bins, self._flows = bins, flows

    def rows(
        self, min_samples: int, hosts: Sequence[Mapping[str, Any]] = (), *, out_of_order: bool = False
    ) -> list[dict[str, Any]]:
        """Return an object for each flow and direction with so many samples, in the order of their starts.

        What was left out of the way to one of the `hosts` is not told by flow: it makes all of them bounds.
        So do captures that were not given in order of time.
        """
        if self._flows is None:
            return []
        key = ["remote", "protocol", "flow", "toward"]
        counted = self._bins.sort(*key, "bin").with_columns(
            reached=pl.col("samples").cum_sum().over(key), all=pl.col("samples").sum().over(key)
        )
        shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
        quantiles = counted.group_by(key).agg(
            pl.col("bin").filter(pl.col("reached") >= pl.col("all") * share).first().alias(name)
            for name, share in shares.items()
        )
        table = self._flows.join(quantiles, on=key).filter(pl.col("samples") >= min_samples)
        untold = {(host["remote"], host["protocol"]) for host in hosts if _untold(host["to_remote"])}
        found = []
        for row in table.sort("first", "flow", "toward").iter_rows(named=True):
            most = row["max"]
            delay = {name: _delay(row[name], most) for name in shares}
            bound = (
                out_of_order
                or _core.lower_bound(row["samples"], row["lacking"])
                or (row["toward"] and (row["remote"], row["protocol"]) in untold)
            )
            found.append(
                {
                    "remote": row["remote"],
                    "protocol": row["protocol"],
                    "flow": row["flow"],
                    "direction": "to-remote" if row["toward"] else "from-remote",
                    "samples": row["samples"],
                    "mean_ms": round(row["sum"] / row["samples"], 6),
                    **delay,
                    "max_ms": round(most, 6),
                    "lower_bound": bound,
                    "missing_at_most_ms": (
                        round(row["missing"], 6)
                        if bound and not out_of_order and 0 < row["missing"] < math.inf
                        else None
                    ),
                    "start_s": row["first"] / 1e9,
                    "end_s": row["last"] / 1e9,
                }
            )
        return found


def _untold(way: Mapping[str, Any] | str) -> bool:
    return not isinstance(way, str) and way["certainty"] == "nothing tells what many packets waited"


def _delay(place: int, most: float) -> float:
    value = math.exp(place * _BINS)
    return 0.0 if value <= _FLOOR_MS * 1.01 else round(min(value, most), 6)
