"""What was measured of a study's path: the table that its key `measured` names.

A row for each quantity, as CSV or Parquet, beside the study file or the results:

=============  =====================================================================================
``value``      path of a number of results (``flows.goodput_bps``), or
               ``connections.duration_s.p50``; or an axis of the sweep
``measured``   the number; of an axis, the label of the cell that stands for what was measured
``how``        how it was measured, in words (may be missing)
=============  =====================================================================================
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import polars as pl

from sojourn.errors import SojournError
from sojourn.report.measured.cells import DURATION

_MOST_ROWS = 200


@dataclass(frozen=True)
class Row:
    """A quantity that was measured."""

    path: str
    number: float
    how: str


@dataclass(frozen=True)
class Measured:
    """The table, and the cell that stands for what was measured: labels by axis, none where it names none."""

    name: str
    rows: Sequence[Row]
    cell: Mapping[str, str]


def read(name: str, folders: Sequence[Path], axes: Sequence[str]) -> Measured:
    """Read the table that a study names.

    Raises
    ------
    SojournError
        One sentence: the file, what was found, what was expected.
    """
    places = [folder / name for folder in folders]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise SojournError(f"there is no {name} beside the study or its results")
    try:
        parquet = file.suffix == ".parquet"
        frame = pl.read_parquet(file) if parquet else pl.read_csv(file, infer_schema=False)
        columns = [frame[column].cast(pl.String).to_list() for column in ("value", "measured")]
    except (pl.exceptions.PolarsError, OSError):
        raise SojournError(
            f"{name} cannot be read; expected CSV or Parquet with the columns value and measured"
        ) from None
    if frame.height > _MOST_ROWS:
        raise SojournError(f"{name} has {frame.height} rows; expected at most {_MOST_ROWS}")
    how = frame["how"].cast(pl.String).to_list() if "how" in frame.columns else [None] * frame.height
    rows, cell = [], {}
    for path, text, words in zip(*columns, how, strict=True):
        if path in axes:
            cell[path] = text or ""
        else:
            rows.append(Row(_checked(path, name), _number(text, path, name), words or ""))
    return Measured(name, rows, cell)


def _checked(path: str | None, name: str) -> str:
    if not path or (path.startswith(DURATION) and not re.fullmatch(rf"{DURATION}\.p\d\d?", path)):
        raise SojournError(f"{name} has the value {path!r}; expected a number of results or {DURATION}.p50")
    return path


def _number(text: str | None, path: str, name: str) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise SojournError(f"{name} has {text!r} for {path}; expected a number")
    return number
