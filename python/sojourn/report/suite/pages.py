"""The overview of a suite and the pages of its cases, each one file that stands by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.report import html
from sojourn.report.sections import Table
from sojourn.report.suite import case_page
from sojourn.report.suite.checks import Check
from sojourn.report.suite.rows import ALL
from sojourn.results import Results
from sojourn.study.identity import engine
from sojourn.sweep.suites import Expanded, Preset, Suite

_VERDICTS = {True: "holds", False: "does not hold", None: "cannot be said: one run has no interval"}


def write_pages(
    suite: Suite,
    preset: Preset,
    everything: Sequence[Expanded],
    tables: Sequence[pl.DataFrame],
    found: Sequence[Check],
    command: str,
    out: Path,
) -> Path:
    """Write ``index.html`` and ``LINK/CASE.html`` for every case; return the overview."""
    versions = f"sojourn {_core.version()}, engine {engine()}"
    about = {"suite": suite, "preset": preset, "command": command, "versions": versions}
    for each, table in zip(everything, tables, strict=True):
        results = Results(out / each.folder)
        own = [check for check in found if (check.case, check.link) == (each.case.name, each.link.name)]
        html.write(
            out / f"{each.folder}.html",
            "report/suite/case.html.jinja",
            **about,
            case=each.case,
            link=each.link.name,
            parameters=case_page.parameters(each, results),
            pictures=list(case_page.pictures(each, table, results)),
            numbers=case_page.numbers(table),
            phases=case_page.phases(table),
            completion=case_page.completion(table),
            checks=check_table(own),
            missing=results.missing,
            study=each.study.command,
        )
    links = list(dict.fromkeys(each.link.name for each in everything))
    return html.write(
        out / "index.html",
        "report/suite/overview.html.jinja",
        **about,
        links=links,
        matrices=[
            (link, matrix([t for e, t in zip(everything, tables, strict=True) if e.link.name == link]))
            for link in links
        ],
        checks=check_table(found),
        broken=[check for check in found if check.holds is False],
        schemes=scheme_table(everything),
        open=open_table(suite, everything),
        pages=[
            (each.link.name, each.case.name, each.case.title, f"{each.folder}.html") for each in everything
        ],
        runs=sum(table["hash"].n_unique() for table in tables),
    )


def matrix(tables: Sequence[pl.DataFrame]) -> Table:
    """Return case by scheme: mean queueing delay and goodput of all traffic at the first bottleneck."""
    whole = pl.concat(list(tables))
    schemes = whole["scheme"].unique(maintain_order=True).to_list()
    rows = []
    at_first = whole.filter(pl.col("class") == ALL, pl.col("phase") == "")
    for (case, weight, setting), cell in at_first.group_by("case", "weight", "setting", maintain_order=True):
        here = cell.filter(pl.col("at") == cell["at"][0])
        row = [f"{case}{', ' + str(setting) if setting else ''}", str(weight)]
        for scheme in schemes:
            own = here.filter(pl.col("scheme") == scheme)
            delay = case_page.with_interval(own["queue_delay_ms"])
            goodput = case_page.with_interval(own["goodput_bps"], 1e-6)
            row.append(f"{delay} ms · {goodput} Mbit/s" if own.height else "–")
        rows.append(row)
    return Table(["Case", "RFC says", *schemes], rows, 2)


def check_table(found: Sequence[Check]) -> Table | None:
    """Return checks as a table; none where there are none."""
    if not found:
        return None
    heads = ["Case", "Link", "Scheme", "What must hold", "Expected", "Found", "Verdict"]
    rows = [
        [each.case, each.link, each.scheme, each.what, each.expected, each.found, _VERDICTS[each.holds]]
        for each in found
    ]
    return Table(heads, rows, 7)


def scheme_table(everything: Sequence[Expanded]) -> Table:
    """Return every scheme with the parameters that it was given; all others are the discipline's defaults."""
    rows = {}
    for each in everything:
        for scheme in each.schemes:
            given = ", ".join(f"{key} = {value}" for key, value in scheme.queue.items() if key != "kind")
            limit = "its own" if scheme.own_limit else "the case's buffer"
            rows.setdefault(scheme.name, [scheme.name, scheme.queue["kind"], given or "defaults", limit])
    return Table(["Scheme", "Discipline", "Parameters given", "Limit"], list(rows.values()), 4)


def open_table(suite: Suite, everything: Sequence[Expanded]) -> Table:
    """Return what is left open, and what was chosen."""
    rows = [["all", *entry] for entry in suite.open]
    for case in dict.fromkeys(each.case.name for each in everything):
        found = next(each.case for each in everything if each.case.name == case)
        rows += [[case, *entry] for entry in found.open]
    return Table(["Case", "What is left open", "What was chosen"], rows, 3)
