"""Classes of access: how a client is connected, from a column, a list of prefixes, or its name."""

import ipaddress
import socket
from bisect import bisect_left, bisect_right
from pathlib import Path

import numpy as np
import polars as pl

from sojourn.errors import SojournError

UNKNOWN = "unknown"

_NAMES = {
    # Words that providers put into the names of their customers' addresses.
    "adsl": r"(?i)[av]?dsl",
    "cable": r"(?i)cable|docsis|hfc|catv",
    "ftth": r"(?i)ftt[hbpx]|fib(?:er|re)|gpon",
}


def by_column() -> pl.Expr:
    """Return the table's own class, in lower case."""
    return pl.col("access").str.to_lowercase().str.strip_chars().fill_null(UNKNOWN)


def by_name() -> pl.Expr:
    """Return the class that the client's name tells of."""
    found = pl.lit(UNKNOWN)
    for access, words in reversed(_NAMES.items()):
        found = pl.when(pl.col("host").str.contains(words)).then(pl.lit(access)).otherwise(found)
    return found


class Prefixes:
    """A list of prefixes with classes; the longest prefix that holds an address decides.

    Parameters
    ----------
    file
        CSV with the columns ``prefix`` and ``access``.

    Raises
    ------
    SojournError
        The file is missing, has other columns, or a prefix that is none.
    """

    def __init__(self, file: str | Path) -> None:
        try:
            table = pl.read_csv(file, schema_overrides={"prefix": pl.String, "access": pl.String})
        except (OSError, pl.exceptions.PolarsError) as error:
            raise SojournError(f"{file} cannot be read as a list of prefixes: {error}") from None
        if not {"prefix", "access"} <= set(table.columns):
            raise SojournError(
                f"{file} needs the columns prefix and access; it has {', '.join(table.columns)}"
            )
        found = []
        for line, (prefix, access) in enumerate(table.select("prefix", "access").iter_rows(), start=2):
            try:
                found.append(
                    (ipaddress.ip_network(prefix.strip(), strict=False), (access or UNKNOWN).strip().lower())
                )
            except (ValueError, AttributeError):
                raise SojournError(
                    f"{file}, line {line}: {prefix} is no prefix; write 192.0.2.0/24"
                ) from None
        self.classes = sorted({UNKNOWN, *(access for _, access in found)})
        self._v4 = self._cut([entry for entry in found if entry[0].version == 4])
        self._v6 = self._cut([entry for entry in found if entry[0].version == 6])

    def _cut(self, found: list) -> tuple[np.ndarray, np.ndarray]:
        """Cut the address space (of IPv6 the upper half) where the class changes: starts, classes."""
        shift = 0 if not found or found[0][0].version == 4 else 64
        edges: list[int] = [0]
        classes: list[int] = [self.classes.index(UNKNOWN)]
        for network, access in sorted(
            found, key=lambda entry: (entry[0].prefixlen, int(entry[0].network_address))
        ):
            first = int(network.network_address) >> shift
            last = int(network.broadcast_address) >> shift
            low, high = bisect_left(edges, first), bisect_right(edges, last)
            after = classes[high - 1]
            edges[low:high] = [first, last + 1]
            classes[low:high] = [self.classes.index(access), after]
        return np.array(edges, dtype=object if shift else np.int64), np.array(classes, dtype=np.int16)

    def classify(self, clients: pl.Series) -> pl.Series:
        """Return the class of each address; of what is no address, ``unknown``."""
        parts = clients.str.split_exact(".", 3).struct.unnest()
        numbers = [parts[name].cast(pl.Int64, strict=False) for name in parts.columns]
        v4 = (numbers[0] * 2**24 + numbers[1] * 2**16 + numbers[2] * 2**8 + numbers[3]).to_numpy(
            allow_copy=True
        )
        unknown = self.classes.index(UNKNOWN)
        is_v4 = ~np.isnan(v4.astype(float))
        out = np.full(len(clients), unknown, dtype=np.int16)
        starts, classes = self._v4
        out[is_v4] = classes[np.searchsorted(starts, v4[is_v4].astype(np.int64), side="right") - 1]
        starts, classes = self._v6
        if len(starts) > 1:
            for place in np.flatnonzero(~is_v4):
                try:
                    upper = int.from_bytes(socket.inet_pton(socket.AF_INET6, clients[int(place)])[:8], "big")
                except (OSError, TypeError):
                    continue
                out[place] = classes[np.searchsorted(starts, upper, side="right") - 1]
        return pl.Series(clients.name, np.array(self.classes, dtype=object)[out], dtype=pl.String)

    def expression(self) -> pl.Expr:
        """Return the class by the client's address."""
        return pl.col("client").map_batches(self.classify, return_dtype=pl.String, is_elementwise=True)
