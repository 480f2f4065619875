"""The survey: every figure and share of the study, counted in one pass that holds no more than histograms.

Source: Hohlfeld et al., IMC 2014, §4: connections with at least ten round-trip samples; queueing estimated
as the largest minus the smallest smoothed round-trip time; densities over log10 of the times; hosts near the
server are those whose smallest time is at most 100 ms. Differences: quantiles are interpolated within bins
0.01 of a decade wide (2.3 %), and exact where one connection has its bin to itself; shares above a limit are
counted exactly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

ALL = "all"
LIMITS_MS = (100, 500, 1000)
_WIDTH = 0.05
"""Width of the bins of a round-trip time, in decades of a millisecond."""
_FINE = 0.01
"""Width of the bins of the queueing estimate."""
_LEAST_MS, _MOST_MS = 0.01, 1e6
"""Round trips of more than a quarter of an hour are no times (a choice): timers of TCP end long before."""


@dataclass(frozen=True)
class Survey:
    """Counts of connections; all is derived from them.

    Attributes
    ----------
    rows, discarded
        Rows read, and those left out, by reason.
    pairs
        Columns ``access``, ``near``, ``min_bin``, ``max_bin``, ``count``: connections by smallest and
        largest round-trip time.
    averages
        ``access``, ``near``, ``bin``, ``count``; empty if the table has no mean times.
    queueing
        ``access``, ``near``, ``bin``, ``count``, ``sum_us``, ``above_100``, ``above_500``, ``above_1000``:
        connections by queueing estimate.
    min_samples, near_ms
        The settings.
    """

    rows: int
    discarded: dict[str, int]
    pairs: pl.DataFrame
    averages: pl.DataFrame
    queueing: pl.DataFrame
    min_samples: int
    near_ms: float

    @property
    def classes(self) -> list[str]:
        """Classes of access, those with most connections first."""
        counts = self.queueing.group_by("access").agg(pl.col("count").sum())
        return counts.sort(["count", "access"], descending=[True, False])["access"].to_list()

    def shares(self, access: str = ALL, near: bool = False) -> dict[str, Any]:
        """Return connections, mean and quantiles of the queueing estimate (ms), shares above the limits."""
        rows = self._of(self.queueing, access, near)
        count = int(rows["count"].sum())
        if count == 0:
            return {"connections": 0}
        out: dict[str, Any] = {"connections": count}
        for quantile in (0.5, 0.8, 0.95, 0.99):
            out[f"p{round(quantile * 100)}_ms"] = self._quantile(rows, quantile)
        out["mean_ms"] = float(rows["sum_us"].sum()) / 1e3 / count
        for limit in LIMITS_MS:
            out[f"above_{limit}ms"] = int(rows[f"above_{limit}"].sum()) / count
        return out

    def density(self, which: str, access: str = ALL, near: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return a density over log10 of a time in ms: middles of the bins, and density.

        `which` is ``min``, ``avg``, ``max`` or ``queueing``.
        """
        counted = {"avg": (self.averages, "bin"), "queueing": (self.queueing, "bin")}
        table, column = counted.get(which, (self.pairs, f"{which}_bin"))
        place = pl.col(column) // round(_WIDTH / _FINE) if which == "queueing" else pl.col(column)
        rows = self._of(table, access, near)
        counts = rows.group_by(place.alias("at")).agg(pl.col("count").sum()).sort("at")
        total = max(int(counts["count"].sum()), 1)
        if counts.height == 0:
            return np.empty(0), np.empty(0)
        # With an empty bin at both ends: a line through one bin would be a point, which nobody sees.
        bins = np.arange(int(counts["at"].min()) - 1, int(counts["at"].max()) + 2)
        filled = np.zeros(bins.size)
        filled[counts["at"].to_numpy() - bins[0]] = counts["count"].to_numpy()
        return (bins + 0.5) * _WIDTH, filled / total / _WIDTH

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the histogram of smallest and largest time: edges of both (log10 ms), and counts.

        The counts' shape is (smallest, largest).
        """
        rows = self.pairs.group_by("min_bin", "max_bin").agg(pl.col("count").sum())
        low = min(rows["min_bin"].min(), rows["max_bin"].min())
        high = max(rows["min_bin"].max(), rows["max_bin"].max()) + 1
        counts = np.zeros((high - low, high - low))
        counts[rows["min_bin"].to_numpy() - low, rows["max_bin"].to_numpy() - low] = rows["count"].to_numpy()
        edges = np.arange(low, high + 1) * _WIDTH
        return edges, edges, counts

    def _of(self, rows: pl.DataFrame, access: str, near: bool) -> pl.DataFrame:
        if access != ALL:
            rows = rows.filter(pl.col("access") == access)
        return rows.filter(pl.col("near")) if near else rows

    @staticmethod
    def _quantile(rows: pl.DataFrame, quantile: float) -> float:
        """Return a quantile, as if those in a bin lay evenly in it; one alone is where it is."""
        counts = rows.group_by("bin").agg(pl.col("count", "sum_us").sum()).sort("bin")
        inside, rank = counts["count"].to_numpy(), np.ceil(quantile * counts["count"].sum())
        reached = np.cumsum(inside)
        at = int(np.argmax(reached >= rank))
        place = int(counts["bin"].to_numpy()[at])
        if place <= round(np.log10(_LEAST_MS) / _FINE):
            return 0.0
        if inside[at] == 1:
            return float(counts["sum_us"][at]) / 1e3
        return float(10 ** ((place + 1 - (reached[at] - rank + 0.5) / inside[at]) * _FINE))


def survey(
    table: pl.LazyFrame, access: pl.Expr | None = None, min_samples: int = 10, near_ms: float = 100.0
) -> Survey:
    """Count the connections of a table.

    Parameters
    ----------
    table
        From `sojourn.capture.tcp_stats.open_table`.
    access
        The class of access of a row; without it there is one class.
    min_samples
        Fewer round-trip samples than this say nothing of a connection's extremes.
    near_ms
        A host is near if its smallest time is at most this.
    """
    low, high = pl.col("min_rtt_ms"), pl.col("max_rtt_ms")
    sane = (low.is_finite() & high.is_finite() & (low > 0) & high.is_between(low, _MOST_MS)).fill_null(False)
    enough = (pl.col("rtt_samples") >= min_samples).fill_null(False)
    reasons = table.select(
        pl.len().alias("rows"),
        (~sane).sum().alias("no sane times"),
        (sane & ~enough).sum().alias(f"fewer than {min_samples} samples"),
    )
    estimate = high - low
    kept = table.filter(sane & enough).select(
        (access if access is not None else pl.lit(ALL)).alias("access"),
        (low <= near_ms).alias("near"),
        _bin(low, _WIDTH).alias("min_bin"),
        _bin(high, _WIDTH).alias("max_bin"),
        _bin(pl.col("avg_rtt_ms"), _WIDTH).alias("avg_bin"),
        _bin(estimate, _FINE).alias("queueing_bin"),
        estimate.alias("estimate"),
    )
    count = pl.len().alias("count")
    above = [(pl.col("estimate") > limit).sum().alias(f"above_{limit}") for limit in LIMITS_MS]
    pairs = kept.group_by("access", "near", "min_bin", "max_bin").agg(count)
    averages = (
        kept.filter(pl.col("avg_bin").is_not_null())
        .group_by("access", "near", pl.col("avg_bin").alias("bin"))
        .agg(count)
    )
    queueing = kept.group_by("access", "near", pl.col("queueing_bin").alias("bin")).agg(
        count, (pl.col("estimate") * 1e3).round().cast(pl.Int64).sum().alias("sum_us"), *above
    )
    totals, pairs, averages, queueing = pl.collect_all(
        [reasons, pairs, averages, queueing], engine="streaming"
    )
    row = totals.row(0, named=True)
    return Survey(
        rows=row.pop("rows"),
        discarded=row,
        pairs=pairs.sort("access", "near", "min_bin", "max_bin"),
        averages=averages.sort("access", "near", "bin"),
        queueing=queueing.sort("access", "near", "bin"),
        min_samples=min_samples,
        near_ms=near_ms,
    )


def _bin(time: pl.Expr, width: float) -> pl.Expr:
    clipped = time.clip(_LEAST_MS, _MOST_MS)
    return (clipped.log10() / width).floor().cast(pl.Int16)
