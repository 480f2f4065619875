"""Smoothness, aggressiveness and convergence (RFC 5166): of known series, and of TCP flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn.losses.period import Period
from sojourn.losses.response import changes, convergence, of_newcomer
from sojourn.study import Study
from sojourn.sweep.simulation import simulate


def evenly(*spans: tuple[int, int, int]) -> np.ndarray:
    """Return times from a start to an end, a step apart."""
    return np.concatenate([np.arange(*span) for span in spans])


def test_the_largest_cut_is_a_share_of_the_rate_before_and_the_largest_rise_a_rate() -> None:
    at = evenly((0, 1000, 10), (1000, 2000, 20), (2000, 3000, 5))
    instants, rtt = np.arange(200, 2800, 50), np.full(52, 200)
    cut, rise = changes(at, np.full(at.size, 100), instants, rtt) or (0, 0)
    assert cut == pytest.approx(0.5)
    # 10 packets of 100 bytes in 200 ns, then 40.
    assert rise == pytest.approx(30 * 100 * 8e9 / 200)
    steady = evenly((0, 3000, 10))
    assert changes(steady, np.full(300, 100), np.arange(300, 2700, 50), np.full(48, 200)) == (0, 0)
    stopped = changes(evenly((0, 1000, 10)), np.full(100, 100), np.array([500, 1000]), np.array([200, 200]))
    assert stopped == (1.0, 0.0), "a flow that falls silent has lost all"


def test_a_round_trip_of_three_packets_says_nothing_about_a_rate() -> None:
    sizes, instants, rtt = np.full(5, 100), np.array([350]), np.array([350])
    assert changes(np.array([0, 100, 200, 600, 700]), sizes, instants, rtt) is None
    found = changes(np.array([0, 100, 200, 300, 600]), sizes, instants, rtt)
    assert found is not None and found[0] == 0.75


def grows(end: int, fair_at: int | None) -> dict[str, Any]:
    """Return the convergence of a flow that gets one packet in ten, and from a time on one in two."""
    turns = np.arange(0, end, 10)
    late = (turns >= fair_at) if fair_at is not None else np.zeros(turns.size, bool)
    second = np.where(late, turns % 20 == 0, turns % 100 == 0)
    ones = np.ones(turns.size, dtype=np.int64)
    return convergence(
        (turns[~second], ones[~second]), (turns[second], ones[second]), 0, end, rtt_ns=100, window_ns=1000
    )


def test_convergence_is_the_end_of_the_first_window_with_fair_shares() -> None:
    # A share of 0.1 before 5 µs and of 0.5 after: 0.45 is reached when 7/8 of a window of 1 µs are behind it.
    assert grows(20_000, 5000)["delta_fair_s"] * 1e9 == pytest.approx(5875, abs=100)
    never = grows(20_000, None)
    assert (never["delta_fair_s"], never["watched_s"]) == (None, 20e-6)
    assert max(never["share"]) < 0.2 and len(never["share"]) <= 200
    at_once = grows(20_000, 0)
    assert at_once["delta_fair_s"] * 1e9 == 1000, "a window is the least that it takes"
    assert grows(900, 0)["delta_fair_s"] is None and grows(900, 0)["share"] == []


def test_only_a_second_flow_of_the_same_round_trip_converges() -> None:
    def log(*starts: int) -> pl.DataFrame:
        return pl.concat(
            pl.DataFrame({"flow": flow, "group": flow, "arrive_ns": range(start, 100_000, 100)}).with_columns(
                depart_ns=pl.col("arrive_ns") + 10, new_bytes=pl.lit(100)
            )
            for flow, start in enumerate(starts)
        )

    period = Period(10_000, 100_000)
    same = {0: 100, 1: 100, 2: 100}
    found = of_newcomer(log(0, 20_000), same, period, 1000)
    assert found is not None and found["watched_s"] == pytest.approx(80e-6)
    assert of_newcomer(log(0, 20_000), {0: 100, 1: 200}, period, 1000) is None, "other round trips"
    assert of_newcomer(log(0, 20_000, 30_000), same, period, 1000) is None, "three flows"
    assert of_newcomer(log(0, 5000), same, period, 1000) is None, "it came in the warm-up"
    assert of_newcomer(log(20_000, 20_500), same, period, 1000) is None, "they came together"


@pytest.mark.parametrize(("workload", "cut"), [("newreno", 0.5), ("cubic", 0.3)])
def test_smoothness_of_a_tcp_is_what_it_takes_off_its_window(
    workload: str, cut: float, tmp_path: Path
) -> None:
    """Alone in front of drop-tail a sender loses 1 − β of its rate, but for whole packets."""
    sets = [("duration", "20s"), ("warmup", "5s"), ("repeat", "1")]
    study = Study.load("suites/rfc5166/smoothness", sets)
    point = next(point for point in study.points if point.labels["workload"] == workload)
    with (tmp_path / "log.parquet").open("wb") as file:
        result = simulate(point, file)[0]
    flow = result["traffic"]["down"]["groups"]["flow"]
    assert flow["largest_cut"] == pytest.approx(cut, abs=0.1)
    assert 0 < flow["largest_rise_bps"] < 10e6
