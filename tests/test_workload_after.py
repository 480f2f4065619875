"""Connections that are opened when something has come: found in captures, and waited for in replays."""

from __future__ import annotations

import polars as pl
import pytest
from test_workload import ANSWER, LOADS, PATH, REPLAY, TURN, ran


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_readers_open_connections_when_what_names_them_has_come(sojourn, tmp_path, at):
    (tmp_path / "lab.toml").write_text(PATH + '[[users]]\nkind = "page"\ncount = 2\n')
    sojourn("export", "lab.toml", "lab.pcapng", "--at", at)
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    # All but the first of each reader, of what came to that reader.
    assert found["after"].null_count() == 2 == found["opener"].n_unique()
    waited = found.join(found.select("opener", "start_ns", after="number"), on="after", suffix="_before")
    assert waited.height == found.height - 2 and (waited["opener"] == waited["opener_before"]).all()
    assert (waited["start_ns"] > waited["start_ns_before"]).all()
    assert waited.filter(pl.col("after_ns") < 20_000_000).height / waited.height > 0.9
    # Packets that come at any time name nothing.
    (tmp_path / "lab.toml").write_text(PATH + LOADS["packmime"])
    sojourn("export", "lab.toml", "lab.pcapng", "--at", at)
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    assert found.height > 1000 and found["after"].null_count() == found.height


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_readers_of_one_page_after_another_open_none_meanwhile(sojourn, tmp_path, at):
    """They think for a second, and take a third as long for a page: that is no chance for long."""
    (tmp_path / "lab.toml").write_text(PATH + 4 * '[[users]]\nkind = "web"\n')
    sojourn("export", "lab.toml", "lab.pcapng", "--at", at)
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    assert found.height > 80 and found["after"].null_count() == 4 == found["opener"].n_unique()
    thought_ms = found["after_ns"].drop_nulls() / 1e6
    assert thought_ms.min() > 990 and thought_ms.max() < 1060
    assert found["a_closes_first"].sum() > 0.9 * found.height and not found["b_closes_first"].any()
    # All behind one address are together.
    (tmp_path / "lab.toml").write_text(PATH + '[[flows]]\nsource = { kind = "sessions", preset = "imc14" }\n'
                                       'transport = "cubic"\ndirection = "down"\ncount = 6\n')  # fmt: skip
    sojourn("export", "lab.toml", "lab.pcapng", "--at", at)
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    assert found.height > 100 and found["after"].null_count() == found.height


def test_a_connection_that_was_opened_after_another_waits_for_it_in_a_replay(tmp_path):
    """As long as the network takes; and starts as recorded where the other is not there."""
    turns = [{**TURN, "wait_ns": 0}, {**ANSWER, "bytes": 300_000, "heard": 0}]
    first = {"number": 5, "after": None, "start_ns": 0, "turns": turns}
    second = {"number": 9, "after": 5, "after_bytes": 200_000, "after_ns": 40_000_000, "start_ns": 10**9,
              "turns": [{**TURN, "bytes": 777}]}  # fmt: skip
    every = {"opener": "10.0.0.1", "tcp": True, "client_opens": True, "concurrent": False,
             "rtt_ns": 50_000_000, "length_ns": 10**10}  # fmt: skip

    def began(rows: list[dict], rate: str, scale: str = "1") -> list[float]:
        file = tmp_path / "lab.parquet"
        none = {"after_bytes": None, "after_ns": None}
        pl.DataFrame([{**none, **every, **row} for row in rows]).write_parquet(file)
        replay = REPLAY.replace('"lab.parquet"', f'"lab.parquet", scale = {scale}')
        path = PATH.replace("8Mbit", rate).replace("50pkt", "500pkt")
        (tmp_path / "replay.toml").write_text(path + replay)
        flows = ran(tmp_path / "replay.toml")["table"]
        return sorted(start / 1e9 for start in flows.filter(pl.col("bytes") == 777)["start_ns"])

    # 200 000 bytes take 0.2 s at 8 Mbit/s and 1.6 s at 1 Mbit/s, beside handshake, request and slow start.
    assert [0.2 < at < 0.6 for at in began([first, second], "8Mbit")] == [True]
    assert [1.7 < at < 2.1 for at in began([first, second], "1Mbit")] == [True]
    assert began([second], "1Mbit") == [1.0]
    assert began([first, {**second, "after_bytes": 10**9}], "1Mbit")[0] > 2.4, "less is all of it"
    twice = began([first, second], "8Mbit", "2")
    assert len(twice) == 2 and sum(0.2 < at < 0.6 for at in twice) >= 1
