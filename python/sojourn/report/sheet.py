"""A page of figures and tables that are not those of a study: what a table or a capture shows."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from sojourn.errors import StoreError
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
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template("sheet.html.jinja").render(sheet=sheet)
    page = target / "report.html"
    temporary = target / f".report.html.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    try:
        target.mkdir(parents=True, exist_ok=True)
        temporary.write_text(html, encoding="utf-8")
        temporary.replace(page)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return page
