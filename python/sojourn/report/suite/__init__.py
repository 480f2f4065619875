"""The pages and tables of a suite: an overview, a page for every case, JSON and Parquet."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sojourn import _core
from sojourn.report.suite.checks import Check, checks, told
from sojourn.report.suite.rows import SCHEMA, rows
from sojourn.results import Results, atomic
from sojourn.results.atomic import writing
from sojourn.study.identity import engine
from sojourn.study.suites import Expanded, Preset, Suite

FORMAT = 1
"""Version of ``suite.json``."""


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes
    ----------
    told : dict
        What ``--json`` prints.
    lines : list of str
        What is printed otherwise.
    broken : bool
        Whether a check does not hold.
    """

    told: Mapping[str, Any]
    lines: Sequence[str]
    broken: bool


def write_suite(
    suite: Suite,
    preset: Preset,
    everything: Sequence[Expanded],
    command: str,
    out: Path,
    submit: Callable[..., Future[Any]] | None = None,
) -> Written:
    """Write ``index.html``, a page for every case, ``suite.json`` and ``suite.parquet`` into a directory.

    Pages are drawn where `submit` has it done, which is as that of an executor; without it, here.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    from sojourn.report.suite.pages import write_pages

    tables = [rows(suite.name, each, Results(out / each.folder)) for each in everything]
    found = [check for each, table in zip(everything, tables, strict=True) for check in checks(each, table)]
    whole = pl.concat(tables) if tables else pl.DataFrame(schema=SCHEMA)
    printed = {
        "format": FORMAT,
        "sojourn": _core.version(),
        "engine": engine(),
        "suite": suite.name,
        "preset": preset.name or None,
        "command": command,
        "cases": [_told(each) for each in everything],
        "checks": [vars(check) for check in found],
        "numbers": means(whole).to_dicts(),
    }
    with writing(out):
        atomic.write(out / "suite.parquet", lambda file: whole.write_parquet(file))
        text = json.dumps(printed, ensure_ascii=False, allow_nan=False, indent=1)
        atomic.write(out / "suite.json", lambda file: file.write(text.encode()))
        pages = write_pages(suite, preset, everything, tables, found, command, out, submit)
    broken = [check for check in found if check.holds is False]
    lines = [_line(check) for check in found]
    lines.append(told(found, everything))
    lines.append(f"pages: {pages}; numbers: {out / 'suite.parquet'}, {out / 'suite.json'}")
    return Written({**printed, "page": str(pages)}, lines, bool(broken))


def means(table: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over runs of every number, one row for each class of each cell.

    ``delta_fair_s`` is the mean over the ``delta_fair_runs`` in which shares came to be fair at all.
    """
    keys = ["suite", "case", "weight", "link", "scheme", "setting", "at", "class", "phase"]
    numbers = [name for name, kind in SCHEMA.items() if kind == pl.Float64]
    return table.group_by(keys, maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col(numbers).mean(),
        pl.col("delta_fair_s").count().alias("delta_fair_runs"),
    )


def _told(each: Expanded) -> dict[str, Any]:
    return {
        "case": each.case.name,
        "title": each.case.title,
        "weight": each.case.weight,
        "link": each.link.name,
        "buffer_pkts": each.buffer_pkts,
        "schemes": {scheme.name: scheme.queue for scheme in each.schemes},
        "open": [list(entry) for entry in each.case.open],
        "seed": each.study.points[0].seed,
        "runs": max(point.replication for point in each.study.points) + 1,
        "duration": each.study.points[0].document["duration"],
        "warmup": each.study.points[0].document["warmup"],
        "set": dict(each.sets),
        "command": each.study.command,
        "results": each.folder,
    }


def _line(check: Check) -> str:
    verdict = {True: "holds", False: "DOES NOT HOLD", None: "cannot be said"}[check.holds]
    what = f"{check.link} {check.case} {check.scheme}: {check.what}"
    why = f" ({check.why})" if check.why else ""
    return f"{verdict:14} {what}: {check.found}, expected {check.expected}{why}"
