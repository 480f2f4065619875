"""Datagrams of RTP behind a queue: when they were sent, and which were lost, as their sender's side says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from conftest import Command

STUDY = """name = "rtp"
seed = 3
duration = "20s"
[path]
rtt = "40ms"
down = { rate = "3Mbit", queue = { kind = "fifo", limit = "20pkt" } }
up = { rate = "3Mbit", queue = { kind = "fifo", limit = "200pkt" } }
[[users]]
kind = "voice"
codec = "g711a"
[[flows]]
source = { kind = "on-off", rate = "2.6Mbit", size = "1000B", on = "300ms", off = "200ms" }
transport = "udp"
direction = "down"
count = 2
"""


def datagrams(sojourn: Command, at: str) -> tuple[pl.DataFrame, str]:
    """Return the flows of datagrams that a side captures, and what is said of them."""
    (sojourn.cwd / "rtp.toml").write_text(STUDY)
    sojourn("export", "rtp.toml", f"{at}.pcapng", "--at", at)
    said = sojourn("workload", f"{at}.pcapng", "-o", f"{at}.parquet").stderr
    return pl.read_parquet(sojourn.cwd / f"{at}.parquet").filter(~pl.col("tcp")), said


def times_ms(row: dict) -> np.ndarray:
    return (row["start_ns"] + np.cumsum([turn["wait_ns"] for turn in row["turns"]])) / 1e6


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_far_datagrams_have_their_times_of_sending_and_none_is_missing(sojourn: Command, at: str) -> None:
    near, _ = datagrams(sojourn, "servers" if at == "clients" else "clients")
    far, said = datagrams(sojourn, at)
    sender = "10.2." if at == "clients" else "10.1."
    flows = far.filter(pl.col("opener").str.starts_with(sender))
    assert flows.height == (3 if at == "clients" else 1)
    lost = 0
    for row in flows.iter_rows(named=True):
        same = [pl.col(key) == row[key] for key in ("opener", "opener_port", "acceptor_port")]
        [true] = near.filter(same).iter_rows(named=True)
        assert row["as_sent"] and true["a_missing_pkts"] == 0
        sent, told = times_ms(true), times_ms(row)
        assert len(sent) - 20 <= len(told) <= len(sent), "the last are on their way, or lost at the end"
        off = told - sent[: len(told)]
        assert np.percentile(np.abs(off - np.median(off)), 95) < 2
        lost += row["a_missing_pkts"]
    assert (lost > 200) == (at == "clients"), "the queue up loses none"
    assert (f"{lost} datagrams of RTP did not come" in said) == (at == "clients")
