"""The table of connections: Parquet or CSV with the columns below, or what an importer makes of other files.

Nothing is read before the survey runs, and nothing is ever held whole.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from sojourn.capture.output import printable
from sojourn.capture.tcp_stats import ndt, ss
from sojourn.errors import SojournError

COLUMNS = {
    "min_rtt_ms": "smallest smoothed round-trip time of the connection",
    "avg_rtt_ms": "its mean (optional)",
    "max_rtt_ms": "its largest",
    "rtt_samples": "number of round-trip samples behind them",
    "client": "address of the client (optional; for classes of access by prefix)",
    "host": "name of the client by reverse DNS (optional; for classes of access by name)",
    "access": "class of access: adsl, cable, ftth, … (optional)",
}
"""Columns of a table. Times may be in other units: ``min_rtt_s``, ``min_rtt_us``, ``min_rtt_ns``."""

_UNITS = {"ms": 1.0, "s": 1e3, "us": 1e-3, "ns": 1e-6}
_RTTS = ("min_rtt", "avg_rtt", "max_rtt")
_TEXT = ("client", "host", "access")
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78")
"""What files begin with that polars reads as CSV once it has taken them out of gzip, Zstandard or zlib."""


def open_table(paths: Sequence[str | Path], names: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """Return the connections of one or more files, under the names and in the units of `COLUMNS`.

    Parameters
    ----------
    paths
        Files of one kind: Parquet, CSV (also compressed), snapshots of ``ss -tinHO``, or NDT results as JSON.
    names
        Names of columns where they are others: ours to theirs.

    Raises
    ------
    SojournError
        A file is missing or no table, or a column is missing.
    """
    files = [Path(path) for path in paths]
    for file in files:
        if printable(file) != str(file):
            raise SojournError(f"{printable(file)}: a table's name has to be text in UTF-8; rename the file")
        if file.is_dir():
            raise SojournError(f"{file} is a directory; expected a table of connections (Parquet or CSV)")
        if not file.is_file():
            raise SojournError(f"{file}: there is no such file; give a table of connections (Parquet or CSV)")
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise SojournError(
            f"the tables are of several kinds ({', '.join(sorted(kinds))}); give one at a time"
        )
    read = {"parquet": pl.scan_parquet, "csv": _scan_csv, "ss": ss.read, "ndt": ndt.read}[kinds.pop()]
    try:
        frame = read(files)
        present = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SojournError(f"{files[0]} cannot be read as a table: {_first_line(error)}") from None
    return _select(frame, present, dict(names or {}), files[0])


def _kind(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            head = opened.read(4096)
    except OSError as error:
        raise SojournError(f"{file} cannot be read: {error.strerror or error}") from None
    if head[:4] == b"PAR1":
        return "parquet"
    suffixes = {suffix.lower() for suffix in file.suffixes}
    if head.lstrip()[:1] in (b"{", b"[") or suffixes & {".json", ".jsonl"}:
        return "ndt"
    if ss.looks_like(head):
        return "ss"
    if b"\0" in head and not head.startswith(_COMPRESSED):
        raise SojournError(
            f"{file} is no text and no Parquet; expected a table of connections (Parquet or CSV), "
            "snapshots of ss, or NDT results as JSON"
        )
    return "csv"


def _scan_csv(files: Sequence[Path]) -> pl.LazyFrame:
    return pl.scan_csv(files, infer_schema_length=1000)


def _select(
    frame: pl.LazyFrame, present: Mapping[str, pl.DataType], names: dict[str, str], file: Path
) -> pl.LazyFrame:
    for ours, theirs in names.items():
        if ours not in COLUMNS and ours.rpartition("_")[0] not in _RTTS:
            raise SojournError(f"{ours} is no column of this study; it knows {', '.join(COLUMNS)}")
        if theirs not in present:
            raise SojournError(f"{file} has no column {theirs}; it has {_shown(present)}")

    def column(name: str) -> str | None:
        found = names.get(name, name)
        return found if found in present else None

    chosen = []
    for rtt in _RTTS:
        units = [unit for unit in _UNITS if column(f"{rtt}_{unit}")]
        if units:
            taken = column(f"{rtt}_{units[0]}")
            chosen.append((_number(taken) * _UNITS[units[0]]).alias(f"{rtt}_ms"))
        elif rtt == "avg_rtt":
            chosen.append(pl.lit(None, pl.Float64).alias("avg_rtt_ms"))
        else:
            raise SojournError(
                f"{file} has no column {rtt}_ms (or _s, _us, _ns); it has {_shown(present)}; "
                f"name another with --column {rtt}_ms=NAME"
            )
    samples = column("rtt_samples")
    if samples is None:
        raise SojournError(
            f"{file} has no column rtt_samples; it has {_shown(present)}; name another with "
            "--column rtt_samples=NAME"
        )
    chosen.append(_number(samples).alias("rtt_samples"))
    chosen += [pl.col(found).cast(pl.String).alias(name) for name in _TEXT if (found := column(name))]
    return frame.select(chosen)


def _shown(names: Iterable[str]) -> str:
    """Return names of columns for an error: of a file that is no table they may be anything."""
    first = [
        "".join(letter if letter.isprintable() else "�" for letter in name[:40])
        for name in itertools.islice(names, 12)
    ]
    return ", ".join(first)


def _number(name: str | None) -> pl.Expr:
    return pl.col(name or "").cast(pl.Float64, strict=False)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
