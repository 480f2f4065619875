"""The scores of users of today, to the digits of their check values: G.107.1, G.1072, P.862.2."""

from __future__ import annotations

import math

import pytest
from sojourn.qoe import emodel, emodel_wideband, gaming, pesq
from sojourn.qoe.emodel_wideband import CODECS, r_to_mos, rating
from sojourn.qoe.gaming import Stream

HD = 1920 * 1080


@pytest.mark.parametrize(
    ("ta_ms", "r", "mos"), [(150, 128.8, 4.499), (200, 125.1, 4.470), (300, 110.0, 4.206), (400, 97.9, 3.861)]
)
def test_wideband_delay(ta_ms: float, r: float, mos: float) -> None:
    assert rating(ta_ms=ta_ms) == pytest.approx(r, abs=0.05)
    assert float(r_to_mos(rating(ta_ms=ta_ms))) == pytest.approx(mos, abs=5e-4)


def test_wideband_ends() -> None:
    assert rating() == 129.0
    assert float(r_to_mos(129.0)) == 4.5
    assert float(r_to_mos(0.0)) == 1.0
    assert float(emodel_wideband.mos_to_r(r_to_mos(80.0))) == pytest.approx(80.0)
    assert emodel_wideband.idte(100.0, 65.0) == pytest.approx(0.63, abs=0.005)
    assert emodel_wideband.idte(100.0, math.inf) == 0.0


@pytest.mark.parametrize(
    ("codec", "mos"),
    [
        ("amr-wb-12.65", [4.34, 3.94, 3.58, 2.88, 2.34]),
        ("opus-13", [4.18, 4.09, 3.99, 3.72, 3.35]),
    ],
)
def test_wideband_loss(codec: str, mos: list[float]) -> None:
    found = [float(r_to_mos(rating(CODECS[codec], ppl=loss))) for loss in (0, 1, 2, 5, 10)]
    assert found == pytest.approx(mos, abs=0.005)
    burst = float(emodel_wideband.ie_eff(CODECS[codec], 5.0, 2.0))
    assert burst > float(emodel_wideband.ie_eff(CODECS[codec], 5.0)), "bursts impair more"


def test_opus_takes_the_nearest_rate_that_was_measured() -> None:
    assert emodel_wideband.opus(24.0) == CODECS["opus-25"]
    assert emodel_wideband.opus(32.0) == CODECS["opus-31"]
    assert emodel_wideband.opus(510.0) == CODECS["opus-40"]


def test_g1072_of_its_authors() -> None:
    frozen = Stream(50, 60, HD, 0.0, frozen_pct=0.2)
    assert gaming.mos(frozen) == pytest.approx(4.580889112437288, abs=1e-9)
    assert gaming.mos(Stream(2, 60, HD, 200.0)) == pytest.approx(1.703640262361372, abs=1e-9)


DELAYS = (0, 20, 40, 60, 80, 100, 150, 200, 300, 400)
HIGH = (4.581, 4.530, 4.461, 4.370, 4.258, 4.126, 3.732, 3.312, 2.658, 2.330)
LOW = (4.600, 4.587, 4.570, 4.548, 4.519, 4.483, 4.354, 4.173, 3.764, 3.483)


def test_g1072_by_delay_rate_loss_and_frames() -> None:
    found = [gaming.mos(Stream(50, 60, HD, delay)) for delay in DELAYS]
    assert found == pytest.approx(HIGH, abs=5e-4)
    found = [gaming.mos(Stream(50, 60, HD, delay, interaction="low")) for delay in DELAYS]
    assert found == pytest.approx(LOW, abs=5e-4)
    found = [gaming.mos(Stream(rate, 60, HD)) for rate in (1, 2, 5, 10, 20, 50)]
    assert found == pytest.approx([2.631, 3.308, 3.852, 4.213, 4.479, 4.581], abs=5e-4)
    found = [gaming.mos(Stream(20, 60, HD, 40, frozen)) for frozen in (0, 0.01, 0.1, 0.5, 1, 5)]
    assert found == pytest.approx([4.314, 4.188, 3.656, 3.098, 2.879, 2.612], abs=5e-4)
    found = [gaming.mos(Stream(20, 60, HD, 40, sliced_pct=sliced)) for sliced in (0.05, 0.1, 0.5, 1)]
    assert found == pytest.approx([3.570, 2.940, 2.087, 1.957], abs=5e-4)
    found = [gaming.mos(Stream(20, frames, HD)) for frames in (10, 20, 25, 30, 60)]
    assert found == pytest.approx([3.676, 4.237, 4.398, 4.497, 4.479], abs=5e-4)


def test_g1072_beyond_its_range_is_taken_at_the_bound() -> None:
    wild = Stream(500, 240, 4 * HD, 4000.0, frozen_pct=50.0)
    assert not wild.within
    assert gaming.mos(wild) == gaming.mos(Stream(50, 60, HD, 400.0, frozen_pct=5.0))
    assert Stream(50, 60, HD, 400.0, frozen_pct=5.0).within
    with pytest.raises(ValueError, match="one kind of loss"):
        gaming.mos(Stream(50, 60, HD, 0.0, 1.0, 1.0))


def test_wideband_mapping() -> None:
    for raw, lqo in ((-0.5, 1.0426), (0.0, 1.0849), (2.0, 2.0078), (4.5, 4.6439)):
        exact = 0.999 + 4 / (1 + math.exp(-1.3669 * raw + 3.8224))
        assert float(pesq.wide_raw_to_lqo(raw)) == exact
        assert exact == pytest.approx(lqo, abs=2e-3)
        assert pesq.wide_lqo_to_raw(exact) == pytest.approx(raw)
    with pytest.raises(ValueError, match=r"P\.862\.2"):
        pesq.wide_lqo_to_raw(0.9)


def test_narrow_and_wide_band_share_the_curve() -> None:
    assert float(r_to_mos(93.2 * 1.29)) == pytest.approx(float(emodel.r_to_mos(93.2)))
