"""The parts of a report that hold a figure: drawn, written to files, set beside what was published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.errors import SojournError, counted
from sojourn.report.figures import KINDS, Plot, Spec, draw, gather, series, series_table
from sojourn.report.figures.against_published import against_published
from sojourn.report.figures.timeline import most_troubled, timeline, timeline_table
from sojourn.report.figures.values import axis_name, value
from sojourn.report.files import Files, Picture
from sojourn.report.html import slug_of
from sojourn.report.published import Comparison, beside
from sojourn.report.sentences import how_to_read, what_is_good
from sojourn.results.path import look_up
from sojourn.study.links import called

_OF_A_MEAN = 1.2
"""Of a link whose rate stays no bin has such a utilisation: a packet is counted whole in one."""


@dataclass(frozen=True)
class Table:
    """A table of text."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """Number of columns, from the left, that hold words."""


@dataclass(frozen=True)
class Section:
    """A figure of the report with all that stands beside it."""

    title: str
    picture: Picture | None
    read: str
    good: str = ""
    caption: str = ""
    data: Table | None = None
    beside: list[Picture] = field(default_factory=list)
    verdict: str = ""
    citation: str = ""
    compared: Table | None = None
    note: str = ""

    @property
    def broad(self) -> bool:
        """Whether it stands alone across the page."""
        return bool(self.beside) or (self.picture is not None and self.picture.broad)


def gather_all(
    entries: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    axes: Mapping[str, list[str]],
    unfinished: bool,
) -> list[Plot | Section]:
    """Gather the tables of all figures; in the place of one that cannot be drawn stands why."""
    plots: list[Plot | Section] = []
    for entry in entries:
        try:
            plots.append(gather(Spec.read(entry), results, axes))
        except SojournError as error:
            title = entry.get("title") or value(entry.get("value", "")).title or "A figure"
            yet = "is not here yet" if unfinished else "cannot be drawn"
            plots.append(Section(title, None, "", note=f"This figure {yet}: {error}."))
    return plots


def section(plot: Plot, number: int, files: Files, folders: Sequence[Path]) -> Section:
    """Draw a figure, write its files, and set what was published beside it."""
    slug = f"{number:02d}-{plot.spec.kind}-{slug_of(plot.value.path)}"
    picture = files.picture(draw(plot), slug, f"{plot.title}. {how_to_read(plot)}")
    kind = KINDS[plot.spec.kind]
    files.csv(kind.csv(plot), slug)
    made = Section(
        plot.title,
        picture,
        how_to_read(plot),
        what_is_good(plot),
        plot.spec.caption or "",
        _as_text(plot) if kind.listed else None,
    )
    if not plot.spec.published:
        return made
    if not kind.compared:
        return replace(made, note=f"A {plot.spec.kind} figure has no single number per cell to compare.")
    try:
        found = beside(plot, folders)
    except SojournError as error:
        return replace(made, note=f"What was published could not be set beside this figure: {error}.")
    if not found.both.height:
        return replace(
            made, citation=_source(found), note=f"No cell of this study has a row in {found.table.name}.csv."
        )
    files.csv(found.frame, f"{slug}-published")
    return replace(
        made,
        beside=_published_pictures(plot, found, slug, files),
        verdict=_verdict(plot, found),
        citation=_source(found),
        compared=_comparison_table(plot, found),
    )


def inside(
    result: Mapping[str, Any], link: str, where: str, files: Files, *, captured: bool = False
) -> Section | None:
    """Draw the time series of one link at one point, if the result has them."""
    name, since = called(link), "the end of the warm-up"
    if captured:
        name, since = "queue", "the first packet"
    try:
        frame = series_table(result, link)
    except SojournError:
        return None
    if frame.is_empty():
        return None
    slug = f"inside-{slug_of(link)}"
    bins = look_up(result, f"links.{link}.series.bin_s")
    used = max((share or 0.0 for share in look_up(result, f"links.{link}.series.utilisation")), default=0.0)
    above = used > _OF_A_MEAN
    changes = (
        " Utilisation is of the mean rate, and a packet counts in the bin in which it has left."
        if above
        else ""
    )
    drawn = series(frame, f"{name[:1].upper()}{name[1:]}, {where}")
    picture = files.picture(drawn, slug, f"{name} over time")
    files.csv(frame, slug)
    return Section(
        f"A look inside: {where}",
        picture,
        f"Queueing delay, utilisation and drops of the {name} over time, in bins of {bins:g} s; time counts "
        f"from {since}.{changes}",
        "Good is a delay that keeps returning to zero; one that never does is a standing queue, which adds "
        "waiting and no throughput.",
    )


def viewing(result: Mapping[str, Any], where: str, files: Files) -> Section | None:
    """Draw the viewing of the client that stalled longest at one point, if there are viewers."""
    place = most_troubled(result)
    if place is None:
        return None
    client = result["adaptive"]["clients"][place]
    try:
        frame = timeline_table(client)
    except SojournError:
        return None
    says = f"viewer {place + 1} over time"
    end_s = look_up(result, "engine.simulated_s")
    drawn = timeline(client, f"Viewer {place + 1}, {where}", end_s)
    picture = files.picture(drawn, "viewing", says)
    files.csv(frame, "viewing")
    above, below = " and of those that it played,", ""
    if client.get("live", {}).get("course") is not None:
        above, below = "", " and how far it is behind"
    return Section(
        f"One viewing: viewer {place + 1}, {where}",
        picture,
        f"{_which_viewer(result, client)} Above, the rate of the segments that it asked for{above} and the "
        f"throughput of each; below, the seconds of video in its buffer{below}."
        f"{' Stalls are shaded.' if client['stalls'] else ''}",
        "Good is a rate that stays, near the throughput, over a buffer that never empties; a rate above the "
        "throughput empties it.",
    )


def _which_viewer(result: Mapping[str, Any], client: Mapping[str, Any]) -> str:
    """Say why this viewer is the one that is shown."""
    alone = len(result["adaptive"]["clients"]) == 1
    count = len(client["stalls"])
    if not count:
        return (
            "The one viewer of this run; it never stalled."
            if alone
            else "No viewer of this run stalled; this one had the lowest rate."
        )
    stalled = sum(stop - start for start, stop in client["stalls"])
    times = f"{counted(count, 'stall')}, {stalled:.3g} s in all"
    who = "The one viewer of this run" if alone else "Of the viewers of this run the one that stalled longest"
    return f"{who}: {times}."


def _published_pictures(plot: Plot, found: Comparison, slug: str, files: Files) -> list[Picture]:
    drawn = KINDS[plot.spec.kind].beside(plot, found.frame, found.table.short)
    pictures = [
        files.picture(figure, f"{slug}-{name}", f"{title}, {plot.title}")
        for name, (title, figure) in drawn.items()
    ]
    figure = against_published(found.frame, plot.value)
    return [*pictures, files.picture(figure, f"{slug}-against", f"Ours against published, {plot.title}")]


def _verdict(plot: Plot, found: Comparison) -> str:
    cells = f"{found.both.height} of {found.frame.height} cells have a published number"
    rank = found.rank_correlation
    ranks = "too few or too alike to rank" if rank is None else f"rank correlation {rank:.2f}"
    middle = plot.value.with_unit(found.median_difference)
    higher = found.both.filter(pl.col("difference") > 0).height
    lower = found.both.filter(pl.col("difference") < 0).height
    unused = f" {found.unused} published cells have no counterpart in this study." if found.unused else ""
    return (
        f"{cells}: {ranks}, median absolute difference {middle}; "
        f"ours is higher in {higher} and lower in {lower}.{unused}"
    )


def _comparison_table(plot: Plot, found: Comparison) -> Table:
    shown = plot.value
    panels = len(plot.panels) > 1
    heads = [axis_name(plot.y) if plot.y else "", axis_name(plot.x) if plot.x else ""]
    heads = ["Panel", *heads] if panels else heads
    rows = [
        [row["panel"]] * panels
        + [row["y"], row["x"]]
        + [shown.text(row["ours"]), shown.as_printed(row["published"])]
        + [shown.difference(row["difference"]) if row["difference"] is not None else "–"]
        + [f"{row['ratio']:.2f}" if row["ratio"] is not None else "–"]
        for row in found.frame.iter_rows(named=True)
    ]
    unit = f" ({shown.unit})" if shown.unit else ""
    heads += [f"Ours{unit}", f"Published{unit}", f"Difference{unit}", "Ratio"]
    return Table(heads, rows, 2 + panels)


def _as_text(plot: Plot) -> Table:
    """Return the numbers of a figure as text, with their intervals where there are any."""
    several = len(plot.panels) > 1
    rows = []
    for panel in plot.panels:
        cells = plot.rows(panel)
        for y in plot.y_labels:
            row = [panel] * several + [y]
            for x in plot.x_labels:
                cell = cells.get((y, x))
                words = plot.words(panel, y, x, cell["value"] if cell else None)
                if cell and cell["low"] is not None:
                    mean, low, high = plot.value.alike(cell["value"], cell["low"], cell["high"])
                    words = f"{'≥ ' * words.startswith('≥')}{mean} ({low} to {high})"
                row.append(words)
            rows.append(row)
    heads = ["Panel"] * several + [axis_name(plot.y) if plot.y else "", *plot.x_labels]
    return Table(heads, rows, 1 + several)


def _source(found: Comparison) -> str:
    return f"{found.table.citation} ({found.table.shows})"


def scalar_paths(plots: Sequence[Plot]) -> list[str]:
    """Return the numbers of figures that the table of all points shows, too."""
    return list(dict.fromkeys(plot.value.path for plot in plots if KINDS[plot.spec.kind].compared))
