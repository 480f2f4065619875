"""Importer of ``ss -tinHO`` snapshots: one line per connection and snapshot, snapshots one after another.

A connection (its two addresses and ports) that is seen in several snapshots becomes one row: the smallest,
mean and largest of the smoothed round-trip times that the snapshots show, and their number. The kernel's own
``minrtt`` is not used: it is a raw sample, not a smoothed one. Connections without a round-trip time yet are
left out.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

_STATES = "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING|UNCONN"
_LINE = re.compile(rf"^\s*(?:{_STATES})\s+\d+\s+\d+\s+\S+\s+\S+".encode())


def looks_like(head: bytes) -> bool:
    """Tell if a file begins as a snapshot does."""
    first = next((line for line in head.splitlines() if line.strip()), b"")
    return bool(_LINE.match(first))


def read(files: Sequence[Path]) -> pl.LazyFrame:
    """Return one row per connection, with the columns of `COLUMNS` but for access and host."""
    lines = pl.scan_csv(
        files,
        has_header=False,
        new_columns=["line"],
        separator="\x01",
        quote_char=None,
        schema={"line": pl.String},
    )
    ends = pl.col("line").str.extract_groups(rf"^\s*(?:{_STATES})\s+\d+\s+\d+\s+(?<here>\S+)\s+(?<there>\S+)")
    rtt = pl.col("line").str.extract(r"\srtt:([0-9.]+)/[0-9.]+").cast(pl.Float64, strict=False)
    address = pl.col("there").str.replace(r":[^:]*$", "").str.strip_chars("[]").str.replace(r"^::ffff:", "")
    return (
        lines.select(ends.alias("ends"), rtt.alias("rtt_ms"))
        .unnest("ends")
        .filter(pl.col("there").is_not_null() & (pl.col("rtt_ms") > 0))
        .group_by("here", "there")
        .agg(
            pl.col("rtt_ms").min().alias("min_rtt_ms"),
            pl.col("rtt_ms").mean().alias("avg_rtt_ms"),
            pl.col("rtt_ms").max().alias("max_rtt_ms"),
            pl.len().alias("rtt_samples"),
        )
        .with_columns(address.alias("client"))
    )
