"""The log-scale diagram against series whose scaling is known."""

from __future__ import annotations

import numpy as np
import pytest
from sojourn.losses.independence import autocorrelation, independence, ljung_box
from sojourn.losses.wavelet import choose_j1, diagram, fit, over_time


def fractional_noise(hurst: float, n: int, seed: int) -> np.ndarray:
    """Return fractional Gaussian noise of unit variance by circulant embedding (Davies and Harte 1987)."""
    k = np.arange(n + 1)
    gamma = (
        np.abs(k + 1.0) ** (2 * hurst) - 2 * np.abs(k) ** (2 * hurst) + np.abs(k - 1.0) ** (2 * hurst)
    ) / 2
    row = np.concatenate([gamma, gamma[-2:0:-1]])
    eigenvalues = np.fft.fft(row).real.clip(0)
    random = np.random.default_rng(seed)
    m = len(row)
    noise = random.standard_normal(m) + 1j * random.standard_normal(m)
    return np.fft.fft(noise * np.sqrt(eigenvalues / m)).real[:n]


@pytest.mark.parametrize("hurst", [0.5, 0.7, 0.9])
def test_slope_of_fractional_noise(hurst: float) -> None:
    found = fit(diagram(fractional_noise(hurst, 2**15, 7)), 1, 99)
    assert abs(found.alpha - (2 * hurst - 1)) < 0.03
    assert abs(found.hurst - hurst) < 0.015
    assert found.sd == pytest.approx(0.0080, abs=0.0003)
    assert 0 <= found.q <= 1


@pytest.mark.parametrize(("hurst", "intercept"), [(0.5, 0.0), (0.7, -0.9553), (0.9, -2.7495)])
def test_energy_of_fractional_noise_is_exact_at_every_octave(hurst: float, intercept: float) -> None:
    # E d_j² = 2^{j(2H−1)} (2^{2−2H} − 1) for Haar, from Var of sums of m: m^{2H}.
    assert np.log2(2 ** (2 - 2 * hurst) - 1) == pytest.approx(intercept, abs=1e-4)
    series = [fractional_noise(hurst, 2**14, seed) for seed in range(60)]
    for octave in range(1, 6):
        energy = []
        for one in series:
            found = diagram(one)
            energy.append(2 ** (found.y[octave - 1]))
        # The bias correction makes y, not 2^y, unbiased; at these n the two differ by less than 0.01.
        assert np.log2(np.mean(energy)) == pytest.approx((2 * hurst - 1) * octave + intercept, abs=0.05)


def test_first_octave_of_haar_by_hand() -> None:
    found = diagram(np.array([3.0, 1.0, 0.0, 2.0, 5.0, 5.0, 1.0, 0.0]))
    # Details (a − b)/√2: 2, 2, 0, 0.5 squared and halved, n = 4; γ + ψ(2) = 1 gives the bias.
    energy = np.mean(np.array([2.0, -2.0, 0.0, 1.0]) ** 2 / 2)
    bias = (1 - 0.5772156649015329) * np.log2(np.e) - 1
    assert found.n[0] == 4
    assert found.y[0] == pytest.approx(np.log2(energy) - bias)
    assert found.variance[0] == pytest.approx(np.log2(np.e) ** 2 * (np.pi**2 / 6 - 1))


def test_number_of_octaves_and_coefficients() -> None:
    series = np.random.default_rng(1).standard_normal(60_000)
    haar, smooth = diagram(series, 1), diagram(series, 3)
    assert (len(haar.n), haar.n[0], haar.n[-1]) == (14, 30_000, 3)
    assert (len(smooth.n), smooth.n[0], smooth.n[-1]) == (12, 29_998, 10)


def test_poisson_counts_are_flat() -> None:
    counts = np.random.default_rng(5).poisson(0.02, 60_000)
    found = fit(diagram(counts, 3), 3, 12)
    assert abs(found.alpha) < 0.024
    assert found.intercept + found.alpha * 5 == pytest.approx(np.log2(0.02), abs=0.1)
    assert choose_j1(diagram(counts, 3), 12, 3) is not None


def test_intervals_hold_the_line_as_often_as_they_say() -> None:
    inside = total = 0
    for seed in range(40):
        found = diagram(np.random.default_rng(seed).standard_normal(2**12))
        inside += int(np.sum(np.abs(found.y[:8]) <= found.half_width[:8]))
        total += 8
    assert 0.91 < inside / total < 0.985


def test_a_trend_is_not_seen_by_enough_vanishing_moments() -> None:
    noise = np.random.default_rng(3).standard_normal(2**14)
    slope = np.linspace(0, 40, 2**14)
    bent, smooth = diagram(noise + slope, 1), diagram(noise + slope, 3)
    assert bent.y[-3] > 5
    assert np.abs(smooth.y[-3]) < 1.5


def test_octaves_without_losses_are_left_out() -> None:
    assert len(diagram(np.zeros(1000)).octave) == 0
    assert fit(diagram(np.zeros(1000)), 1, 9) is None
    one = np.zeros(64)
    one[5] = 1
    assert np.isfinite(diagram(one).y).all()
    assert len(diagram(np.zeros(0)).octave) == len(diagram(np.zeros(1)).octave) == 0


def test_windows_of_a_minute_every_half() -> None:
    starts, windows = over_time(np.ones(1_800_000), 60_000, 30_000)
    assert len(starts) == len(windows) == 59
    assert over_time(np.ones(10), 60, 30)[1] == []


def test_where_scaling_begins_is_found() -> None:
    # White noise on top of long-range dependence hides it at small octaves.
    series = fractional_noise(0.9, 2**16, 2) + 2 * np.random.default_rng(2).standard_normal(2**16)
    found = diagram(series)
    assert fit(found, 1, 12).q < 0.05
    assert choose_j1(found, 12) > 2


def test_independence() -> None:
    random = np.random.default_rng(11)
    free = random.poisson(0.05, 300_000)
    found = independence(free, 150, 60_000)
    assert found["p"] > 0.01 and abs(found["strongest"]) < 0.01
    assert found["windows"] == 5 and found["rejected_share"] <= 0.2
    bound = np.repeat(random.poisson(0.05, 30_000), 10)
    assert independence(bound, 150, 60_000)["rejected_share"] == 1.0
    nothing = independence(np.zeros(1000), 150, 500)
    assert nothing["p"] is None and nothing["windows"] == 0 and nothing["rejected_share"] is None


def test_autocorrelation_and_statistic_by_hand() -> None:
    series = np.array([1.0, 2.0, 4.0, 1.0, 0.0, 3.0, 2.0, 3.0])
    centred = series - series.mean()
    wanted = [float(centred[k:] @ centred[:-k] / (centred @ centred)) for k in (1, 2)]
    assert autocorrelation(series, 2) == pytest.approx(wanted)
    n = len(series)
    statistic, p = ljung_box(series, 2)
    assert statistic == pytest.approx(n * (n + 2) * (wanted[0] ** 2 / (n - 1) + wanted[1] ** 2 / (n - 2)))
    assert p == pytest.approx(np.exp(-statistic / 2))  # χ² of two degrees of freedom
