"""The page of a survey, its figures and tables as files."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from sojourn.capture.tcp_stats import figures
from sojourn.capture.tcp_stats.survey import ALL, LIMITS_MS, Survey
from sojourn.errors import counted, spaced
from sojourn.report import html
from sojourn.report.files import Files
from sojourn.report.sections import Section, Table
from sojourn.results.atomic import writing
from sojourn.results.sizes import ms_brief, ms_text
from sojourn.study.units import percent

_PUBLISHED = (
    ("all hosts, at most 100 ms", False, "above_100ms", True, 0.80),
    ("all hosts, above 500 ms", False, "above_500ms", False, 0.028),
    ("all hosts, above 1000 ms", False, "above_1000ms", False, 0.01),
    ("hosts near the server, at most 100 ms", True, "above_100ms", True, 0.95),
)
"""Shares that the study prints, over 430 million connections of a content network."""

_SHARES = ("mean_ms", "p50_ms", "p80_ms", "p95_ms", "p99_ms", *(f"above_{limit}ms" for limit in LIMITS_MS))


def shares_table(survey: Survey) -> pl.DataFrame:
    """Return one row per class of access and distance: connections, quantiles in ms, shares beyond limits."""
    rows = []
    for access in [ALL, *(name for name in survey.classes if name != ALL)]:
        for near in (False, True):
            found = survey.shares(access, near)
            rows.append({"access": access, "hosts": "near" if near else "all", **{"connections": 0}, **found})
    return pl.DataFrame(rows, infer_schema_length=None)


def write_page(survey: Survey, source: Sequence[str], command: str, out: Path) -> Path:
    """Write ``report.html``, ``figures/`` and the tables as CSV into a directory; return the page."""
    found = survey.shares()
    answer = [
        f"Of {counted(found['connections'], 'connection', spaced)} {percent(1 - found['above_100ms'])} "
        f"waited at most 100 ms in queues, {percent(found['above_500ms'], 2)} more than 500 ms and "
        f"{percent(found['above_1000ms'], 2)} more than a second; the median is "
        f"{ms_brief(found['p50_ms'])} ms."
    ]
    reasons = [f"{spaced(count)} with {reason}" for reason, count in survey.discarded.items() if count]
    with writing(out):
        files = Files(out / "figures")
        table = shares_table(survey)
        files.csv(table, "shares")
        parts = [
            _part(files, "queueing", figures.queueing(survey), survey.queueing),
            _part(files, "beyond", figures.beyond(survey), survey.queueing),
            Section("Shares and quantiles", None, _READ["shares"], data=_as_text(table)),
            Section("Beside the published shares", None, _READ["published"], data=_published(survey)),
            _part(files, "round-trips", figures.round_trips(survey), survey.averages),
            _part(files, "pairs", figures.smallest_against_largest(survey), survey.pairs),
        ]
        return html.write(
            out / "report.html",
            "capture/tcp_stats/page.html.jinja",
            made=files,
            answer=answer,
            facts=[
                ("Files", ", ".join(source)),
                ("Connections", f"{spaced(survey.rows)} read; left out: {', '.join(reasons) or 'none'}"),
                ("Near", f"hosts whose smallest round-trip time is at most {survey.near_ms:g} ms"),
                ("Command", command),
            ],
            parts=parts,
        )


_READ = {
    "queueing": "The density of the estimate over the logarithm of time; dotted lines: 100, 500 and 1000 ms. "
    "Estimates below 0.06 ms are not drawn.",
    "beyond": "The share of connections whose estimate is above the time below; both scales are logarithmic, "
    "so that where nobody waits longer there is no line.",
    "shares": "Near hosts have a small smallest round-trip time: distance cannot explain their delay.",
    "published": "The study's shares are of other users at another time: a measure of scale, not a target.",
    "round-trips": "Densities of the smallest, mean and largest time; queues are what lies between.",
    "pairs": "Colour counts connections; above the dotted diagonal the largest time exceeds the smallest.",
}


_TITLES = {
    "queueing": "Queueing delay by class of access",
    "beyond": "How many wait how long",
    "round-trips": "Round-trip times",
    "pairs": "Smallest against largest",
}


def _part(files: Files, slug: str, figure: Figure, counts: pl.DataFrame) -> Section:
    title, read = _TITLES[slug], _READ[slug]
    files.csv(counts, slug)
    return Section(title, files.picture(figure, slug, f"{title}. {read}"), read)


def _published(survey: Survey) -> Table:
    rows = []
    for says, near, key, below, published in _PUBLISHED:
        share = survey.shares(near=near).get(key)
        ours = None if share is None else 1 - share if below else share
        rows.append([says, percent(published), "–" if ours is None else percent(ours, 2)])
    return Table(["Share of connections", "published", "here"], rows)


def _as_text(table: pl.DataFrame) -> Table:
    heads = ["Access", "Hosts", "Connections", "Mean (ms)", "Median", "80 %", "95 %", "99 %"]
    heads += [f"> {limit} ms" for limit in LIMITS_MS]
    rows = []
    for row in table.iter_rows(named=True):
        cells = [row["access"], row["hosts"], spaced(row["connections"])]
        for name in _SHARES:
            number = row.get(name)
            cells.append(
                "–" if number is None else percent(number, 2) if name.startswith("above") else ms_text(number)
            )
        rows.append(cells)
    return Table(heads, rows, words=2)
