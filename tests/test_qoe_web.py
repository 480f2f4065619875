"""Page loads: the MOS of their time, and what loads that never end do to a cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import user
from hypothesis import given
from hypothesis import strategies as st
from sojourn import StudyError
from sojourn.qoe import web

REFERENCE = json.loads((Path(__file__).parent / "data" / "qoe_reference.json").read_text(encoding="utf-8"))
WEB = user("web")


def table(plt_s: list[float], complete: list[bool] | None = None, **more: list[float]) -> dict[str, Any]:
    n = len(plt_s)
    return {
        "user": np.zeros(n, np.uint32),
        "start_ns": np.arange(n, dtype=np.uint64),
        "plt_ns": (np.array(plt_s) * 1e9).round().astype(np.uint64),
        "complete": np.array([True] * n if complete is None else complete),
        "rtt_ns": (np.array(more.get("rtt_s", [0.0] * n)) * 1e9).round().astype(np.uint64),
        "repair_ns": (np.array(more.get("repair_s", [0.0] * n)) * 1e9).round().astype(np.uint64),
        "retransmits": np.zeros(n, np.uint32),
    }


@pytest.mark.parametrize("best", REFERENCE["web"])
def test_mos_of_reference_times(best: str) -> None:
    for t, mos in REFERENCE["web"][best].items():
        assert float(web.mos_of_plt(float(t), float(best))) == pytest.approx(mos, abs=1e-4)


def test_quantiles_are_those_of_the_sample_when_all_end() -> None:
    got = web.score_web(table([0.6, 0.8, 1.0, 2.0]), WEB)
    assert got["plt_s"]["median"] == pytest.approx(0.9)
    assert got["plt_s"]["mean"] == pytest.approx(1.1)
    assert got["mos"]["median"] == pytest.approx(float(web.mos_of_plt(0.9)), abs=1e-4)
    assert got["mos"]["p5"] == pytest.approx(float(web.mos_of_plt(2.0)), abs=1e-4)
    assert got["mos"]["p5"] <= got["mos"]["p25"] <= got["mos"]["median"] <= got["mos"]["p95"]
    assert (got["loads"], got["unfinished"]) == (4, 0)
    assert "bounded" not in got


def test_best_time_is_an_option() -> None:
    got = web.score_web(table([0.85]), WEB | {"plt-min": "850ms"})
    assert got["mos"]["median"] == 5.0
    with pytest.raises(StudyError, match="plt-min"):
        user("web", plt_min="7s")


def test_worst_time_is_an_option() -> None:
    got = web.score_web(table([9.0]), WEB | {"plt-max": "12s"})
    assert got["mos"]["median"] == pytest.approx(float(web.mos_of_plt(9.0, 0.56, 12.0)), abs=1e-4)
    assert got["mos"]["median"] > 1.1
    assert web.score_web(table([9.0]), WEB)["mos"]["median"] == 1.0


def test_round_trips_are_an_option() -> None:
    rows = table([1.0, 1.0], rtt_s=[0.03, 0.1])  # 14 of them: 0.42 and 1.4 s
    assert web.score_web(rows, WEB)["rtt_dominated"] == 0.5
    assert web.score_web(rows, WEB | {"round-trips": 17})["rtt_dominated"] == 1.0
    assert web.score_web(rows, WEB | {"round-trips": 4})["rtt_dominated"] == 0.0


def test_kaplan_meier_textbook_case() -> None:
    # Times 6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+ (remission, Freireich 1963).
    times = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    ended = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    curve = web.kaplan_meier(times, np.array(ended, bool))
    survival = 1 - np.cumsum(curve.mass)
    assert survival == pytest.approx([0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], abs=5e-4)
    assert curve.quantile(0.5) == 23
    assert curve.quantile(0.9) is None


def test_loads_that_never_end_do_not_look_good() -> None:
    got = web.score_web(table([0.6, 0.6, 3.0, 3.0, 3.0], [True, True, False, False, False]), WEB)
    assert got["unfinished"] == 3
    assert got["plt_s"]["median"] == 3.0
    assert got["mos"]["median"] == 1.0
    assert "median" in got["bounded"]
    none = web.score_web(table([2.0, 1.0], [False, False]), WEB)
    assert none["mos"] == dict.fromkeys(("median", "mean", "p5", "p25", "p75", "p95"), 1.0)
    assert none["plt_s"]["median"] == 2.0


def test_a_median_of_which_one_of_the_middle_two_never_ended_is_a_lower_bound() -> None:
    two = web.score_web(table([1.0, 5.0], [True, False]), WEB)
    assert two["plt_s"]["median"] == 3.0 and two["bounded"] == ["median", "p75", "p95", "mean"]
    assert two["mos"]["median"] == 1.0
    # Of three that ended of five, the middle one did; so it did of 501 of 1001.
    for ended, others in ((3, 2), (501, 500)):
        more = web.kaplan_meier([1.0] * ended + [5.0] * others, [True] * ended + [False] * others)
        found, bounded = more.statistics()
        assert found["median"] == 1.0 and "median" not in bounded


def test_what_dominates() -> None:
    got = web.score_web(
        table([1.0, 1.0, 4.0, 9.0], [True, True, True, False], rtt_s=[0.05, 0.03, 0.05, 9.0],
              repair_s=[0.0, 0.5, 3.0, 9.0]), WEB,
    )  # fmt: skip
    assert got["rtt_dominated"] == pytest.approx(1 / 3, abs=1e-6)
    assert got["loss_dominated"] == pytest.approx(2 / 3, abs=1e-6)


def test_no_loads_no_scores() -> None:
    assert web.score_web(table([]), WEB) == {}


def test_tables_that_do_not_fit_are_named() -> None:
    broken = table([1.0])
    del broken["repair_ns"]
    with pytest.raises(ValueError, match="lacks repair_ns"):
        web.score_web(broken, WEB)


@given(st.lists(st.tuples(st.floats(0.001, 100), st.booleans()), min_size=1, max_size=40))
def test_any_loads_give_a_distribution(loads: list[tuple[float, bool]]) -> None:
    got = web.score_web(table([t for t, _ in loads], [e for _, e in loads]), WEB)
    quantiles = [got["plt_s"][k] for k in ("p5", "p25", "median", "p75", "p95")]
    assert quantiles == sorted(quantiles)
    assert all(1.0 <= v <= 5.0 for v in got["mos"].values())
    curve = web.kaplan_meier([t for t, _ in loads], np.array([e for _, e in loads]))
    assert curve.mass.sum() + curve.rest == pytest.approx(1.0)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30))
def test_censoring_never_improves_the_score(times: list[float]) -> None:
    n = len(times)
    ended = web.score_web(table(times), WEB)
    cut = web.score_web(table(times, [i % 2 == 0 for i in range(n)]), WEB)
    assert cut["mos"]["median"] <= ended["mos"]["median"] + 1e-4
