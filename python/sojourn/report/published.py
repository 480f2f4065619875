"""Published tables: read, matched to the cells of a figure, and compared.

A row of a table belongs to a cell when both say the same in words and numbers:

- words of the row's key columns (``upload``, ``short-few``, ``user talks``) are found among the cell's axis
  labels, the figure's value path (``links.up`` is the uplink), or the name of the table itself;
- words of the cell's labels are found in the row or the name of the table, so that ``short-few-download``
  never takes a row of an upload table;
- numbers with a unit agree: ``64pkt`` with ``buffer_packets`` 64, ``35ms`` with ``target_ms`` 35, ``2BDP``
  with ``2xBDP`` and with the region ``2-20xBDP``.

``published-where = {column = "text"}`` on a figure settles a column by hand.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.errors import SojournError
from sojourn.report.figures.gather import Plot

_PATH_WORDS = {
    "links.up": ("uplink",),
    "links.down": ("downlink",),
    "voice.talks": ("user", "talks"),
    "voice.listens": ("user", "listens"),
}
_SAME = {"nobg": "none", "droptail": "fifo", "ared": "red", "packets": "pkt", "packet": "pkt", "pkts": "pkt"}
_UNIT_OF_COLUMN = ("pkt", "bdp", "ms", "s", "kbps", "mbps")
_ASPECTS = ("link", "direction", "metric")
_NEUTRAL = frozenset({"fifo"})
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)x?([a-z/%]*)")
_REGION = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)x?([a-z]+)")
_EMPTY = {"x": pl.String, "y": pl.String, "ours": pl.Float64, "published": pl.Float64}


@dataclass(frozen=True)
class Published:
    """A published table.

    `keys` are the columns that say which cell a row is, `column` the one that is compared.
    """

    name: str
    frame: pl.DataFrame
    keys: tuple[str, ...]
    column: str
    shows: str
    citation: str
    short: str


@dataclass(frozen=True)
class Comparison:
    """A figure's cells beside a published table.

    `frame` has the columns ``panel``, ``x``, ``y``, ``ours``, ``published``, ``difference`` (ours less
    published) and ``ratio`` (ours over published), one row per cell; `unused` counts rows of the table
    that fit the figure's value but none of its cells.
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


def load(name: str, folders: Iterable[Path] = (), column: str | None = None) -> Published:
    """Read a published table.

    Parameters
    ----------
    name
        As a study file gives it: ``published/NAME.csv``.
    folders
        Where to look first, such as the folder of the study file.
    column
        The column to compare, in place of the table's own.
    """
    file = find(name, folders)
    try:
        frame = pl.read_csv(file, infer_schema_length=None, null_values=[""])
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise SojournError(f"{name} is no table: {str(error).splitlines()[0]}") from None
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    about, source = _about(file)
    chosen = column or about.get("value") or (numeric[-1] if numeric else "")
    if chosen not in numeric:
        raise SojournError(
            f"{name} has no column of numbers {chosen!r} to compare with; "
            f"its columns of numbers are {', '.join(numeric) or 'none'}"
        )
    left = frame.columns[: frame.columns.index(chosen)]
    keys = about.get("keys") or [name for name in left if name != "note"]
    return Published(
        file.stem,
        frame,
        tuple(keys),
        chosen,
        about.get("shows", f"table {file.stem}"),
        source.get("citation", f"table {file.name}"),
        source.get("short", file.stem),
    )


def beside(plot: Plot, folders: Iterable[Path] = ()) -> Comparison:
    """Put the published table that a figure names beside the figure's cells."""
    spec = plot.spec
    settled = {axis for axis, labels in spec.only.items() if len(labels) == 1 and not _words(labels[0])[1]}
    cells = [
        {"panel": row["panel"], "x": row["x"], "y": row["y"], "ours": row["value"]}
        | {
            "point": {
                axis: label
                for axis, label in plot.points[row["panel"], row["y"], row["x"]].items()
                if axis not in settled
            }
        }
        for row in plot.frame.iter_rows(named=True)
    ]
    table = load(spec.published or "", folders, spec.published_column)
    return compare(table, spec.value, cells, spec.published_where)


def compare(
    table: Published,
    path: str,
    cells: Sequence[Mapping[str, Any]],
    where: Mapping[str, str] | None = None,
) -> Comparison:
    """Put a published table beside the cells of a figure.

    Parameters
    ----------
    table
        The published table.
    path
        The figure's value, such as ``links.up.occupancy_delay_ms``.
    cells
        One mapping per cell: ``panel``, ``x``, ``y``, ``ours`` and ``point``, its axis labels.
    where
        Columns settled by hand.
    """
    where = {column: str(wanted) for column, wanted in (where or {}).items()}
    for column in where:
        if column not in table.frame.columns:
            raise SojournError(
                f"`published-where` names {column!r}, which {table.name} does not have; "
                f"its columns are {', '.join(table.frame.columns)}"
            )
    rows = [
        row
        for row in table.frame.iter_rows(named=True)
        if all(_same_text(row[column], wanted) for column, wanted in where.items())
    ]
    if where and not rows:
        stated = ", ".join(f"{column} = {wanted}" for column, wanted in where.items())
        raise SojournError(f"{table.name} has no row with {stated}")
    keys = [key for key in table.keys if key not in where]
    named = frozenset(_words(table.name)[0]) | {word for text in where.values() for word in _words(text)[0]}
    about = frozenset(_path_words(path))
    factor = _factor(table.column, path, rows)
    prepared = [_Row.read(row, keys, rows) for row in rows]
    used: set[int] = set()
    compared = []
    for cell in cells:
        found = [i for i, row in enumerate(prepared) if row.fits(cell["point"], named, about)]
        if len(found) > 1:
            raise SojournError(_ambiguous(table, cell["point"], keys, [rows[i] for i in found]))
        number = rows[found[0]][table.column] if found else None
        used.update(found)
        compared.append(
            {key: cell.get(key, "") for key in ("panel", "x", "y")}
            | {"ours": cell["ours"], "published": None if number is None else number * factor(rows[found[0]])}
        )
    frame = pl.DataFrame(compared, schema={"panel": pl.String, **_EMPTY}).with_columns(
        difference=pl.col("ours") - pl.col("published"),
        ratio=pl.when(pl.col("published") != 0).then(pl.col("ours") / pl.col("published")),
    )
    possible = {
        i
        for i, row in enumerate(prepared)
        if row.concerns(named, about) and rows[i][table.column] is not None
    }
    return Comparison(table, frame, len(possible - used))


@dataclass(frozen=True)
class _Row:
    """A row of a table, as words and numbers to be looked for in a cell."""

    texts: tuple[tuple[str, tuple[str, ...], tuple[tuple[float, float, str], ...]], ...]
    numbers: tuple[tuple[str, float], ...]
    all_words: frozenset[str]
    aspect: frozenset[str]

    @classmethod
    def read(cls, row: Mapping[str, Any], keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> _Row:
        texts, numbers = [], []
        everything: set[str] = set()
        aspect: set[str] = set()
        for key in keys:
            item = row[key]
            if item is None or item == "any":
                continue
            if not isinstance(item, str):
                numbers.append((_unit(key), float(item)))
                continue
            words, ranges = _words(item)
            everything |= set(words)
            if key in _ASPECTS:
                aspect |= set(words)
            leads = {
                text.split()[0].lower() for other in rows if (text := other[key]) and isinstance(text, str)
            }
            several = {other[key] for other in rows if other[key] is not None}
            if " " in item and len(leads) == len(several):
                words, ranges = words[:1], ()  # 'HD 8 Mb/s' may be called HD
            texts.append((key, tuple(words), tuple(ranges)))
        return cls(tuple(texts), tuple(numbers), frozenset(everything), frozenset(aspect))

    def fits(self, point: Mapping[str, Any], named: frozenset[str], about: frozenset[str]) -> bool:
        """Say whether row and cell are the same."""
        labels = [_words(str(label)) for label in point.values()]
        words = {word for found, _ in labels for word in found}
        numbers = [(low, unit) for _, found in labels for low, _, unit in found]
        if not words - _NEUTRAL <= self.all_words | named:
            return False
        if any(word not in words | named | about for _, found, _ in self.texts for word in found):
            return False
        for unit, wanted in self.numbers:
            have = {number for number, other in numbers if other == unit}
            if have and wanted not in have:
                return False
        return all(
            any(low <= have <= high for have, other in numbers if other == unit)
            for _, _, ranges in self.texts
            for low, high, unit in ranges
        )

    def concerns(self, named: frozenset[str], about: frozenset[str]) -> bool:
        """Say whether the row is about the figure's value at all: the same link, direction or metric."""
        return self.aspect <= about | named


def _words(text: str) -> tuple[list[str], list[tuple[float, float, str]]]:
    """Split a label into words and numbers with units (as ranges)."""
    words: list[str] = []
    numbers: list[tuple[float, float, str]] = []
    for part in re.split(r"[\s_,;:=(){}\"']+", text.strip().lower()):
        region = _REGION.fullmatch(part)
        if region:
            numbers.append((float(region[1]), float(region[2]), _SAME.get(region[3], region[3])))
            continue
        for piece in re.split(r"-", part):
            number = _NUMBER.fullmatch(piece)
            if number:
                unit = _SAME.get(number[2], number[2])
                numbers.append((float(number[1]), float(number[1]), unit))
            elif piece and piece != "pct":
                words.append(_SAME.get(piece, piece))
    return words, numbers


def _path_words(path: str) -> Iterator[str]:
    for prefix, words in _PATH_WORDS.items():
        if path.startswith(prefix + "."):
            yield from words
    for part in path.split("."):
        yield part
        yield from _words(part)[0]


def _unit(column: str) -> str:
    """Return the unit in a column's name, as ``pkt`` of ``buffer_packets``; nothing for a plain number."""
    words = [_SAME.get(word, word) for word in column.lower().split("_")]
    for unit in ("bdp", "pkt"):
        if unit in words:
            return unit
    return words[-1] if words[-1] in _UNIT_OF_COLUMN else ""


def _factor(column: str, path: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return what brings a row's number to the unit of ours."""

    def of(row: Mapping[str, Any]) -> float:
        metric = row.get("metric") if column == "value" else column
        theirs, mine = str(metric or column), path
        if re.search(r"(^|_)pct($|_)|_sd$", theirs) and not re.search(r"_pct\b", mine):
            return 0.01
        if re.search(r"_s\b|seconds$", theirs) and re.search(r"_ms\b", mine):
            return 1000.0
        if theirs.endswith("_ms") and re.search(r"_s\b", mine):
            return 0.001
        return 1.0

    return of


def _same_text(item: Any, wanted: str) -> bool:
    if isinstance(item, str):
        return item.strip().lower() == wanted.strip().lower()
    try:
        return item is not None and float(item) == float(wanted)
    except ValueError:
        return False


def _ambiguous(
    table: Published, point: Mapping[str, Any], keys: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> str:
    cell = ", ".join(f"{axis} = {label}" for axis, label in point.items())
    apart = [key for key in keys if len({row[key] for row in rows}) > 1]
    hint = f'published-where = {{ {apart[0]} = "{rows[0][apart[0]]}" }}' if apart else "one row for each cell"
    return f"{len(rows)} rows of {table.name} fit the cell {cell}; settle it in the figure with {hint}"


def find(name: str, folders: Iterable[Path] = ()) -> Path:
    """Return the file of a published table: in a folder given, or where they ship."""
    short = Path(name).name
    shipped = Path(str(files("sojourn")))
    places = [Path(name)] if Path(name).is_absolute() else []
    places += [folder / name for folder in folders]
    places += [shipped / "published" / short]
    places += [parent / "studies" / "published" / short for parent in shipped.parents]
    for place in places:
        if place.is_file():
            return place
    raise SojournError(f"the published table {name} is not there; expected it beside the study file")


def _about(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `citations.toml` beside a table says of the table and of its study."""
    try:
        notes = tomllib.loads((file.parent / "citations.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError):
        return {}, {}
    about = notes.get("tables", {}).get(file.stem, {})
    return about, notes.get("studies", {}).get(about.get("study", ""), {})
