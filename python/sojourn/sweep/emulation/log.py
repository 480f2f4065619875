"""The packet log of a run of the emulator: rows of fixed size, read as one array and written as a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from sojourn import _core
from sojourn.results.packet_log import ROWS_TOGETHER, write_while

_ROW = np.dtype(
    [
        ("arrive_ns", "u8"),
        ("depart_ns", "i8"),
        ("seq", "u8"),
        ("packet", "u4"),
        ("flow", "u4"),
        ("size_bytes", "u4"),
        ("backlog_pkts", "u4"),
        ("backlog_bytes", "u4"),
        ("journey", "u4"),
        ("link", "u1"),
        ("kind", "u1"),
        ("drop_cause", "u1"),
        ("nothing", "u1"),
    ]
)
"""As ``crates/sojourn-emu/src/record/rows.rs`` writes them."""


def write(rows: BinaryIO, file: BinaryIO, links: tuple[str, ...], carries: Sequence[str | None] = ()) -> int:
    """Write rows as Parquet, in bounded memory; return how many there are.

    Parameters
    ----------
    rows
        What the emulator wrote.
    file
        Where the table goes.
    links
        Names of the links, in the order of their codes.
    carries
        For each flow the kind of packet that its datagrams are, where that is known.
    """
    rows.seek(0)
    names = _core.packet_kinds()
    datagram = names.index("datagram")
    kinds = np.array([names.index(kind or "datagram") for kind in carries], dtype=np.uint8)

    def work(take: Callable[[Mapping[str, Any]], None]) -> int:
        count = 0
        while len(text := rows.read(_ROW.itemsize * ROWS_TOGETHER)):
            batch = np.frombuffer(text, _ROW)
            columns = {name: np.ascontiguousarray(batch[name]) for name in _ROW.names or ()}
            if len(kinds):
                is_datagram = columns["kind"] == datagram
                columns["kind"] = np.where(is_datagram, kinds[columns["flow"]], columns["kind"])
            take(columns)
            count += len(batch)
        return count

    return write_while(work, file, links)
