"""The results of a suite as one table, which every page reads: a row for every run and class of traffic."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from sojourn.results import Results
from sojourn.study.suites import Expanded

ALL = "all"
"""The class of all traffic at the bottleneck."""

SCHEMA: dict[str, Any] = {
    "suite": pl.String, "case": pl.String, "weight": pl.String, "link": pl.String, "scheme": pl.String,
    "setting": pl.String, "replication": pl.Int64, "at": pl.String, "class": pl.String, "phase": pl.String,
    "goodput_bps": pl.Float64, "queue_delay_ms": pl.Float64, "queue_delay_p95_ms": pl.Float64,
    "loss": pl.Float64, "arrived_pkts": pl.Int64, "dropped_pkts": pl.Int64, "goodput_cov": pl.Float64,
    "synchronisation": pl.Float64, "largest_cut": pl.Float64, "largest_rise_bps": pl.Float64,
    "delta_fair_s": pl.Float64, "watched_s": pl.Float64, "harm_goodput": pl.Float64, "harm_delay": pl.Float64,
    "completed": pl.Int64, "completion_s": pl.Float64,
    "plt_median_s": pl.Float64, "utilisation": pl.Float64, "buffer_pkts": pl.Int64, "hash": pl.String,
}  # fmt: skip
"""``setting``: labels of further axes; ``at``: the link; ``phase``: empty for the whole period;
``watched_s``: how long there was to converge in; a null in ``delta_fair_s`` beside it says that
shares never were fair."""


def rows(suite: str, expanded: Expanded, results: Results) -> pl.DataFrame:
    """Return the table of one case."""
    table = pl.DataFrame(list(_rows(suite, expanded, results)), schema=SCHEMA, orient="row")
    return _harmed(table, expanded.case.classes[0], expanded.case.solo) if expanded.case.solo else table


def _harmed(table: pl.DataFrame, sufferer: str, solo: str) -> pl.DataFrame:
    """Fill in the harm to a class, against its solo run of the same scheme and replication (Ware 2019)."""
    keys = ["scheme", "at", "replication"]
    mine = (pl.col("class") == sufferer) & (pl.col("phase") == "")
    alone = table.filter(mine, pl.col("setting") == solo).select(
        *keys, pl.col("goodput_bps").alias("alone_bps"), pl.col("queue_delay_ms").alias("alone_ms")
    )
    beside = mine & (pl.col("setting") != solo)
    lost, waited = pl.col("alone_bps") - pl.col("goodput_bps"), pl.col("queue_delay_ms") - pl.col("alone_ms")
    return (
        table.join(alone, on=keys, how="left", maintain_order="left")
        .with_columns(
            pl.when(beside & (pl.col("alone_bps") > 0))
            .then(lost / pl.col("alone_bps"))
            .alias("harm_goodput"),
            pl.when(beside & (pl.col("queue_delay_ms") > 0))
            .then(waited / pl.col("queue_delay_ms"))
            .alias("harm_delay"),
        )
        .select(list(SCHEMA))
    )


def setting_of(expanded: Expanded, labels: Mapping[str, Any]) -> str:
    """Return the labels of a point but for its scheme: ``initial-window=3``, or nothing."""
    axis = expanded.case.queues[0].key
    return ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in labels.items() if key != axis)


def _rows(suite: str, expanded: Expanded, results: Results) -> Iterator[dict[str, Any]]:
    case = expanded.case
    axis = case.queues[0].key
    scheme_of = expanded.scheme_of
    for name, result in results.items():
        about = {
            "suite": suite,
            "case": case.name,
            "weight": case.weight,
            "link": expanded.link.name,
            "scheme": scheme_of[result["point"][axis]],
            "setting": setting_of(expanded, result["point"]),
            "replication": result["replication"],
            "buffer_pkts": expanded.buffer_pkts,
            "hash": name,
        }
        for link, traffic in result["traffic"].items():
            here = {**about, "at": link}
            whole = result["links"][link]
            for group, numbers in _classes(case.classes, traffic):
                row = {
                    **here,
                    "class": group,
                    "phase": "",
                    "utilisation": whole["utilisation"],
                    **_numbers(numbers),
                }
                row |= traffic.get("convergence", {}) if group == ALL else _web(result, group)
                yield _only(row)
            for phase, parts in traffic.get("phases", {}).items():
                if parts:
                    yield _only({**here, "class": ALL, "phase": phase, **_numbers(parts["all"])})


def _classes(wanted: Sequence[str], traffic: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over all traffic and the classes that a case names and that are there."""
    yield ALL, traffic["all"]
    for group in wanted:
        if (numbers := traffic["groups"].get(group)) and numbers["arrived_pkts"]:
            yield group, numbers


def _numbers(numbers: Mapping[str, Any]) -> dict[str, Any]:
    cdf = numbers.get("queue_delay_ms_cdf") or []
    p95 = cdf[round(0.95 * (len(cdf) - 1))] if cdf else None
    return {**{key: numbers.get(key) for key in SCHEMA if key in numbers}, "queue_delay_p95_ms": p95}


def _web(result: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Return the page load time beside the class of the readers."""
    browser = result.get("browser")
    return {"plt_median_s": browser["plt_s"]["median"]} if group == "web" and browser else {}


def _only(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row.get(key) for key in SCHEMA}
