"""Measured and simulated, side by side: the table that a study names, and files of tools that measure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sojourn.errors import SojournError
from sojourn.report.facts import study_folders
from sojourn.report.figures.values import value
from sojourn.report.files import Files, Picture
from sojourn.report.measured import picture
from sojourn.report.measured.cells import DURATION, Cell, cells_of, nearest
from sojourn.report.measured.measurement import Measurement
from sojourn.report.measured.read import read
from sojourn.report.measured.table import Measured
from sojourn.report.measured.table import read as read_table
from sojourn.report.sections import Table
from sojourn.results import Results
from sojourn.results.beds import is_real
from sojourn.results.sizes import ms_brief, ms_text
from sojourn.study.units import bit_rate

__all__ = ["Beside", "Measurement", "beside", "read"]

_MOST_COLUMNS = 8
"""More cells than this stand in rows of their own."""

_FAR = 1.5
"""Measured and simulated means that differ by more than this factor are of different paths or loads."""

_REAL = "“Simulated” stands here for what was run between real programs, on the testbed."

Rows = list[tuple[str, str, list[str]]]


@dataclass(frozen=True)
class Beside:
    """One measurement beside the study's cells."""

    title: str
    read: str
    table: Table | None = None
    picture: Picture | None = None
    good: str = ""
    caption: str = ""
    beside: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def beside(found: Results, measurements: Sequence[Measurement], files: Files) -> list[Beside]:
    """Return what the page shows of the study's own table, and of each measurement."""
    name = found.document.get("measured")
    if not name and not measurements:
        return []
    cells = cells_of(found)
    parts = [_of_table(name, found, cells)] if name else []
    parts += [_of_file(each, place, cells, files) for place, each in enumerate(measurements, 1)]
    if any(map(is_real, found)):
        return [replace(part, notes=[*part.notes, _REAL]) for part in parts]
    return parts


def _of_table(name: str, found: Results, cells: Sequence[Cell]) -> Beside:
    title = "The captures beside the study"
    axes = list(cells[0].labels)
    try:
        about = read_table(name, [Path(folder) for folder in study_folders(found)], axes)
    except SojournError as error:
        return Beside(title, f"What was measured cannot be shown: {error}.")
    rows: Rows = []
    left: list[str] = []
    for row in about.rows:
        head, show = _shown(row.path)
        ours = [cell.number(row.path, found) for cell in cells]
        if all(number is None for number in ours):
            left.append(row.path)
        rows.append((head, show(row.number), [show(number) for number in ours]))
    notes = list(dict.fromkeys(row.how for row in about.rows if row.how))
    if left:
        notes.append(f"This study has no number for {', '.join(left)}.")
    return Beside(
        title, _says(about, cells), _table(rows, [_named(cell, about) for cell in cells]), notes=notes
    )


def _says(about: Measured, cells: Sequence[Cell]) -> str:
    several = " (means over replications)" if any(len(cell.runs) > 1 for cell in cells) else ""
    said = f"What {about.name} says was measured, and what was simulated in each cell{several}."
    if not about.cell:
        return said
    there = any(_stands(cell, about) for cell in cells)
    at = ", ".join(f"{axis} = {label}" for axis, label in about.cell.items())
    if there:
        return (
            f"{said} The measurement stands beside the cell with {at}; the others show what it would change."
        )
    return f"{said} It was measured at {at}, which is no cell of this study."


def _stands(cell: Cell, about: Measured) -> bool:
    return bool(about.cell) and all(cell.labels.get(axis) == label for axis, label in about.cell.items())


def _named(cell: Cell, about: Measured) -> str:
    label = ", ".join(cell.labels.values()) or "simulated"
    return f"{label} (as measured)" if _stands(cell, about) else label


def _shown(path: str):
    if path.startswith(DURATION):
        share = path.removeprefix(f"{DURATION}.p")
        return f"Connections last, {share}th percentile (s)", lambda number: _text(number)
    about = value(path)
    return about.title, about.text


def _of_file(measured: Measurement, place: int, cells: Sequence[Cell], files: Files) -> Beside:
    numbers = [(measured.mean(link), [cell.throughput_mbps(link) for cell in cells]) for link in picture.WAYS]
    heads = [f"throughput, {name} (Mbit/s)" for name in picture.WAYS.values()]
    trips = [cell.round_trip() for cell in cells]
    if rtt := measured.rtt_ms:
        theirs = {"mean": rtt.mean, "p50": rtt.quantile(0.5), "p95": rtt.quantile(0.95)}
        words = {"mean": "mean", "p50": "median", "p95": "95th percentile"}
        heads += [f"round trip, {words[key]} (ms)" for key in theirs]
        numbers += [(number, [trip[key] for trip in trips]) for key, number in theirs.items()]
    # By mean throughput and mean round trip alone: what is sent again hangs on how long a run is.
    # Nor by what was sent, if nobody told what arrived: the simulation's is what arrived.
    unknown = [link == measured.sent and not measured.arrived for link in picture.WAYS]
    compared = {
        at: [
            (None, None) if sent and ours[at] and theirs else (ours[at], theirs)
            for (theirs, ours), sent in zip(numbers[:3], [*unknown, False], strict=False)
        ]
        for at in range(len(cells))
    }
    for link, name in picture.WAYS.items():
        if (again := measured.again_per_s.get(link)) is not None:
            heads.append(f"segments sent again a second, {name}")
            numbers.append((again, [cell.again_per_s(link) for cell in cells]))
    stands = nearest(cells, compared)
    rows = [
        (head, _text(theirs), [_text(number) for number in ours])
        for head, (theirs, ours) in zip(heads, numbers, strict=True)
        if theirs is not None
    ]
    named = [
        (", ".join(cell.labels.values()) or "simulated")
        + (" (drawn)" if cell is stands and len(cells) > 1 else "")
        for cell in cells
    ]
    drawn = picture.lines(measured, stands)
    slug = f"measured-{place}"
    files.csv(picture.table(drawn), slug)
    says = f"{measured.name} beside {stands.where}, over time"
    made = files.picture(picture.picture(drawn, f"{measured.name} beside {stands.where}"), slug, says)
    why = _why(cells, compared[cells.index(stands)])
    return Beside(
        f"{measured.name}: {measured.tool}",
        f"It stands beside {stands.where}: {why} Time counts from the beginning of the "
        f"{'load' if measured.idle else 'measurement'}, and from the end of the warm-up.",
        _table(rows, named),
        made,
        caption=_caption(measured, stands),
    )


def _why(cells: Sequence[Cell], pairs: Sequence[tuple[float | None, float | None]]) -> str:
    """Say why a cell stands beside a measurement, and whether it is anything like it.

    Pairs are of throughput down and up, and of the round trip where it was measured.
    """
    means = {"mean throughput": pairs[:2], "mean round trip": pairs[2:]}
    compared = {name: [pair for pair in of if all(pair)] for name, of in means.items()}
    by = " and ".join(name for name, both in compared.items() if both)
    both = [pair for pairs in compared.values() for pair in pairs]
    apart = "".join(map(_apart, picture.WAYS.values(), pairs))
    if not both:
        what = "the one cell" if len(cells) == 1 else "the first cell"
        return f"{what}; nothing that was measured can be compared with a number of this study.{apart}"
    worst = max(max(ours / theirs, theirs / ours) for ours, theirs in both)
    far = ""
    if worst > _FAR:
        far = f" Yet they differ by up to a factor of {ms_brief(worst)}: another path or load."
    if len(cells) == 1:
        return f"the one cell.{far}{apart}"
    return f"of {len(cells)} cells the nearest in {by}.{far}{apart}"


def _apart(way: str, pair: tuple[float | None, float | None]) -> str:
    """Say what has no ratio: a direction in which one of the two carried nothing."""
    ours, theirs = pair
    if theirs and ours is None:
        return f" It has no background transfers on the {way}, where {_rate(theirs)} were measured."
    if theirs and not ours:
        return f" Its background transfers carry nothing on the {way}, where {_rate(theirs)} were measured."
    if ours and theirs is not None and not theirs:
        return f" Nothing came through on the {way} as measured, where {_rate(ours)} are simulated."
    return ""


def _rate(mbps: float) -> str:
    return bit_rate(mbps * 1e6, 3)


def _caption(measured: Measurement, cell: Cell) -> str:
    said = [
        "Lines of the simulation are what left each link, headers with it, in the first replication; numbers "
        "of throughput in the table are payload.",
    ]
    if measured.sent:
        way = picture.WAYS[measured.sent]
        said.append(
            f"The measured line of the {way} is what was sent, the number what was received."
            if measured.arrived
            else f"What is measured of the {way} is what was sent; how much of it arrived, nobody told."
        )
    if measured.rtt_ms:
        trip = (
            "the path's and the mean waits in both queues, in bins of time"
            if cell.round_trip_ms()
            else "not known: a path of several queues, or nothing was kept over time"
        )
        said.append(f"The measured round trip is {measured.rtt_of}; the simulated one is {trip}.")
    if measured.idle:
        goes = "is" if measured.idle.startswith("1 of ") else "are"
        said.append(f"{measured.idle} round trips {goes} left out: no stream ran then.")
    return " ".join(said)


def _table(rows: Rows, cells: list[str]) -> Table:
    if len(cells) <= _MOST_COLUMNS:
        return Table(["", "measured", *cells], [[head, theirs, *ours] for head, theirs, ours in rows])
    numbers = [[theirs, *ours] for _, theirs, ours in rows]
    turned = zip(["measured", *cells], zip(*numbers, strict=True), strict=True)
    return Table(["", *(head for head, _, _ in rows)], [[name, *row] for name, row in turned])


def _text(number: float | None) -> str:
    return "–" if number is None else ms_text(number)
