"""The E-model against values of the recommendation's formulas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sojourn.qoe import emodel

REFERENCE = json.loads((Path(__file__).parent / "data" / "qoe_reference.json").read_text(encoding="utf-8"))


def test_defaults_give_the_published_rating() -> None:
    got = emodel.rating()
    assert got.r == pytest.approx(93.2, abs=0.05)
    names = {"R": "r", "Ro": "ro", "No": "no", "Is": "is_", "Iolr": "iolr", "Ist": "ist", "Iq": "iq"}
    names |= {"Idte": "idte", "Idle": "idle"}
    for name, value in REFERENCE["g107_default"].items():
        assert getattr(got, names[name]) == pytest.approx(value, abs=1e-4), name


@pytest.mark.parametrize(("ta", "r"), REFERENCE["full_model_T_eq_Ta_TELR65"].items())
def test_full_model_with_echo(ta: str, r: float) -> None:
    t = float(ta)
    assert emodel.rating(emodel.Connection(t=t, ta=t, tr=2 * t)).r == pytest.approx(r, abs=1e-3)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.5, 2.0, 4.0])
def test_echo_of_short_delays(t: float) -> None:
    """Eq. 7-21 to 7-26 of G.107, whose exponential term has vanished from 5 ms on."""
    got = emodel.rating(emodel.Connection(t=t, ta=t, tr=2 * t, telr=30.0))
    if t < 1:
        assert got.idte == 0.0
        return
    terv = 30.0 - 40 * np.log10((1 + t / 10) / (1 + t / 150)) + 6 * np.exp(-0.3 * t**2)
    roe, re = -1.5 * (got.no - 2.0), 80 + 2.5 * (terv - 14)
    expected = ((roe - re) / 2 + np.sqrt((roe - re) ** 2 / 4 + 100) - 1) * (1 - np.exp(-t))
    assert got.idte == pytest.approx(expected, abs=1e-9)
    assert got.idte > 0.1


@pytest.mark.parametrize(("ta", "value"), REFERENCE["idd"].items())
def test_idd(ta: str, value: float) -> None:
    assert float(emodel.idd(float(ta))) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(("r", "mos"), REFERENCE["r_to_mos"].items())
def test_r_to_mos(r: str, mos: float) -> None:
    assert float(emodel.r_to_mos(float(r))) == pytest.approx(mos, abs=1e-3)


@pytest.mark.parametrize(("mos", "r"), REFERENCE["mos_to_r_poly"].items())
def test_suns_cubic(mos: str, r: float) -> None:
    assert float(emodel.sun_mos_to_r(float(mos))) == pytest.approx(r, abs=1e-3)


@pytest.mark.parametrize("name", REFERENCE["ie_eff_random"])
def test_ie_eff(name: str) -> None:
    ours = {"g711": "g711", "g711_plc": "g711-plc", "g729a_vad": "g729a", "gsm_efr": "gsm-efr"}
    codec = emodel.CODECS[ours.get(name, "g723.1")]
    for loss, value in REFERENCE["ie_eff_random"][name].items():
        assert float(emodel.ie_eff(codec.ie, codec.bpl, float(loss))) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(("at", "r"), REFERENCE["cole_rosenbluth_g729a_R"].items())
def test_cole_rosenbluth(at: str, r: float) -> None:
    loss, delay = at.removesuffix("ms").split("@")
    assert float(emodel.cole_rosenbluth(float(delay), float(loss))) == pytest.approx(r, abs=1e-3)


@pytest.mark.parametrize("row", REFERENCE["combined"], ids=lambda r: f"{r['z1']}@{r['Ta']}")
def test_the_overall_score(row: dict[str, float]) -> None:
    z1, z2 = float(emodel.sun_mos_to_r(row["z1"])), float(emodel.idd(row["Ta"]))
    z = max(0.0, z1 - z2)
    assert z2 == pytest.approx(row["z2"], abs=1e-3)
    assert z == pytest.approx(row["z"], abs=2e-3)
    assert float(emodel.r_to_mos(z)) == pytest.approx(row["mos"], abs=2e-4)


@given(st.floats(1.0, 4.5))
def test_bisection_inverts_the_curve(mos: float) -> None:
    assert float(emodel.r_to_mos(emodel.mos_to_r(mos))) == pytest.approx(mos, abs=1e-6)


@given(st.floats(0, 1e5), st.floats(0, 1e4))
def test_idd_grows_with_delay_and_stays_below_fifty(a: float, more: float) -> None:
    low, high = emodel.idd(np.array([a, a + more]))
    assert 0 <= low <= high + 1e-9 <= 50


@given(st.floats(-1e3, 1e3))
def test_mos_stays_on_its_scale(r: float) -> None:
    assert 1.0 <= float(emodel.r_to_mos(r)) <= 4.5


def test_burst_ratio() -> None:
    assert emodel.burst_ratio(np.zeros(10, bool)) == 1.0
    assert emodel.burst_ratio(np.ones(10, bool)) == 1.0
    burst = np.zeros(100, bool)
    burst[10:15] = burst[50:55] = True
    assert emodel.burst_ratio(burst) == pytest.approx(5 * 0.9)
    assert emodel.burst_ratio(np.arange(100) % 10 == 0) == 1.0
    first = np.zeros(100, bool)
    first[:4] = True
    assert emodel.burst_ratio(first) == pytest.approx(4 * 0.96)  # a burst at the very first frame is one
    first[50:52] = True
    assert emodel.burst_ratio(first) == pytest.approx(6 / 2 * 0.94)
    rng = np.random.default_rng(1)
    assert emodel.burst_ratio(rng.random(200_000) < 0.1) == pytest.approx(1.0, abs=0.02)


def test_classes() -> None:
    good, planned = REFERENCE["g114_ms"]
    assert (good, planned) == emodel.DELAY_CLASSES_MS
    assert [emodel.delay_class(x) for x in (0, good, good + 1, planned, planned + 1)] == [
        "green", "green", "orange", "orange", "red",
    ]  # fmt: skip
    edges = [edge for edge, _ in emodel.SATISFACTION]
    assert edges[:5] == REFERENCE["fig6a_edges"]
    for r, edge in zip((90, 80, 70, 60, 50), edges, strict=False):
        assert float(emodel.r_to_mos(r)) == pytest.approx(edge, abs=0.05)
    assert emodel.satisfaction(4.3) == "very satisfied"
    assert emodel.satisfaction(2.59) == emodel.satisfaction(0.5) == "not recommended"


def test_the_default_rating_is_that_of_the_whole_model() -> None:
    assert pytest.approx(emodel.rating().r, rel=1e-12) == emodel.R_DEFAULT
