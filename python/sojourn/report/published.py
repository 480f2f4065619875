"""Published tables beside ours: what their columns mean is declared for each table, in ``citations.toml``.

>>> table = load("published/imc14-fig4-access-queueing-delay.csv")
>>> entry = table.entries("links.up.occupancy_delay_ms")[0]
>>> dict(entry.labels)
{'workload': ('short-many-download',), 'path.down.queue.limit': ('8pkt',)}
>>> entry.number          # in the unit of our results
17.0
>>> entry.stands_for({"workload": "short-many-download", "path.down.queue.limit": "8pkt"})
True

``citations.toml`` beside the tables has an entry for each: ``axes`` (axis of a study → its label, made of
the row's columns), ``labels`` (a label so made → the study's own, or all that it covers) and ``values`` (path
of our number → column, unit, rows). A table without an entry is read by its header: a column is the axis of
the same name, ``buffer_packets`` is a buffer in packets, and the last column of numbers is compared, in the
unit that its name ends in.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.errors import SojournError
from sojourn.report.figures.plot import Plot
from sojourn.study import library

_COLUMN = re.compile(r"\{([^{}]+)\}")
_UNITS = {"pct": "%", "ms": "ms", "s": "s", "seconds": "s", "kbps": "kb/s", "mbps": "Mb/s", "bps": "b/s"}
"""End of a name, of a column or of our own numbers → unit."""
_FACTORS = {
    ("%", ""): 0.01,
    ("s", "ms"): 1000.0,
    ("ms", "s"): 0.001,
    ("kb/s", "b/s"): 1e3,
    ("Mb/s", "b/s"): 1e6,
    ("Mb/s", "kb/s"): 1e3,
}
_CELL = {"panel": pl.String, "x": pl.String, "y": pl.String, "ours": pl.Float64, "published": pl.Float64}


@dataclass(frozen=True)
class Quantity:
    """What a table gives numbers of: the column and the rows that hold them, their unit, the path of ours."""

    column: str
    path: str = ""
    unit: str = ""
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A published number in the unit of our results, and for each axis the labels that it stands for."""

    labels: Mapping[str, tuple[str, ...]]
    number: float
    row: Mapping[str, Any]

    def stands_for(self, point: Mapping[str, str]) -> bool:
        """Say whether no axis of a point has another label than the entry's."""
        return all(point[axis] in labels for axis, labels in self.labels.items() if axis in point)


@dataclass(frozen=True)
class Published:
    """A published table, and what its columns mean."""

    name: str
    frame: pl.DataFrame
    shows: str
    citation: str
    short: str
    axes: Mapping[str, str]
    labels: Mapping[str, str | Sequence[str]]
    quantities: tuple[Quantity, ...]

    def entries(
        self, path: str, column: str | None = None, where: Mapping[str, str] | None = None
    ) -> list[Entry]:
        """Return the numbers that the table has of one quantity.

        Parameters
        ----------
        path
            Ours, such as ``links.up.occupancy_delay_ms``.
        column
            The column to compare, in place of the one declared for the path.
        where
            Rows to use: for each column its text.

        Raises
        ------
        SojournError
            No such column or rows, or numbers in a unit that ours cannot be brought to.
        """
        quantity = self._quantity(path, column)
        rows = list(self.frame.iter_rows(named=True))
        for name, wanted in {**quantity.where, **(where or {})}.items():
            if name not in self.frame.columns:
                raise SojournError(
                    f"`published-where` names {name!r}, which {self.name} does not have; "
                    f"its columns are {', '.join(self.frame.columns)}"
                )
            rows = [row for row in rows if _same_text(row[name], str(wanted))]
            if not rows:
                raise SojournError(f"{self.name} has no row with {name} = {wanted}")
        factor = factor_of(quantity.unit, path)
        return [
            Entry(self._labels(row), number * factor, row)
            for row in rows
            if (number := row[quantity.column]) is not None
        ]

    def _quantity(self, path: str, column: str | None) -> Quantity:
        known = [each for each in self.quantities if each.path == path and column in (None, each.column)]
        if known:
            return known[0]
        column = column or self.quantities[0].column
        numeric = [name for name, kind in self.frame.schema.items() if kind.is_numeric()]
        if column not in numeric:
            raise SojournError(
                f"{self.name} has no column of numbers {column!r} to compare with; "
                f"its columns of numbers are {', '.join(numeric) or 'none'}"
            )
        declared = [each for each in self.quantities if each.column == column]
        unit = declared[0].unit if declared else unit_of(column)
        if (ours := unit_of(path)) and not unit and any(each.path for each in declared):
            raise SojournError(
                f"{column} of {self.name}, which has no unit, cannot be set beside {path}, which is in {ours}"
            )
        return Quantity(column, path, unit)

    def _labels(self, row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        found = {}
        for axis, template in self.axes.items():
            if all(row[column] is not None for column in _COLUMN.findall(template)):
                text = _COLUMN.sub(lambda at: str(row[at[1]]), template)
                own = self.labels.get(text, text)
                found[axis] = (own,) if isinstance(own, str) else tuple(own)
        return found


@dataclass(frozen=True)
class Comparison:
    """A figure's cells beside a published table.

    `frame` has the columns ``panel``, ``x``, ``y``, ``ours``, ``published``, ``difference`` (ours less
    published) and ``ratio`` (ours over published), one row per cell; `unused` counts the numbers of the table
    that are the figure's quantity but of none of its cells.
    """

    table: Published
    frame: pl.DataFrame
    unused: int

    @property
    def both(self) -> pl.DataFrame:
        """The cells for which there is a number of ours and a published one."""
        return self.frame.filter(pl.col("difference").is_not_null())

    @property
    def median_difference(self) -> float | None:
        """Median absolute difference, in stored units."""
        return self.both["difference"].abs().median() if self.both.height else None

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's rank correlation; None when fewer than three cells or all alike."""
        both = self.both.select(pl.col("ours").rank(), pl.col("published").rank())
        if both.height < 3 or both["ours"].n_unique() < 2 or both["published"].n_unique() < 2:
            return None
        return both.select(pl.corr("ours", "published")).item()


def load(name: str, folders: Iterable[Path] = ()) -> Published:
    """Read a published table and what ``citations.toml`` beside it says of it.

    Parameters
    ----------
    name
        As a study file gives it: ``published/NAME.csv``.
    folders
        Where to look first, such as the folder of the study file.

    Raises
    ------
    SojournError
        The file is not there or is no table, or its entry names a column that it does not have.
    """
    file = library.table(name, folders)
    try:
        frame = pl.read_csv(file, infer_schema_length=None, null_values=[""])
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise SojournError(f"{name} is no table: {str(error).splitlines()[0]}") from None
    notes = _citations(file.with_name("citations.toml"))
    about = notes.get("tables", {}).get(file.stem) or _by_header(frame)
    source = notes.get("studies", {}).get(about.get("study", ""), {})
    table = Published(
        file.stem,
        frame,
        about.get("shows", f"table {file.stem}"),
        source.get("citation", f"table {file.name}"),
        source.get("short", file.stem),
        about["axes"],
        about.get("labels", {}),
        tuple(Quantity(**each) for each in about["values"]),
    )
    named = {column for template in table.axes.values() for column in _COLUMN.findall(template)}
    named |= {column for each in table.quantities for column in (each.column, *each.where)}
    if absent := sorted(named - set(frame.columns)):
        raise SojournError(f"citations.toml names {absent[0]!r}, which {name} does not have as a column")
    return table


def cited(tag: str, folders: Iterable[Path] = ()) -> str:
    """Return the citation of a publication; its tag where ``citations.toml`` does not have it."""
    try:
        notes = _citations(library.table("published/citations.toml", folders))
    except SojournError:
        return tag
    return notes.get("studies", {}).get(tag, {}).get("citation", tag)


def _by_header(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the entry of a table that has none."""
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    compared = numeric[-1] if numeric else frame.columns[-1]
    axes = {name: f"{{{name}}}" for name in frame.columns[: frame.columns.index(compared)]}
    if axes.pop("buffer_packets", None):
        axes["path.down.queue.limit"] = "{buffer_packets}pkt"
    return {"axes": axes, "values": [{"column": compared, "unit": unit_of(compared)}]}


def _citations(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SojournError(f"{file} cannot be read: {error}") from None


def beside(plot: Plot, folders: Iterable[Path] = ()) -> Comparison:
    """Put the published table that a figure names beside the figure's cells."""
    spec = plot.spec
    cells = [
        {"panel": row["panel"], "x": row["x"], "y": row["y"], "ours": row["value"]}
        | {"point": plot.points[row["panel"], row["y"], row["x"]]}
        for row in plot.frame.iter_rows(named=True)
    ]
    table = load(spec.published or "", folders)
    return compare(table, spec.value, cells, spec.published_where, spec.published_column)


def compare(
    table: Published,
    path: str,
    cells: Sequence[Mapping[str, Any]],
    where: Mapping[str, str] | None = None,
    column: str | None = None,
) -> Comparison:
    """Put a published table beside cells of ours.

    Parameters
    ----------
    table
        The published table.
    path
        The figure's value, such as ``links.up.occupancy_delay_ms``.
    cells
        One mapping per cell: ``ours``, ``point`` (its axis labels), and perhaps ``panel``, ``x`` and ``y``.
    where, column
        As for :meth:`Published.entries`.

    Raises
    ------
    SojournError
        As :meth:`Published.entries`; or cells differ in an axis that the table does not know, or several of
        its numbers fit one cell.
    """
    entries = table.entries(path, column, where)
    for axis in {axis for cell in cells for axis in cell["point"] if axis not in table.axes}:
        if len({cell["point"].get(axis) for cell in cells}) > 1:
            raise SojournError(f"{table.name} says nothing of {axis}; choose one of its labels with `only`")
    used: set[int] = set()
    compared = []
    for cell in cells:
        found = [place for place, entry in enumerate(entries) if entry.stands_for(cell["point"])]
        if len(found) > 1:
            raise SojournError(_ambiguous(table, cell["point"], [entries[place].row for place in found]))
        used.update(found)
        compared.append(
            {key: cell.get(key, "") for key in ("panel", "x", "y")}
            | {"ours": cell["ours"], "published": entries[found[0]].number if found else None}
        )
    frame = pl.DataFrame(compared, schema=_CELL).with_columns(
        difference=pl.col("ours") - pl.col("published"),
        ratio=pl.when(pl.col("published") != 0).then(pl.col("ours") / pl.col("published")),
    )
    return Comparison(table, frame, len(entries) - len(used))


def unit_of(name: str) -> str:
    """Return the unit in the name of a column or in the path of our number: ``ms`` in ``rtt_ms.mean``."""
    *before, last = name.lower().split(".")
    if before and last in _UNITS:  # As in `links.up.limit.ms`.
        return _UNITS[last]
    for part in (last, *reversed(before)):
        if (end := part.rsplit("_", 1)[-1]) != part and end in _UNITS:
            return _UNITS[end]
    return ""


def factor_of(unit: str, path: str) -> float:
    """Return what brings a number in a unit to that of our number at a path; shares of ours have no unit."""
    ours = unit_of(path)
    if not unit or unit == ours:
        return 1.0
    # Units that are not known here, as packets, are taken for those of a number without one.
    factor = _FACTORS.get((unit, ours), 1.0 if not ours and unit not in _UNITS.values() else None)
    if factor is None:
        ours = f"is in {ours}" if ours else "has no unit"
        raise SojournError(f"numbers in {unit} cannot be set beside {path}, which {ours}")
    return factor


def _same_text(item: Any, wanted: str) -> bool:
    if isinstance(item, str):
        return item.strip().lower() == wanted.strip().lower()
    try:
        return item is not None and float(item) == float(wanted)
    except ValueError:
        return False


def _ambiguous(table: Published, point: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    cell = ", ".join(f"{axis} = {label}" for axis, label in point.items())
    compared = {each.column for each in table.quantities}
    apart = [key for key in rows[0] if key not in compared and len({row[key] for row in rows}) > 1]
    hint = f'published-where = {{ {apart[0]} = "{rows[0][apart[0]]}" }}' if apart else "one row for each cell"
    return f"{len(rows)} rows of {table.name} fit the cell {cell}; settle it in the figure with {hint}"
