"""The overview of a suite and the pages of its cases, each one file that stands by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from sojourn import _core
from sojourn.errors import counted
from sojourn.report import html
from sojourn.report.sections import Table
from sojourn.report.suite import case_figures, tables
from sojourn.report.suite.checks import Check, told
from sojourn.report.suite.markdown import markdown
from sojourn.report.suite.rows import ALL
from sojourn.report.suite.view import View, views
from sojourn.results import Results, atomic
from sojourn.study.identity import engine
from sojourn.study.suites import Expanded, Preset, Suite


def write_pages(
    suite: Suite,
    preset: Preset,
    everything: Sequence[Expanded],
    found_rows: Sequence[pl.DataFrame],
    found: Sequence[Check],
    command: str,
    out: Path,
    submit: Callable[..., Future[Any]] | None,
) -> Path:
    """Write ``index.html`` and ``LINK/CASE.html`` for every case, by `submit` if given; return the former."""
    versions = f"sojourn {_core.version()}, engine {engine()}"
    about = {"suite": suite, "preset": preset, "command": command, "versions": versions}
    tasks = [
        (
            each,
            table,
            [check for check in found if (check.case, check.link) == (each.case.name, each.link.name)],
        )
        for each, table in zip(everything, found_rows, strict=True)
    ]
    if submit is not None and len(tasks) > _FEW_CASES:
        waiting = [submit(_write_case, *task, about, out) for task in tasks]
        pages = [each.result() for each in waiting]
    else:
        pages = [_write_case(*task, about, out) for task in tasks]
    links = list(dict.fromkeys(each.link.name for each in everything))
    matrices = [
        (link, matrices_of([t for e, t in zip(everything, found_rows, strict=True) if e.link.name == link]))
        for link in links
    ]
    losses = tables.read_loss(pl.concat(found_rows))
    lines = _about(preset, everything, versions) + [f"loss: {losses}"] * bool(losses)
    text = markdown(suite.title, lines, matrices, found, command)
    atomic.write(out / "suite.md", lambda file: file.write(text.encode()))
    at = {(link, page.name): page.page for link, whole, parts in pages for page in (whole, *parts)}
    return html.write(
        out / "index.html",
        "report/suite/overview.html.jinja",
        **about,
        links=links,
        matrices=[
            (link, [(what, _linked(table, link, everything, at)) for what, table in found_tables])
            for link, found_tables in matrices
        ],
        checks=tables.check_table(found),
        verdict=told(found, everything),
        losses=losses,
        schemes=scheme_table(everything),
        open=open_table(suite, everything),
        pages=pages,
        source=f"{_short(everything)} · {versions} · {command}",
        shown=_shown(everything),
        runs=sum(table["hash"].n_unique() for table in found_rows),
    )


_FEW_CASES = 4
"""With no more, starting processes takes longer than drawing."""


class Page(NamedTuple):
    """A page that was written: see :class:`View`."""

    name: str
    title: str
    label: str
    page: str

    @classmethod
    def of(cls, view: View) -> Page:
        """Name the page of a view."""
        return cls(view.name, view.title, view.label, view.page)


def _write_case(
    each: Expanded, table: pl.DataFrame, own: Sequence[Check], about: Mapping[str, Any], out: Path
) -> tuple[str, Page, list[Page]]:
    """Write the pages of a case: its link, its section, and the parts that are cases of their own."""
    results = Results(out / each.folder)
    whole, *parts = views(each, table, results)
    for view in (whole, *parts):
        _write(view, about, out, own if view is whole else [], results.missing, parts)
    return each.link.name, Page.of(whole), [Page.of(part) for part in parts]


def _write(
    view: View, about: Mapping[str, Any], out: Path, own: Sequence[Check], missing: int, parts: Sequence[View]
) -> None:
    each = view.expanded
    html.write(
        out / view.page,
        "report/suite/case.html.jinja",
        **about,
        case=each.case,
        view=view,
        link=each.link.name,
        description=each.study.document.get("description", ""),
        parameters=tables.parameters(view),
        pictures=list(case_figures.pictures(view)),
        tables=[
            (title, read, table)
            for title, read, table in (
                ("Goodput, delay and loss", tables.read_loss(view.table), tables.numbers(view)),
                ("How senders respond", _RESPONSE, tables.response(view)),
                ("Harm", _HARM, tables.harm(view)),
                ("Completion times", "", tables.completion(view)),
                ("By phase", tables.read_loss(view.table.filter(pl.col("phase") != "")), tables.phases(view)),
            )
            if table is not None
        ],
        checks=tables.check_table(own),
        missing=missing,
        once=_counts([each]) == [1],
        parts=[] if view.label else [(part.name, part.label, Path(part.page).name) for part in parts],
        section=f"{each.case.name}.html" if view.label else "",
        overview="/".join([".."] * (len(Path(view.page).parts) - 1)) + "/index.html",
        source=f"{view.name} on {each.link.name} · buffer {counted(each.buffer_pkts, 'packet')} · "
        f"{_short([each])} · {about['versions']} · {about['command']}",
        study=each.study.command,
    )


_RESPONSE = (
    "Oscillation, smoothness, aggressiveness and convergence as RFC 5166 has them, loss synchronisation as "
    "RFC 7928 §2.4 has it. The largest cut is the largest share of its sending rate that a long flow lost "
    "from one round trip to the next, the largest rise likewise, both means over the flows of a class; with "
    "few packets in a round trip they are large by chance, too."
)
_HARM = (
    "How much worse the first class fares than in the setting in which it is alone, run by run (Ware et al. "
    "2019): 0 is no harm, 1 all that could be done; below 0 it fares better in company."
)


def _counts(everything: Sequence[Expanded]) -> list[int]:
    """Return how often cells ran, each number once."""
    return sorted({max(point.replication for point in each.study.points) + 1 for each in everything})


def _shown(everything: Sequence[Expanded]) -> str:
    """Say what the number of a cell is: one run has no interval."""
    once = _counts(everything) == [1]
    return "of the one run, so without an interval" if once else "mean over runs ± half of the 95 % interval"


def _short(everything: Sequence[Expanded]) -> str:
    """Return how often every cell ran, and from which seed."""
    counts = _counts(everything)
    runs = " or ".join(map(str, counts))
    return (
        f"{runs} {'run' if counts == [1] else 'runs'} of each cell, seed {everything[0].study.points[0].seed}"
    )


def _about(preset: Preset, everything: Sequence[Expanded], versions: str) -> list[str]:
    """Return what was run, in lines."""
    lines = [
        f"{versions}{f', preset {preset.name}' if preset.name else ''}",
        f"schemes: {', '.join(dict.fromkeys(s.name for each in everything for s in each.schemes))}",
        _short(everything),
        f"a cell: all traffic at the bottleneck, {_shown(everything)}",
    ]
    sets = dict.fromkeys(f"{key}={value}" for each in everything for key, value in each.sets)
    return lines + ([f"changed in every case: {', '.join(sets)}"] if sets else [])


def matrices_of(found: Sequence[pl.DataFrame]) -> list[tuple[str, Table]]:
    """Return case by scheme, mean queueing delay and goodput of all traffic at the first bottleneck."""
    whole = pl.concat(list(found))
    schemes = whole["scheme"].unique(maintain_order=True).to_list()
    kinds = {
        "Mean queueing delay in ms": ("queue_delay_ms", 1.0),
        "Goodput in Mbit/s": ("goodput_bps", 1e-6),
        "Loss in %": ("loss", 100.0),
    }
    made: dict[str, list[list[str]]] = {what: [] for what in kinds}
    at_first = whole.filter(pl.col("class") == ALL, pl.col("phase") == "")
    for (case, weight, setting), cell in at_first.group_by("case", "weight", "setting", maintain_order=True):
        here = cell.filter(pl.col("at") == cell["at"][0])
        by_scheme = {scheme: here.filter(pl.col("scheme") == scheme) for scheme in schemes}
        name = f"{case}{', ' + str(setting) if setting else ''}"
        for what, (column, scale) in kinds.items():
            cells = [tables.with_interval(by_scheme[scheme][column], scale) for scheme in schemes]
            made[what].append([name, str(weight), *cells])
    return [(what, Table(["Case", "Weight", *schemes], rows, 2)) for what, rows in made.items()]


def _linked(
    table: Table, link: str, everything: Sequence[Expanded], at: Mapping[tuple[str, str], str]
) -> Table:
    """Return a matrix whose cases are links to their pages."""
    cases = {each.case.name: each.case for each in everything}

    def cell(name: str) -> Markup:
        case, _, setting = name.partition(", ")
        axis = cases[case].each.rpartition(".")[2]
        labels = dict(part.split("=", 1) for part in setting.split(", ") if "=" in part)
        own = f"{case}-{labels[axis]}" if axis and axis in labels else case
        return Markup('<a href="{}">{}</a>').format(at.get((link, own), at[link, case]), name)

    return Table(table.heads, [[cell(row[0]), *row[1:]] for row in table.rows], table.words)


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
