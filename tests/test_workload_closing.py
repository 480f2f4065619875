"""When the ends of a replayed connection begin, and which closes first."""

from __future__ import annotations

import polars as pl
import pytest
from sojourn import _core
from sojourn.study import Study
from test_workload import ANSWER, LOADS, PATH, REPLAY, TURN


def control(run: dict) -> list[int]:
    """Return how many packets that open or close connections came to each link."""
    log = pl.DataFrame(run["packets"]).filter(pl.col("kind") == _core.packet_kinds().index("control"))
    return [log.filter(link=link).height for link in (0, 1)]


def test_ends_close_when_all_turns_are_done(sojourn, tmp_path):
    """Clients close when they have the answer, and not with their requests: that takes packets of its own."""
    study, replay = tmp_path / "lab.toml", tmp_path / "replay.toml"
    study.write_text(PATH + LOADS["sessions"].replace("count = 9", "count = 2"))
    sojourn("export", study, "lab.pcapng")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    replay.write_text(PATH + REPLAY)
    runs = [_core.run(Study.load(file).points[0].text, log=True) for file in (study, replay)]
    assert control(runs[1]) == pytest.approx(control(runs[0]), rel=0.05)


@pytest.mark.parametrize(("closes", "first"), [("a", 1), ("b", 0), (None, None)])
def test_the_end_that_closed_first_does(tmp_path, closes, first):
    """And the other one when it has heard of that; where it is not known each when it is done."""
    row = {"opener": "10.0.0.1", "tcp": True, "client_opens": True, "concurrent": False, "start_ns": 0,
           "rtt_ns": 50_000_000, "length_ns": 10**9, "turns": [{**TURN, "wait_ns": 0}, ANSWER],
           **{f"{end}_closes_first": end == closes for end in "ab"}}  # fmt: skip
    pl.DataFrame([row]).write_parquet(tmp_path / "lab.parquet")
    (tmp_path / "replay.toml").write_text(PATH + REPLAY)
    log = pl.DataFrame(_core.run(Study.load(tmp_path / "replay.toml").points[0].text, log=True)["packets"])
    control = log.filter(pl.col("kind") == _core.packet_kinds().index("control"))
    down, up = (control.filter(link=link)["arrive_ns"].to_list() for link in (0, 1))
    # A SYN and a FIN of each end; half a round trip lies between the FINs of who closes and who hears of it.
    fins = down[-1], up[-1]
    assert (len(down), len(up)) == (2, 2)
    apart_ms = (fins[0] - fins[1]) / 1e6
    if first is None:
        assert -40 < apart_ms < -24, "the server with the answer, and the client when that has come"
    else:
        assert fins[first] < fins[1 - first] and abs(apart_ms) > 24
    assert (fins[0] < fins[1]) == (first != 1)


def test_who_waits_before_it_asks_waits_from_the_end_of_the_handshake(tmp_path):
    """However long that took: its SYN stands behind what others upload."""
    page = {"opener": "10.0.0.1", "tcp": True, "client_opens": True, "concurrent": False,
            "rtt_ns": 50_000_000, "length_ns": 3 * 10**9,
            "turns": [{**TURN, "wait_ns": 30_000_000}, ANSWER]}  # fmt: skip
    upload = {**page, "opener": "10.0.0.2", "turns": [{**TURN, "bytes": 10**6, "wait_ns": 0}]}
    rows = [{**upload, "start_ns": 0}, {**page, "start_ns": 10**9}]
    pl.DataFrame(rows).write_parquet(tmp_path / "lab.parquet")
    (tmp_path / "replay.toml").write_text(PATH + REPLAY)
    log = pl.DataFrame(_core.run(Study.load(tmp_path / "replay.toml").points[0].text, log=True)["packets"])
    kinds = _core.packet_kinds()
    opened = log.filter((pl.col("kind") == kinds.index("control")) & (pl.col("arrive_ns") >= 10**9))
    answer, flow = opened.filter(link=0).sort("arrive_ns").select("depart_ns", "flow").row(0)
    sent = log.filter((pl.col("kind") == kinds.index("data")) & (pl.col("flow") == flow), link=1)
    syn = opened.filter(flow=flow, link=1).row(0, named=True)
    assert syn["depart_ns"] - syn["arrive_ns"] > 60_000_000, "longer than it waits"
    waited_ms = (sent["arrive_ns"].min() - answer) / 1e6
    assert 30 + 24 < waited_ms < 30 + 26, "half a round trip to the client, of which the path has all"
