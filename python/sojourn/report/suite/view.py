"""What one page of a suite shows: a case on a link, or one setting of a case that is a case of its own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from sojourn.report.suite.rows import setting_of
from sojourn.results import Results
from sojourn.study.suites import Expanded


@dataclass(frozen=True)
class View:
    """A page.

    Attributes
    ----------
    expanded : Expanded
        The case on its link.
    table : DataFrame
        Its rows, see :data:`sojourn.report.suite.rows.SCHEMA`, ordered by setting, link, class, scheme.
    results : list of dict
        Its results.
    label : str
        The label that makes it a case of its own; empty for a whole section.
    """

    expanded: Expanded
    table: pl.DataFrame
    results: Sequence[Mapping[str, Any]]
    label: str = ""

    @property
    def name(self) -> str:
        """The case's name, and the label: ``6``, ``6-5ms``."""
        return "-".join(filter(None, (self.expanded.case.name, self.label)))

    @property
    def title(self) -> str:
        """What it is about."""
        case = self.expanded.case
        return f"{case.title}, {_word(case.each)} {self.label}" if self.label else case.title

    @property
    def page(self) -> str:
        """Its file, below the suite's folder."""
        return f"{self.expanded.folder}{'-' + self.label if self.label else ''}.html"

    @cached_property
    def settings(self) -> list[str]:
        """Its settings, in the order of the study."""
        return self.table["setting"].unique(maintain_order=True).to_list()

    @property
    def document(self) -> Mapping[str, Any]:
        """The scenario of one of its points."""
        points = self.expanded.study.points
        if not self.label:
            return points[0].document
        axis = self.expanded.case.each
        return next(point.document for point in points if str(point.labels[axis]) == self.label)


def views(expanded: Expanded, table: pl.DataFrame, results: Results) -> Iterator[View]:
    """Iterate over the pages of a case on a link: its section, and one for each setting that is a case."""
    found, each = list(results), expanded.case.each
    table = _ordered(expanded, table)
    yield View(expanded, table, found)
    if not each:
        return
    for label in dict.fromkeys(str(point.labels[each]) for point in expanded.study.points):
        own = [result for result in found if str(result["point"][each]) == label]
        settings = {setting_of(expanded, result["point"]) for result in own}
        yield View(expanded, table.filter(pl.col("setting").is_in(settings)), own, label)


def _ordered(expanded: Expanded, table: pl.DataFrame) -> pl.DataFrame:
    """Order rows so that what is to be compared stands together: the schemes of a class of a setting."""
    settings = dict.fromkeys(setting_of(expanded, point.labels) for point in expanded.study.points)
    order = {
        "setting": list(settings),
        "at": table["at"].unique(maintain_order=True).to_list(),
        "class": ["all", *expanded.case.classes],
        "scheme": [scheme.name for scheme in expanded.schemes],
    }
    places = [
        pl.col(column).replace_strict({name: i for i, name in enumerate(names)}, default=len(names))
        for column, names in order.items()
    ]
    return table.sort(*places, "replication", maintain_order=True) if table.height else table


def _word(axis: str) -> str:
    """Return what an axis is called in a title: ``rtt``."""
    return axis.rpartition(".")[2]
