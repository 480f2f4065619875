"""Who does not send less at losses is told from a capture, and replayed by BBR."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sojourn import _core
from sojourn.capture.workload import _by_bbr
from sojourn.study import Study
from sojourn.study.inputs import recorded

PATH = """name = "mixed"
duration = "30s"
[path]
rtt = "50ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "50pkt" } }
up   = { rate = "2Mbit", queue = { kind = "fifo", limit = "64pkt" } }
"""
BULK = """[[flows]]
source = {{ kind = "bulk" }}
direction = "down"
transport = "{0}"
name = "{0}"
count = 2
"""
MIXED = PATH + BULK.format("cubic") + BULK.format("bbr")
REPLAY = """[[flows]]
source = {{ kind = "recorded", file = "w.parquet"{} }}
transport = "{}"
direction = "down"
"""


def lost(study: Path) -> float:
    """Return the share that the link down lost."""
    [point] = Study.load(study, []).points
    ran: dict[str, Any] = json.loads(_core.run(point.text)["summary"])
    return float(ran["links"]["down"]["loss"])


@pytest.mark.parametrize("at", ["servers", "clients"])
def test_bbr_beside_cubic_is_told_and_replayed_as_what_it_is(sojourn, tmp_path: Path, at: str) -> None:
    study = tmp_path / "s.toml"
    study.write_text(MIXED)
    sojourn("export", str(study), str(tmp_path / "c.pcap"), "--at", at)
    said = sojourn("workload", str(tmp_path / "c.pcap"), "-o", str(tmp_path / "w.parquet"))
    assert "2 connections (" in said.stderr + said.stdout
    found = pl.read_parquet(tmp_path / "w.parquet")
    # The first group is CUBIC's; servers open connections in order to send.
    by_host = {opener: set(rows["a_bbr"]) for (opener,), rows in found.group_by("opener")}
    assert by_host == {"10.2.0.0": {False}, "10.2.0.1": {True}}
    assert not found["b_bbr"].any()

    def replayed(source: str, transport: str) -> float:
        (tmp_path / "r.toml").write_text(PATH + REPLAY.format(source, transport))
        return lost(tmp_path / "r.toml")

    # Runs of six seeds lose 4.1 to 8.7 %, and of CUBIC alone 1 %.
    as_told, as_cubic = replayed("", "cubic"), replayed(', transport = "group"', "cubic")
    assert as_cubic < 0.02 < 0.041 <= as_told <= 0.087
    # A group of what is neither CUBIC nor Reno is taken at its word.
    assert replayed("", "bbr") == replayed(', transport = "group"', "bbr")


def test_the_end_that_sends_more_may_be_bbr_s(tmp_path: Path) -> None:
    plain: dict[str, Any] = {
        "tcp": True, "client_opens": True, "concurrent": False, "start_ns": 50, "rtt_ns": 7, "length_ns": 900,
        "turns": [{"accepted": True, "bytes": 9, "wait_ns": 4}], "a_initial_window": 3, "b_initial_window": 4,
    }  # fmt: skip

    def told(a_bytes: int, b_bytes: int, **bbr: bool) -> str:
        pl.DataFrame([{**plain, "a_bytes": a_bytes, "b_bytes": b_bytes, **bbr}]).write_parquet(tmp_path / "w")
        return recorded.text_of(tmp_path / "w").split(" ")[4]

    ends = [{"a_bbr": True, "b_bbr": False}, {"a_bbr": False, "b_bbr": True}]
    assert [told(10, 9, **bbr) for bbr in ends] == ["7/3&bbr", "7/3"]
    assert [told(9, 10, **bbr) for bbr in ends] == ["7/4", "7/4&bbr"]
    assert told(9, 10) == "7/4", "a workload of before"


def test_connections_of_bbr_are_counted_with_what_they_carried() -> None:
    def said(*rows: tuple[int, int, bool, bool]) -> str:
        columns = {"a_bytes": pl.Int64, "b_bytes": pl.Int64, "a_bbr": pl.Boolean, "b_bbr": pl.Boolean}
        return _by_bbr(pl.DataFrame(rows, schema=columns, orient="row"))

    assert said((900, 100, False, True)) == "", "the end that sends less is not asked"
    assert said() == ""
    assert said((900, 100, True, False), (100, 2100, False, False)) == (
        "1 connection (30 % of what TCP carried) is of a sender that does not send less at losses, or pauses "
        "every ten seconds, as BBR does: a replay by CUBIC or Reno sends it by BBR"
    )
    assert said((900, 0, True, False), (0, 100, False, True)) == (
        "2 connections (100 % of what TCP carried) are of senders that do not send less at losses, or pause "
        "every ten seconds, as BBR does: a replay by CUBIC or Reno sends them by BBR"
    )
    shares = [said((few, 0, True, False), (1000 - few, 0, False, False)) for few in (9, 10)]
    assert [text.partition(" of what")[0].partition("(")[2] for text in shares] == ["less than 1 %", "1 %"]
