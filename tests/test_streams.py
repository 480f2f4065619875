"""What an end writes by its own clock (the words of an answer, a film in pieces) and its replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Command
from sojourn import _core
from sojourn.study import Study

MS = 1_000_000
STUDY = """name = "lab"
duration = "8s"
[path]
rtt   = "{rtt}ms"
down  = {{ rate = "8Mbit" }}
up    = {{ rate = "1Mbit" }}
queue = {{ kind = "fifo", limit = "60pkt" }}
[[flows]]
source = {{ kind = "recorded", file = "{file}" }}
transport = "cubic"
stack = "linux"
direction = "down"
"""


def turn(accepted: bool, size: int, wait_ms: int, streamed: bool = False) -> dict[str, Any]:
    """A turn as a workload has it."""
    wait = {"wait_ns": wait_ms * MS, "heard": 0, "writes": 1}
    return {"accepted": accepted, "bytes": size, **wait, "streamed": streamed}


ASKED = [turn(False, 800, 0), turn(True, 300, 100)]
STREAMS = {
    "words": [*ASKED, *(turn(True, 90 + 7 * k, 15 + k % 9, True) for k in range(200))],
    "pieces of a film": [*ASKED, *(turn(True, 20_000 + 900 * k, 250, True) for k in range(20))],
    "messages": [turn(False, 300, 0), *(turn(False, 400, 24, True) for _ in range(200))],
}


def recorded(file: Path, turns: list[dict[str, Any]], rtt_ms: int) -> None:
    """Write a workload of one connection."""
    row = {"opener": "10.0.0.1", "tcp": True, "client_opens": True, "concurrent": False,
           "start_ns": 0, "rtt_ns": rtt_ms * MS, "length_ns": 8000 * MS}  # fmt: skip
    pl.DataFrame([row]).with_columns(pl.Series([turns]).alias("turns")).write_parquet(file)


def arrivals(study: Path) -> tuple[np.ndarray, np.ndarray]:
    """When packets with data reach the queues of a run, in ms, and their payload."""
    packets = _core.run(Study.load(study).points[0].text, log=True)["packets"]
    data = packets["kind"] == _core.packet_kinds().index("data")
    return packets["arrive_ns"][data] / MS, packets["size_bytes"][data].astype(int) - 52


@pytest.mark.parametrize("rtt_ms", [20, 300])
def test_what_is_written_by_the_clock_waits_for_no_acknowledgement(tmp_path: Path, rtt_ms: int) -> None:
    recorded(
        tmp_path / "r.parquet", [turn(False, 100, 0), *(turn(False, 10, 20, True) for _ in range(9))], rtt_ms
    )
    (tmp_path / "lab.toml").write_text(STUDY.format(rtt=rtt_ms, file="r.parquet"))
    at, size = arrivals(tmp_path / "lab.toml")
    assert size.tolist() == [100, *[10] * 9]
    assert np.diff(at).round().tolist() == [20] * 9


@pytest.mark.parametrize("at", ["clients", "servers"])
@pytest.mark.parametrize("what", STREAMS)
def test_streams_come_back_from_their_own_capture(
    sojourn: Command, tmp_path: Path, what: str, at: str
) -> None:
    recorded(tmp_path / "r.parquet", STREAMS[what], 40)
    (tmp_path / "lab.toml").write_text(STUDY.format(rtt=40, file="r.parquet"))
    (tmp_path / "again.toml").write_text(STUDY.format(rtt=40, file="w.parquet"))
    sojourn("export", "lab.toml", "lab.pcapng", "--at", at)
    sojourn("workload", "lab.pcapng", "-o", "w.parquet")
    found = pl.read_parquet(tmp_path / "w.parquet")
    assert found.select("a_bytes", "b_bytes").row(0) == tuple(
        sum(each["bytes"] for each in STREAMS[what] if each["accepted"] is end) for end in (False, True)
    )
    turns = found["turns"][0].to_list()
    # Some follow each other before what was sent had been acknowledged, or within 10 ms at the far end.
    assert sum(each["streamed"] for each in turns) > 0.75 * len(STREAMS[what])
    (ran, sizes), (again, replayed) = arrivals(tmp_path / "lab.toml"), arrivals(tmp_path / "again.toml")
    assert replayed.sum() == sizes.sum()
    for share in (0.25, 0.5, 0.75, 1.0):
        came = [
            when[np.searchsorted(np.cumsum(of), share * of.sum())]
            for when, of in ((ran, sizes), (again, replayed))
        ]
        assert came[1] == pytest.approx(came[0], abs=60), share
    # Sent at once as one turn it would be as few packets as its bytes need.
    assert len(again) == pytest.approx(len(ran), rel=0.1)
