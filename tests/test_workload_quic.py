"""QUIC in captures: connections with turns, that react in a replay."""

from __future__ import annotations

import json

import polars as pl
import pytest
from sojourn import _core
from sojourn.capture.workload import _notes
from sojourn.study import Study
from sojourn.study.inputs.recorded import text_of
from test_workload import REPLAY

TURN = {"accepted": False, "bytes": 10, "wait_ns": 0, "heard": 0, "writes": 1}
SIDES = ("clients", "servers")


def path(rate: str = "10Mbit", queue: str = 'kind = "fifo", limit = "60pkt"') -> str:
    return f"""
name = "lab"
duration = "12s"
[path]
rtt = "40ms"
down = {{ rate = "{rate}", queue = {{ {queue} }} }}
up   = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "60pkt" }} }}
"""


def pages(count: int, server: str = "rfc") -> str:
    return f'[[users]]\nkind = "page"\ncount = {count}\nhttp = "3"\nserver = "{server}"\npause = "2s"\n'


def run(study, text: str) -> dict:
    study.write_text(text)
    return _core.run(Study.load(study).points[0].text)


def down(ran: dict) -> dict:
    return json.loads(ran["summary"])["links"]["down"]


@pytest.fixture
def taken(sojourn, tmp_path):
    """Return what takes a workload at a side of a study."""

    def take(text: str, side: str) -> pl.DataFrame:
        (tmp_path / "lab.toml").write_text(text)
        sojourn("export", "lab.toml", f"{side}.pcapng", "--at", side)
        sojourn("workload", f"{side}.pcapng", "-o", "lab.parquet")
        return pl.read_parquet(tmp_path / "lab.parquet")

    return take


@pytest.mark.parametrize("side", SIDES)
def test_a_page_over_http_3_is_connections_with_turns(taken, tmp_path, side):
    text = path() + pages(1)
    found = taken(text, side)
    assert found["quic"].all() and not found["tcp"].any() and found["client_opens"].all()
    assert found.select(pl.col("rtt_ns").is_between(40e6, 48e6).all()).item(), "a long datagram's own time"
    assert set(found["b_mss"]) <= {1200, *range(1201, 1453)} and found["a_mss"].max() == 1452
    table = run(tmp_path / "again.toml", text)
    # What the pages weigh, with headers and handshakes; in front of the queue what was lost was sent again.
    pages_bytes = pl.DataFrame(table["page"])["bytes"].sum()
    share = found["b_bytes"].sum() / pages_bytes
    assert 1.0 < share < (1.35 if side == "clients" else 1.7)
    first = found.sort("start_ns")["turns"][0].to_list()
    assert [turn["accepted"] for turn in first[:4]] == [False, True, False, True], (
        "a handshake, and a request"
    )
    assert first[1]["heard"] == first[0]["bytes"]


@pytest.mark.parametrize("side", SIDES)
def test_a_replay_meets_what_the_run_met_and_gives_way_behind_a_slower_link(taken, tmp_path, side):
    ran = down(run(tmp_path / "run.toml", path() + pages(3)))
    taken(path() + pages(3), side)
    again = down(run(tmp_path / "replay.toml", path() + REPLAY))
    assert again["queue_delay_ms"]["mean"] == pytest.approx(ran["queue_delay_ms"]["mean"], rel=0.25)
    assert again["loss"] == pytest.approx(ran["loss"], rel=0.5)
    assert again["utilisation"] == pytest.approx(ran["utilisation"], rel=0.25)
    # Over a fifth of the rate what does not react would lose three fifths.
    slower = down(run(tmp_path / "replay.toml", path("2Mbit") + REPLAY))
    assert slower["utilisation"] > 0.9 and slower["loss"] < 0.5


def test_linux_has_no_quic_whose_habits_a_replay_could_have(taken, tmp_path):
    taken(path() + pages(2), "clients")
    again = {
        more: down(run(tmp_path / "replay.toml", path() + REPLAY + more))
        for more in ("", 'stack = "linux"\n', 'hystart = "linux"\n')
    }
    assert again['stack = "linux"\n'] == again[""] != again['hystart = "linux"\n']


def test_packets_that_may_be_marked_are_marked_in_a_replay(taken, tmp_path):
    """Linux's FQ-CoDel marks them: quinn's servers lose nothing, others do."""
    fq_codel = path(queue='kind = "fq-codel"')
    lost = {}
    for server in ("rfc", "quinn"):
        found = taken(fq_codel + pages(3, server), "clients")
        assert not found["a_ecn"].any() and (
            found["b_ecn"].all() if server == "quinn" else not found["b_ecn"].any()
        )
        link = down(run(tmp_path / "replay.toml", fq_codel + REPLAY))
        lost[server] = (link["dropped_pkts"] > 0, link.get("marked_pkts", 0) > 0)
    assert lost == {"rfc": (True, False), "quinn": (False, True)}
    link = down(run(tmp_path / "replay.toml", fq_codel + REPLAY + "ecn = false\n"))
    assert link["dropped_pkts"] > 0 and not link.get("marked_pkts"), "the group's key decides for all"


def test_tcp_that_uses_ecn_does_in_a_replay_unless_the_group_says_otherwise(taken, tmp_path):
    codel = path(queue='kind = "codel", ecn = true')
    bulk = '[[flows]]\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'
    ran = down(run(tmp_path / "run.toml", codel + bulk + "ecn = true\n"))
    found = taken(codel + bulk + "ecn = true\n", "clients")
    assert (found["a_ecn"].to_list(), found["b_ecn"].to_list()) == ([True], [False]), "who sends data"
    again, without = (
        down(run(tmp_path / "replay.toml", codel + REPLAY + more)) for more in ("", "ecn = false\n")
    )
    assert ran["dropped_pkts"] == again["dropped_pkts"] == without.get("marked_pkts", 0) == 0
    assert again["marked_pkts"] == pytest.approx(ran["marked_pkts"], rel=0.2)
    assert without["dropped_pkts"] > 0


def test_the_engine_is_told_of_quic_its_datagrams_and_ecn(tmp_path):
    row = {"tcp": False, "quic": True, "client_opens": True, "concurrent": True, "start_ns": 5, "rtt_ns": 40,
           "length_ns": 9, "a_bytes": 10, "b_bytes": 20, "a_mss": 1350, "b_mss": 1250, "a_ecn": False,
           "b_ecn": True, "turns": [TURN]}  # fmt: skip
    file = tmp_path / "w.parquet"

    def line(**changes):
        pl.DataFrame([{**row, **changes}]).write_parquet(file)
        return text_of(file).split("\n")[1]

    assert line() == "q c 5 40:1350!b a10+0"
    assert line(a_bytes=30) == "q c 5 40:1250!b a10+0", "of the end that sends more"
    assert line(a_mss=900, a_ecn=True) == "q c 5 40!ab a10+0", "no full one was seen"
    assert line(b_ecn=False, rtt_ns=None) == "q c 5 -:1350 a10+0"
    assert line(quic=False, b_ecn=False) == "u c 5 40 a10+0"
    assert line(quic=False, tcp=True) == "c c 5 40!b a10+0"
    pl.DataFrame([row]).drop("quic", "a_ecn", "b_ecn", "a_mss", "b_mss").write_parquet(file)
    assert text_of(file).split("\n")[1] == "u c 5 40 a10+0", "a file of before"


def test_what_quic_hides_is_said(taken):
    found = taken(path() + pages(1), "clients")
    told = {"damage": [], "sides_by_ttl": True, "near_are_clients": True, "beyond_bound": 0,
            "turns": {"bytes": pl.Series([1])}}  # fmt: skip
    [said] = [note for note in _notes(told, found.head(1)) if "QUIC" in note]
    assert said.startswith("1 connection of QUIC hides what was sent again")
    said = _notes(told, found)
    assert any(note.startswith(f"{found.height} connections of QUIC hide ") for note in said)
    assert not any("datagrams: a replay sends them" in note for note in said)
    assert not any("direction" in note or "began before" in note or "round-trip" in note for note in said)
    half = found.head(1).with_columns(b_seen=False, began_before=True, rtt_ns=pl.lit(None, pl.Int64))
    said = _notes(told, half)
    assert (
        "1 connection of QUIC was seen in one direction only; what the other end sent is missing"
        in " ".join(said)
    )
    assert any(note.startswith("1 connection began before the capture") for note in said)
    assert any(note.startswith("1 connection has no round-trip time") for note in said)
    said = _notes(told, found.with_columns(quic=pl.lit(False)))
    assert not any("connections of QUIC" in note for note in said)
    assert any("QUIC of which too little was captured to know it" in note for note in said)
