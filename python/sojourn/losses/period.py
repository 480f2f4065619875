"""The part of a run, or of a capture, that analyses look at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from sojourn import _core
from sojourn.errors import SojournError

_SCALES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}


@dataclass(frozen=True)
class Period:
    """From `start_ns` up to, but without, `end_ns`."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns

    def arrivals(self, log: pl.LazyFrame) -> pl.LazyFrame:
        """Return the packets that arrived in it."""
        return log.filter(pl.col("arrive_ns") >= self.start_ns, pl.col("arrive_ns") < self.end_ns)


LOST = pl.col("drop_cause").is_not_null()
"""A packet that was dropped; one that still waits at the end was not."""

UDP = pl.col("kind").cast(pl.String).is_in(_core.udp_kinds())
"""A packet of UDP; all others are of TCP."""


def nanoseconds(text: str) -> int:
    """Read a time as study documents write it: ``150ms``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text)
    if not found or found[2] not in _SCALES:
        raise SojournError(
            f"{text!r} is not a time; expected a number with one of {', '.join(_SCALES)}, as 150ms"
        )
    return int(Decimal(found[1]) * _SCALES[found[2]])
