"""The part of a run, or of a capture, that analyses look at."""

from dataclasses import dataclass

import polars as pl

from sojourn import _core


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
