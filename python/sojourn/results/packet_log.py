"""The packet log as a table: a row for every packet that arrived at a link, written while the engine runs.

==================  ==================================================================================
``link``            the link that it arrived at: ``down`` or ``up``, of several hops ``home.up``; all
                    access links of a group of flows are one, ``NAME.access``
``packet``          number of the packet at its link, from 0 in order of arrival
``flow``            number of its flow
``kind``            ``data``, ``ack`` and ``control`` are TCP; ``datagram``, ``voice`` and ``video`` are UDP
``size_bytes``      bytes at IP
``arrive_ns``       arrival at the queue
``depart_ns``       start of transmission; null if it was dropped, or still waits at the end
``drop_cause``      why it was dropped (``unknown`` between two captures); null if it was not
``backlog_pkts``    packets that waited when it arrived
``backlog_bytes``   bytes that waited
``seq``             sequence number
``journey``         number of the packet in the run, the same at every link that it crosses; absent where it
                    crosses one
==================  ==================================================================================

Rows of a link are in order of arrival; those of several links may alternate in batches.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from queue import Empty, Full, Queue
from typing import Any, BinaryIO, TypeVar

import polars as pl
from polars.io.plugins import register_io_source

from sojourn import _core
from sojourn.study.links import WAYS

ROWS_TOGETHER = 1 << 18
"""Rows in a group of the file: a reader needs memory for a few of them."""

_WAITING_BATCHES = 4
_LOOK_S = 0.2
"""Time between two looks whether the work was stopped."""

Made = TypeVar("Made")


@cache
def schema(links: tuple[str, ...] = WAYS) -> dict[str, pl.DataType]:
    """Return the columns of the packet log and their types, for a scenario with these links."""
    journey = {"journey": pl.UInt32()} if len(links) > len(WAYS) else {}
    return {
        "link": pl.Enum(links),
        "packet": pl.UInt32(),
        "flow": pl.UInt32(),
        "kind": pl.Enum(_core.packet_kinds()),
        "size_bytes": pl.UInt32(),
        "arrive_ns": pl.UInt64(),
        "depart_ns": pl.Int64(),
        "drop_cause": pl.Enum(_core.drop_causes()),
        "backlog_pkts": pl.UInt32(),
        "backlog_bytes": pl.UInt32(),
        "seq": pl.UInt64(),
    } | journey


def table(columns: Mapping[str, Any], links: tuple[str, ...] = WAYS) -> pl.DataFrame:
    """Return the engine's columns as a data frame, with names for codes and nulls where nothing was."""
    types = schema(links)
    frame = pl.DataFrame({name: columns[name] for name in types})
    departed = pl.when(pl.col("depart_ns") >= 0).then(pl.col("depart_ns")).alias("depart_ns")
    return frame.with_columns(
        departed, *(_named(frame[name], types[name]) for name in ("link", "kind", "drop_cause"))
    )


def _named(codes: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return the names of codes; those without one, as 255 (not dropped), become null."""
    names = [*kind.categories, None]
    return pl.Series(codes.name, names, dtype=kind).gather(codes.clip(0, len(names) - 1))


def run_into(text: str, file: BinaryIO, clips: Mapping[int, Any] | None = None) -> dict[str, Any]:
    """Simulate a point and write its packet log meanwhile; return what the engine does, without the log.

    `clips` are the packets of the clips that video users are shown, by the place of the user.
    """
    links = tuple(_core.links(text))
    return write_while(lambda take: _core.run(text, True, None, take, clips), file, links)


def write_while(
    work: Callable[[Callable[[dict[str, Any]], None]], Made],
    file: BinaryIO,
    links: tuple[str, ...] = WAYS,
) -> Made:
    """Do work that makes a packet log in pieces, and write it as Parquet meanwhile, in bounded memory.

    Parameters
    ----------
    work
        Is given a function that takes columns of the log, and calls it as often as it likes, with none in
        them to ask whether to go on: it raises where not.
    file
        Where the log goes.
    links
        Names of the links, in the order of their codes.

    Returns
    -------
    Made
        What the work returns.
    """
    batches: Queue[dict[str, Any] | None] = Queue(_WAITING_BATCHES)
    abandoned, written = threading.Event(), threading.Event()
    made: list[Made] = []
    failed: list[BaseException] = []
    unwritten: list[BaseException] = []

    def take(columns: dict[str, Any] | None) -> None:
        while not abandoned.is_set():
            if columns is not None and not len(columns["packet"]):
                return
            try:
                return batches.put(columns, timeout=_LOOK_S)
            except Full:
                continue
        raise InterruptedError("the packet log can no longer be written")

    def run() -> None:
        try:
            made.append(work(take))
        except BaseException as error:  # told to whoever waits, whatever it is
            failed.append(error)
        finally:
            with contextlib.suppress(InterruptedError):
                take(None)

    def rows(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        nothing = pl.DataFrame(schema=schema(links))
        while not abandoned.is_set():
            try:
                columns = batches.get(timeout=_LOOK_S)
            except Empty:
                # Polars keeps Ctrl-C to itself, and looks for it when it is given something.
                yield nothing
                continue
            if columns is None:
                return
            yield table(columns, links)

    def write() -> None:
        try:
            register_io_source(rows, schema=schema(links), is_pure=True).sink_parquet(
                file,
                compression="zstd",
                row_group_size=ROWS_TOGETHER,
                maintain_order=True,
                engine="streaming",
            )
        except BaseException as error:
            unwritten.append(error)
        finally:
            written.set()

    # Neither is done in this thread, which alone is told of signals: it must be free to look at them. An
    # interrupted join would take a thread for ended that is not (Python 3.11), so it waits for an event.
    threads = [threading.Thread(target=each, name=each.__name__, daemon=True) for each in (run, write)]
    try:
        for thread in threads:
            thread.start()
        written.wait()
    finally:
        abandoned.set()
        for thread in threads:
            thread.join()
    if unwritten or failed:
        raise (unwritten or failed)[0]
    return made[0]
