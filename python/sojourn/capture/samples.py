"""The file of samples: one row for each packet whose queueing delay is known, as CSV or Parquet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Full, Queue
from typing import Any, BinaryIO

from sojourn.capture.output import output
from sojourn.errors import SojournError

COLUMNS = ("frame", "time_s", "remote", "local", "protocol", "flow", "queue_delay_ms", "direction")
DIRECTIONS = ("from-remote", "to-remote")
"""Of the packet itself."""

Batch = Mapping[str, Any]

# Batches that wait to be written.
_AHEAD = 2
# Between two looks at whether the file is still being written, s.
_PATIENCE_S = 0.2


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
            with _parquet(file, uncertainty) as take:
                yield take, False


@contextmanager
def _parquet(file: BinaryIO, uncertainty: bool) -> Iterator[Callable[[Batch], None]]:
    """Write batches on a thread of its own, while the next are made."""
    from polars.io.plugins import register_io_source

    batches: Queue[Batch | None] = Queue(_AHEAD)
    failed: list[BaseException] = []
    stopped: list[bool] = []

    def rows(*_: object) -> Iterator[Any]:
        while (batch := batches.get()) is not None:
            yield _frame(batch, uncertainty)
        if stopped:
            raise InterruptedError("the samples are not wanted any more")

    def write() -> None:
        try:
            # Delays and times look random to a compressor: a slow one gains little.
            source = register_io_source(rows, schema=_frame(_NOTHING, uncertainty).schema, is_pure=True)
            source.sink_parquet(file, compression="lz4", maintain_order=True, engine="streaming")
        except BaseException as error:  # told to whoever waits, whatever it is
            failed.append(error)

    writer = threading.Thread(target=write, name="samples", daemon=True)

    def take(batch: Batch | None) -> None:
        while writer.is_alive():
            try:
                return batches.put(batch, timeout=_PATIENCE_S)
            except Full:
                continue
        if failed:
            raise failed[0]

    writer.start()
    try:
        yield take
    except BaseException:
        stopped.append(True)
        raise
    finally:
        try:
            take(None)
        finally:
            writer.join()
    if failed:
        raise failed[0]


_NOTHING: Batch = {
    **{name: [] for name in ("frame", "time_ns", "flow", "protocol", "toward", "queue_delay_ns")},
    **{"uncertainty_ns": [], "flows": [], "protocols": ["tcp", "utp", "quic"]},
}


def _frame(batch: Batch, uncertainty: bool) -> Any:
    """Return a batch as a table. Names are kept once, and not in each row."""
    import polars as pl

    flow = pl.Series(batch["flow"], dtype=pl.UInt32)
    names = [pl.Series([row[i] for row in batch["flows"]], dtype=pl.Categorical) for i in range(3)]
    protocol, toward = (pl.Series(batch[name], dtype=pl.UInt8) for name in ("protocol", "toward"))
    columns = {
        "frame": pl.Series(batch["frame"], dtype=pl.UInt64),
        "time_s": pl.Series(batch["time_ns"], dtype=pl.Int64) / 1e9,
        "remote": names[0].gather(flow),
        "local": names[1].gather(flow),
        "protocol": protocol.cat.to(pl.Enum(batch["protocols"])),
        "flow": names[2].gather(flow),
        "queue_delay_ms": (pl.Series(batch["queue_delay_ns"], dtype=pl.Float64) / 1e6).round(6),
        "direction": toward.cat.to(pl.Enum(DIRECTIONS)),
    }
    if uncertainty:
        columns["uncertainty_ms"] = (pl.Series(batch["uncertainty_ns"], dtype=pl.Float64) / 1e6).round(6)
    return pl.DataFrame(columns)
