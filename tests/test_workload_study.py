"""The study of a workload, from connections whose numbers are known: rates, buffers, what was measured."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn.capture import workload_study
from sojourn.capture.workload import Workload, _notes, read
from sojourn.capture.workload_measured import measured
from sojourn.errors import SojournError


def connections(*rows: dict[str, Any]) -> pl.DataFrame:
    usual: dict[str, Any] = {
        "tcp": True,
        "quic": False,
        "client_opens": True,
        "cut": False,
        "began_before": False,
    }
    usual |= {
        f"{end}_{what}": 0
        for end in "ab"
        for what in ("bytes", "data_pkts", "again_pkts", "vain_pkts", "missing_pkts", "window")
    }
    usual |= {"duration_ns": 0, "rtt_ns": 40_000_000, "a_mss": 1460, "b_mss": 1460}
    usual |= {"turns": [{"accepted": True}]}
    usual |= {"a_initial_window": None, "b_initial_window": None, "a_seen": True, "b_seen": True}
    usual |= {"after": None, "opener": "10.0.0.1", "a_bbr": False, "b_bbr": False}
    integer = {f"{end}_initial_window": pl.Int64 for end in "ab"} | {"rtt_ns": pl.Int64, "after": pl.Int64}
    return pl.DataFrame([usual | row for row in rows], schema_overrides=integer)


def work(table: pl.DataFrame, bits: float = 8e5, seconds: int = 10) -> Workload:
    bins = np.arange(seconds * 10)
    busy = {"bin": bins, "down": np.full(len(bins), bits / 80), "up": np.full(len(bins), bits / 160)}
    busy |= {"acknowledged": busy["up"] * (1448 / 1500), "datagrams": 0 * busy["up"]}
    return Workload(table, seconds * 10**9, [], True, True, busy)


def test_what_captures_show_of_a_path_has_the_names_of_results() -> None:
    table = connections(
        {"a_bytes": 500_000, "b_bytes": 500_000, "b_data_pkts": 90, "b_again_pkts": 20, "duration_ns": 10**9},
        {"client_opens": False, "a_data_pkts": 10, "b_data_pkts": 200, "b_again_pkts": 10},
        {"duration_ns": 2 * 10**9},
        {"cut": True, "duration_ns": 9 * 10**9},
        {"began_before": True, "duration_ns": 9 * 10**9},
        {"turns": [], "duration_ns": 9 * 10**9},
        {"tcp": False, "quic": False, "a_bytes": 10**9, "duration_ns": 9 * 10**9},
    )
    waits = {"mean_ms": 5.0, "p50_ms": 4.0, "p95_ms": 9.0, "p99_ms": None, "max_ms": 12.0}
    found = {path: number for path, number, _ in measured(work(table), "down", 1e6, {"down": waits})}
    assert found["flows.goodput_bps"] == 800_000 and found["links.down.utilisation"] == pytest.approx(0.8)
    # Towards the capture 100 were seen and 20 of them again; away from it 200, and 10 again.
    assert found["links.down.loss"] == pytest.approx(20 / 120) and found["links.up.loss"] == 0.05
    assert found["links.down.queue_delay_ms.mean"] == 5 and found["links.down.queue_delay_ms.max"] == 12
    assert "links.down.queue_delay_ms.p99" not in found
    assert (found["connections.duration_s.p50"], found["connections.duration_s.p95"]) == (1, 2)
    few = connections({"b_data_pkts": 99, "b_again_pkts": 1})
    assert "links.down.loss" not in {path for path, *_ in measured(work(few), "down", 1e6, {})}


def test_a_study_of_a_capture_has_its_rate_buffers_and_window(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = {"max_ms": 80.0, "samples": 9}
    monkeypatch.setattr(workload_study, "_waits", lambda *of: {"down": waits})
    table = connections(
        {"a_bytes": 100, "b_bytes": 900, "a_initial_window": 3, "b_initial_window": 10},
        {"a_bytes": 500, "b_bytes": 0, "a_initial_window": 4, "rtt_ns": 60_000_000},
    )
    written = workload_study.study_of(work(table, 8e6), [], Path("x/w.parquet"), Path("x/own.toml"))
    text, csv = written.files[Path("x/own.toml")], written.files[Path("x/own-measured.csv")]
    study = tomllib.loads(text)
    assert study["path"]["rtt"] == "50000us" and study["duration"] == "10000ms"
    assert (study["path"]["down"]["rate"], study["path"]["up"]["rate"]) == ("8000000bit", "4000000bit")
    # 80 ms of 8 Mbit/s were seen; upwards nothing was: 50 ms of 4 Mbit/s.
    assert study["path"]["down"]["queue"]["limit"] == "80000B"
    assert study["path"]["up"]["queue"]["limit"] == "25000B"
    assert study["sweep"] == {"path.down.queue.limit": ["20000B", "80000B", "320000B"]}
    [flow] = study["flows"]
    assert (flow["mss"], flow["initial-window"], flow["source"]["file"]) == ("1448B", 10, "w.parquet")
    assert csv.splitlines()[:2] == ["value,measured,how", "path.down.queue.limit,80000B,"]
    filled, not_seen = written.notes
    assert filled.startswith("the link up: taken for filled at 4 Mbit/s, as its seconds are alike; no waits")
    assert not_seen == "no waiting could be seen on the link up: its buffer is one bandwidth-delay product"
    waits["max_ms"] = 0.5
    apart = workload_study.study_of(work(table, 8e6), [], Path("y/w.parquet"), Path("x/own.toml"))
    assert len(apart.notes) == 4 and str(Path("y/w.parquet").absolute()) in apart.files[Path("x/own.toml")]
    unsure = Workload(table, 10**9, [], False, True, {})
    with pytest.raises(SojournError, match="hop limits do not tell"):
        workload_study.study_of(unsure, [], Path("w.parquet"), Path("own.toml"))


@pytest.mark.parametrize(
    ("offered", "segment"), [([20], "64B"), ([65_495], "64000B"), ([1400, 1460], "1388B")]
)
def test_segments_are_those_that_a_study_takes(
    offered: list[int], segment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_study, "_waits", lambda *of: {})
    table = connections(*({"a_mss": mss, "a_bytes": 9} for mss in offered))
    written = workload_study.study_of(work(table), [], Path("w.parquet"), Path("own.toml"))
    [flow] = tomllib.loads(written.files[Path("own.toml")])["flows"]
    assert flow["mss"] == segment, "what Linux's loopback offers is more"


def test_a_link_that_was_never_full_has_at_least_the_densest_second() -> None:
    bins = np.arange(100)
    assert workload_study._rate(np.full(100, 12_500), bins) == (1_000_000, True, 1)
    # Seconds within 3 % of the densest are full ones, and five of them are enough.
    size = np.full(100, 1000)
    size[:50] = 12_500
    size[10:50] = 12_200
    assert workload_study._rate(size, bins) == (1_000_000, True, 1)
    size[40:50] = 12_000
    assert workload_study._rate(size, bins) == (1_000_000, False, 1)
    assert workload_study._rate(np.array([]), np.array([], dtype=int)) == (10_000, False, 1)
    assert workload_study._rate(np.array([5000, 5000]), np.array([0, 1])) == (400_000, False, 0.2)
    notes: list[str] = []
    found = Workload(connections({}), 10**9, [], True, True, {"bin": bins, "down": size, "up": 2 * size})
    found.busy["acknowledged"] = found.busy["datagrams"] = 0 * size
    assert workload_study._rates(found, "down", "up", {}, notes) == {"down": 2_000_000, "up": 2_000_000}
    assert notes == [
        "the link down: it was never seen filled and carries at least 1 Mbit/s, as in the densest second; "
        "the study has 2 Mbit/s, as the link up",
        "the link up: it was never seen filled; 2 Mbit/s came to it in the densest second, and it may have "
        "carried less; the study has 2 Mbit/s",
    ]


def test_a_link_on_which_a_queue_stood_is_no_faster_than_what_was_seen_of_it() -> None:
    bins, size = np.arange(20), np.array([12_500] * 10 + [0] * 10)
    busy = {"bin": bins, "down": 2 * size, "up": size, "acknowledged": 0 * size, "datagrams": 0 * size}
    found, notes = Workload(connections({}), 10**9, [], True, True, busy), list[str]()
    assert workload_study._rates(found, "down", "up", {"up": 24.0}, notes) == {
        "down": 2_000_000,
        "up": 1_000_000,
    }
    assert notes[1].endswith("and it may have carried less; the study has 1 Mbit/s")
    assert workload_study._rates(found, "up", "down", {}, notes) == {"down": 2_000_000, "up": 2_000_000}


def test_a_link_on_which_no_packet_waited_was_not_filled_by_a_sender_that_is_slow() -> None:
    bins, size = np.arange(100), np.full(100, 12_500)
    busy = {"bin": bins, "down": size, "up": 0 * size, "acknowledged": 0 * size, "datagrams": 0 * size}
    found, notes = Workload(connections({}), 10**9, [], True, True, busy), list[str]()
    # Two full packets are 24 ms at 1 Mbit/s.
    for waited_ms, said in ((24.0, 0), (23.9, 1)):
        workload_study._rates(found, "down", "up", {"down": waited_ms}, notes)
        assert sum("down: it was never seen filled and carries" in note for note in notes) == said


def test_a_link_away_from_the_capture_carried_what_was_acknowledged() -> None:
    bins = np.arange(120)
    sent = np.full(120, 20_000)
    # Of 1448 bytes in packets of 1500: 1 Mbit/s; a loss holds acknowledgements back, which then come at once.
    told = np.full(120, 12_500 * 1448 / 1500)
    told[44], told[45] = 0, 2 * told[45]
    table = connections({"a_mss": 1460})

    def carried(told: np.ndarray, sent: np.ndarray = sent, datagrams: int = 0) -> int | None:
        busy = {"bin": bins, "down": 0 * sent, "up": sent, "acknowledged": told}
        busy["datagrams"] = np.full(len(bins), datagrams)
        return workload_study._carried_bps(Workload(table, 10**9, [], True, True, busy), "up")

    assert carried(told) is None, "less than seven tenths: other traffic shared the link"
    assert carried(told, sent * 0.8) == pytest.approx(1_000_000)
    # Of 2000 bytes of datagrams as large a share as of TCP: 12 500 of 14 000.
    assert carried(told, sent * 0.8, 2000) == pytest.approx(1_000_000 * (1 + 2000 / 14_000))
    # Four in five of the busier half have to be alike, and the half has to have five.
    assert carried(np.linspace(0.2, 2, 120) * told, sent * 0.8) is None
    assert carried(told * (bins < 90), sent * 0.5) == pytest.approx(1_000_000)
    bins, sent, told = bins[:99], sent[:99], told[:99]
    assert carried(told, sent * 0.8) is None


def test_beside_the_sender_the_link_and_its_buffer_are_found(tmp_path: Path) -> None:
    # Linux's own four flows up: 1 Mbit/s, 60 kB; captured beside their sender.
    file = Path(__file__).parent / "data" / "directions" / "up4_at_B.pcap.gz"
    written = workload_study.study_of(read([file]), [file], tmp_path / "w.parquet", tmp_path / "w.toml")
    link = tomllib.loads(written.files[tmp_path / "w.toml"])["path"]["up"]
    assert float(link["rate"].removesuffix("bit")) == pytest.approx(1e6, rel=0.05)
    assert float(link["queue"]["limit"].removesuffix("B")) == pytest.approx(6e4, rel=0.08)


def test_notes_count_what_a_workload_lacks() -> None:
    table = connections(
        {"began_before": True}, {"cut": True, "a_seen": False}, {"rtt_ns": None}, {"tcp": False}
    )
    found = {"damage": ["cut short"], "sides_by_ttl": False, "beyond_bound": 7}
    found |= {"turns": {"bytes": np.array([2**32])}}
    said = _notes(found, table)
    assert [each.split(" ")[0] for each in said] == ["cut", "1", "1", "1", "1", "hop", "7", "turns"]
    whole = {"damage": [], "sides_by_ttl": True, "beyond_bound": 0, "turns": {"bytes": np.array([2**32 - 1])}}
    assert _notes(whole, connections({})) == []
    one, two = {"after": 3}, {"after": 4, "opener": "10.0.0.2"}
    assert [_notes(whole, connections(*rows, {})) for rows in ([one], [one, two])] == [
        ["1 connection of 1 host was opened after another, and waits for it in a replay"],
        ["2 connections of 2 hosts were opened after others, and wait for them in a replay"],
    ]
