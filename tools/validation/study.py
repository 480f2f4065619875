"""Ours beside published tables: how near, and in which order, for every figure of a study that names one.

What a table's columns mean, and which cell of ours a row is, is :mod:`sojourn.report.published`'s.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.report.figures import Spec, gather, labels_of
from sojourn.report.published import compare, load

from tools.validation.runs import Runs

CLOSE = 0.25
"""A cell is close to the published one if it differs by at most this share of it."""
BUFFER = "path.down.queue.limit"


@dataclass(frozen=True)
class Pair:
    """One cell: its labels, our value (replications together) and the published one."""

    workload: str
    buffer: str
    ours: float
    published: float


@dataclass(frozen=True)
class Comparison:
    """A published table beside one figure of a study."""

    study: str
    title: str
    table: str
    where: Mapping[str, str]
    pairs: tuple[Pair, ...]
    rank_correlation: float
    """Spearman's, over the cells; not a number where it does not exist."""
    unmatched: int
    """Numbers of the table without a result."""
    command: str
    engines: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Labels of the points that the figure is of, where it is not of all."""

    @property
    def key(self) -> str:
        """Names the comparison: study, table and what of it."""
        labels = [str(label) for chosen in self.only.values() for label in chosen]
        return "/".join(["published", self.study, self.table, *self.where.values(), *labels])

    @property
    def mean_difference(self) -> float:
        """Mean absolute difference."""
        return statistics.fmean(abs(pair.ours - pair.published) for pair in self.pairs)

    @property
    def median_ratio(self) -> float:
        """Median of ours over published, over the cells where that exists."""
        ratios = [pair.ours / pair.published for pair in self.pairs if pair.published]
        return statistics.median(ratios) if ratios else math.nan

    @property
    def close(self) -> int:
        """Number of cells that are close to the published one."""
        return sum(abs(pair.ours - pair.published) <= CLOSE * abs(pair.published) for pair in self.pairs)


def comparisons(
    results: Path, study: str, studies: Path = Path("studies"), value: str | None = None
) -> list[Comparison]:
    """Compare every figure of a study that names a published table.

    Parameters
    ----------
    results, study
        Where results folders are, and which of them.
    studies
        Where ``published/`` is.
    value
        Another number of the results, in place of the figures' own.
    """
    runs = Runs(results, simulate=False)
    stored = runs.stored(study)
    found = list(runs.all_of(study))
    axes = labels_of(result["point"] for result in found)
    made = []
    for entry in (stored.document.get("figures") or ()) if found else ():
        if "published" not in entry:
            continue
        spec = Spec.read({**entry, **({"value": value} if value else {})})
        plot = gather(spec, found, axes)
        cells = [
            {"ours": row["value"], "point": plot.points[row["panel"], row["y"], row["x"]]}
            for row in plot.frame.iter_rows(named=True)
        ]
        table = load(spec.published or "", [studies])
        compared = compare(table, spec.value, cells, spec.published_where, spec.published_column)
        pairs = tuple(
            Pair(
                *(cell["point"].get(axis, "") for axis in ("workload", BUFFER)), row["ours"], row["published"]
            )
            for cell, row in zip(cells, compared.frame.iter_rows(named=True), strict=True)
            if row["published"] is not None
        )
        correlation = compared.rank_correlation
        if pairs:
            made.append(
                Comparison(
                    study=study,
                    title=spec.title or spec.value,
                    table=table.name,
                    where=dict(spec.published_where),
                    pairs=pairs,
                    rank_correlation=math.nan if correlation is None else correlation,
                    unmatched=compared.unused,
                    command=str(stored.record.get("command", "")),
                    engines=dict(runs.engines),
                    only=dict(entry.get("only") or {}),
                )
            )
    return made


def studies_with_results(results: Path) -> list[str]:
    """Return the names of the results folders directly under `results`."""
    return sorted(path.parent.name for path in results.glob("*/study.json"))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation; not a number if one side is constant or there are fewer than 3."""
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return math.nan
    from scipy.stats import spearmanr  # slow to import

    return float(spearmanr(first, second).statistic)
