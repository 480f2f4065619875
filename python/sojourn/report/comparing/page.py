"""A comparison as a page that stands by itself, its figures and tables as files beside it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.errors import counted
from sojourn.report import html
from sojourn.report.comparing.cells import Comparison, Difference
from sojourn.report.comparing.sentences import clearest, settings, summary, table
from sojourn.report.figures.forest import forest
from sojourn.report.files import Files
from sojourn.report.sections import Section
from sojourn.results.atomic import writing
from sojourn.study.grouped import grouped

_MOST_FIGURES = 12
_MOST_CELLS = 40


def write_comparison(found: Comparison, command: str, out: Path) -> Path:
    """Write ``compare.html`` and ``figures/`` into a directory; return the page.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        files = Files(out / "figures")
        files.csv(differences_table(found), "differences")
        return html.write(
            out / "compare.html",
            "report/comparing/page.html.jinja",
            made=files,
            names=found.names,
            sentences=summary(found),
            clearest=clearest(found),
            sections=sections(found, files),
            same=same_values(found),
            settings=settings(found),
            not_compared=found.not_compared,
            cells=found.cells,
            command=command,
        )


def sections(found: Comparison, files: Files, prefix: str = "difference") -> list[Section]:
    """Draw every value that is not the same in all cells, those with most larger differences first."""
    by_path = grouped((one.value.path, one) for one in found.differences)
    by_path = {path: rows for path, rows in by_path.items() if any(one.difference for one in rows)}
    first, second = found.names
    made = []
    for path, rows in sorted(by_path.items(), key=lambda item: -sum(bool(one.larger) for one in item[1])):
        shown = rows[0].value
        read = _read(rows, first, second)
        picture = None
        if len(made) < _MOST_FIGURES and len(rows) <= _MOST_CELLS and any(one.interval for one in rows):
            marks = [(" · ".join(label for _, label in one.cell) or "all", *_scaled(one)) for one in rows]
            unit = f" ({shown.unit})" if shown.unit else ""
            drawn = forest(marks, shown.name, f"{second} − {first}{unit}")
            slug = f"{prefix}-{path.replace('.', '-').replace('_', '-')}"
            picture = files.picture(drawn, slug, f"{shown.name}: {second} less {first}, by cell. {read}")
        made.append(Section(shown.name, picture, read, data=table(found, path)))
    return made


def same_values(found: Comparison) -> list[str]:
    """Return the names of the values that are the same number in all cells."""
    names = {one.value.path: one.value.name for one in found.differences}
    moved = {one.value.path for one in found.differences if one.difference}
    return [name for path, name in names.items() if path not in moved]


def _scaled(one: Difference) -> tuple[float, tuple[float, float] | None]:
    by = one.value.factor
    return one.difference * by, one.interval and (one.interval[0] * by, one.interval[1] * by)


def _read(rows: Sequence[Difference], first: str, second: str) -> str:
    judged = [one for one in rows if one.larger is not None]
    if not judged:
        return "None of these has an interval, so that nothing can be said of them."
    larger = [one for one in judged if one.larger]
    way = {True: "{second} is better", False: "{first} is better"}
    more = {True: "{second} has more", False: "{second} has less"}
    ways = Counter(more[one.difference > 0] if one.better is None else way[one.better] for one in larger)
    says = [
        f"in {counted(times, 'cell')} {words.format(first=first, second=second)}"
        for words, times in ways.most_common()
    ]
    are = "is larger than its interval" if len(larger) == 1 else "are larger than their intervals"
    known = f"{len(larger)} of {len(judged)} differences {are}"
    if len(judged) == 1:
        known = f"The one difference is {'' if larger else 'not '}larger than its interval"
    return f"{known}: {', '.join(says)}." if says else f"{known}."


def differences_table(found: Comparison) -> pl.DataFrame:
    """Return one row for each value and cell, in the units of results."""
    return pl.DataFrame([as_row(one) for one in found.differences], infer_schema_length=None)


def as_row(one: Difference) -> dict[str, Any]:
    """Return a difference under plain names."""
    low, high = one.interval or (None, None)
    return {
        "value": one.value.path,
        **dict(one.cell),
        "first_mean": sum(one.first) / len(one.first),
        "first_n": len(one.first),
        "second_mean": sum(one.second) / len(one.second),
        "second_n": len(one.second),
        "difference": one.difference,
        "low": low,
        "high": high,
        "p": one.p,
        "larger": one.larger,
        "holm": one.holm,
    }
