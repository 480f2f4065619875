"""A page of figures and tables that are not those of a study: what a table or a capture shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.errors import StoreError
from sojourn.report import html
from sojourn.report.sections import Picture, Table


@dataclass(frozen=True)
class Part:
    """One figure, one table, or both, with a sentence on how to read them and one on what to mind."""

    title: str
    read: str = ""
    picture: Picture | None = None
    data: Table | None = None
    note: str = ""


@dataclass(frozen=True)
class Sheet:
    """All that stands on the page."""

    title: str
    lead: str
    answer: Sequence[str]
    facts: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    limits: Sequence[str] = field(default=())


def write_sheet(sheet: Sheet, target: Path) -> Path:
    """Write ``report.html`` into a directory, at once or not at all; return the page.

    Raises
    ------
    StoreError
        The directory cannot be written.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        return html.write(target / "report.html", "report/sheet.html.jinja", sheet=sheet)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from None
