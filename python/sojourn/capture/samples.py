"""The file of samples: one row for each packet whose queueing delay is known, as CSV or Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sojourn.capture.output import output
from sojourn.errors import SojournError

COLUMNS = ("frame", "time_s", "remote", "local", "protocol", "flow", "queue_delay_ms", "direction")

Batch = Mapping[str, Any]


@contextmanager
def sample_file(path: Path, *, uncertainty: bool = False) -> Iterator[tuple[Callable[[Any], Any], bool]]:
    """Give a function that appends, and whether it takes bytes of CSV and not batches of columns.

    The file appears when all went well, and not otherwise.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise SojournError(
            f"{path}: samples are written as .csv or .parquet, not as {path.suffix or 'no suffix'}"
        )
    with output(path) as file:
        if path.suffix == ".csv":
            header = [*COLUMNS, "uncertainty_ms"] if uncertainty else COLUMNS
            file.write((",".join(header) + "\n").encode())
            yield file.write, True
        else:
            with tempfile.TemporaryDirectory(prefix=".sojourn-", dir=path.parent) as folder:
                yield _parts(Path(folder), uncertainty), False
                _join(Path(folder), file, uncertainty)


def _parts(folder: Path, uncertainty: bool) -> Callable[[Batch], None]:
    count = 0

    def write(batch: Batch) -> None:
        nonlocal count
        _frame(batch, uncertainty).write_ipc(folder / f"{count:08}.arrow")
        count += 1

    return write


def _join(folder: Path, file: BinaryIO, uncertainty: bool) -> None:
    """Make one Parquet file of the parts, without holding them all."""
    import polars as pl

    parts = sorted(folder.glob("*.arrow"))
    if parts:
        pl.scan_ipc(parts).sink_parquet(file)
    else:
        nothing = {name: [] for name in ("frame", "time_ns", "flow", "protocol", "toward", "queue_delay_ns")}
        empty = {**nothing, "uncertainty_ns": [], "flows": [], "protocols": ["tcp"]}
        _frame(empty, uncertainty).write_parquet(file)


def _frame(batch: Batch, uncertainty: bool) -> Any:
    """Return a batch as a table."""
    import polars as pl

    flow = pl.Series(batch["flow"], dtype=pl.UInt32)
    names = [pl.Series([row[i] for row in batch["flows"]], dtype=pl.String) for i in range(3)]
    ns = pl.Series(batch["time_ns"], dtype=pl.Int64)
    protocols = pl.Series(batch["protocols"], dtype=pl.String)
    toward = pl.Series(batch["toward"], dtype=pl.Boolean)
    columns = {
        "frame": pl.Series(batch["frame"], dtype=pl.UInt64),
        "time_s": ns / 1e9,
        "remote": names[0].gather(flow),
        "local": names[1].gather(flow),
        "protocol": protocols.gather(pl.Series(batch["protocol"], dtype=pl.UInt32)),
        "flow": names[2].gather(flow),
        "queue_delay_ms": (pl.Series(batch["queue_delay_ns"], dtype=pl.Float64) / 1e6).round(6),
        # Of the packet itself: from the remote host, or to it.
        "direction": pl.Series(["from-remote", "to-remote"], dtype=pl.String).gather(toward.cast(pl.UInt32)),
    }
    if uncertainty:
        columns["uncertainty_ms"] = (pl.Series(batch["uncertainty_ns"], dtype=pl.Float64) / 1e6).round(6)
    return pl.DataFrame(columns)
