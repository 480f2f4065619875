"""Figures and tables of a page: as files beside it, and inside it, so that it can be mailed."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from sojourn.report.figures.style import FORMATS, for_page, save
from sojourn.report.html import data_link

MOST_BYTES = 6_000_000
"""Bytes of tables inside one page; what goes beyond is only beside it. Mail takes 10 MB nearly everywhere."""

_BROAD_IN = 6.6


@dataclass(frozen=True)
class Picture:
    """A figure in the page: its SVG, its files' common name, and what a screen reader says."""

    slug: str
    svg: Markup
    says: str
    least_px: int
    broad: bool = False
    """Whether it needs the width of the page."""


class Files:
    """Where the figures of a report go; every file is written once, under the slug of its figure.

    Attributes
    ----------
    directory
        The folder beside the page.
    data : dict of str to str
        Tables by slug as links that need no file, at most `MOST_BYTES` together.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data: dict[str, str] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def picture(self, figure: Figure, slug: str, says: str) -> Picture:
        """Write a figure in every format."""
        svg = save(figure, self.directory / slug)
        width = figure.get_figwidth()
        least = min(width * 96 * 0.72, 620)
        return Picture(slug, Markup(for_page(svg, says)), says, round(least), width > _BROAD_IN)

    def csv(self, frame: pl.DataFrame, slug: str) -> None:
        """Write the table of a figure."""
        text = frame.write_csv().encode()
        (self.directory / f"{slug}.csv").write_bytes(text)
        link = data_link(text, "text/csv")
        if len(link) + sum(map(len, self.data.values())) <= MOST_BYTES:
            self.data[slug] = link

    def beside(self, slug: str) -> list[tuple[str, str]]:
        """Return format and address, from the page, of the files of a figure."""
        kinds = [*FORMATS, "csv"]
        return [
            (kind.upper(), f"{self.directory.name}/{slug}.{kind}")
            for kind in kinds
            if (self.directory / f"{slug}.{kind}").is_file()
        ]
