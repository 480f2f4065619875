"""Importer of M-Lab NDT results: JSON, an object per line or per file, or a list; also compressed with gzip.

Read are the ``TCPInfo`` snapshots (times in µs) of the server's measurements: ``Download`` and ``Upload`` →
``ServerMeasurements`` of ndt7, also below ``raw`` as in the public tables, and ``Snapshots`` or
``raw.Snapshots`` of the tcp-info data type. The download and the upload of a test are two connections. The
smoothed times of the snapshots are summed up as in the study: smallest, mean, largest, number.
"""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.errors import SojournError

_SCHEMA = {
    "min_rtt_ms": pl.Float64,
    "avg_rtt_ms": pl.Float64,
    "max_rtt_ms": pl.Float64,
    "rtt_samples": pl.Int64,
    "client": pl.String,
}


def read(files: Sequence[Path]) -> pl.LazyFrame:
    """Return one row per connection; results are read one at a time.

    Raises
    ------
    SojournError
        A file is no JSON, or none of its objects has snapshots.
    """
    rows: dict[str, list[Any]] = {name: [] for name in _SCHEMA}
    for file in files:
        for found in _objects(file):
            for row in _connections(found):
                for name, value in zip(_SCHEMA, row, strict=True):
                    rows[name].append(value)
    if not rows["client"]:
        raise SojournError(
            f"{files[0]}: no object has TCPInfo snapshots (Download.ServerMeasurements[].TCPInfo.RTT, in µs)"
        )
    return pl.DataFrame(rows, schema=_SCHEMA).lazy()


def _objects(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open("rb") as plain:
        compressed = plain.read(2) == b"\x1f\x8b"
    with gzip.open(file) if compressed else file.open("rb") as opened:
        for number, line in enumerate(opened, start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                if number > 1:
                    raise SojournError(f"{file}, line {number}: expected one JSON object per line") from None
                yield from _whole(file, line + opened.read())
                return
            yield from _dicts(found)


def _whole(file: Path, text: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SojournError(f"{file}: expected JSON, found something else ({error})") from None
    yield from _dicts(found)


def _dicts(found: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in (found if isinstance(found, list) else [found]) if isinstance(item, dict))


def _connections(found: Mapping[str, Any]) -> Iterator[tuple[float, float, float, int, str]]:
    raw = found.get("raw") if isinstance(found.get("raw"), dict) else found
    client = str(raw.get("ClientIP") or found.get("ClientIP") or "")
    for holder in (raw.get("Download"), raw.get("Upload"), raw):
        if not isinstance(holder, dict):
            continue
        snapshots = holder.get("ServerMeasurements") or holder.get("Snapshots") or []
        infos = [shot.get("TCPInfo") for shot in snapshots if isinstance(shot, dict)]
        times = [
            info["RTT"] / 1e3
            for info in infos
            if isinstance(info, dict) and isinstance(info.get("RTT"), int | float) and info["RTT"] > 0
        ]
        if times:
            yield min(times), sum(times) / len(times), max(times), len(times), client
