"""The log-scale diagram against series whose scaling is known."""

from __future__ import annotations

import numpy as np
import pytest
from sojourn.losses.independence import autocorrelation, independence, ljung_box
from sojourn.losses.wavelet import Diagram, Fit, choose_j1, diagram, first_fit, fit, over_time


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


def test_a_line_through_octaves_by_hand() -> None:
    octave, v = np.array([1, 2, 3, 4]), np.array([0.1, 0.2, 0.4, 0.8])
    y = np.array([1.0, 1.6, 2.9, 3.1])
    line = fit(Diagram(octave, np.array([80, 40, 20, 10]), y, v), 1, 4)
    # Least squares with weights 1/v.
    weights = np.diag(1 / v)
    columns = np.stack([np.ones(4), octave], axis=1)
    covariance = np.linalg.inv(columns.T @ weights @ columns)
    intercept, alpha = covariance @ columns.T @ weights @ y
    assert (line.alpha, line.intercept) == pytest.approx((alpha, intercept))
    assert line.sd == pytest.approx(covariance[1, 1] ** 0.5)
    misfit = float(np.sum((y - alpha * octave - intercept) ** 2 / v))
    assert line.q == pytest.approx(np.exp(-misfit / 2))  # χ² of 4 − 2 degrees of freedom
    found = line.as_dict()
    assert (found["alpha_high"] - found["alpha_low"]) / line.sd == pytest.approx(2 * 1.96)
    assert (found["hurst_high"] - found["hurst_low"]) / line.sd == pytest.approx(1.96)
    assert line.alpha < 1 and line.hurst == (line.alpha + 1) / 2
    steep = Fit(1, 4, 1.4, 0.0, 0.1, None)
    assert steep.hurst == pytest.approx(0.2)


def test_the_interval_of_an_octave_is_of_95_percent() -> None:
    found = diagram(np.random.default_rng(1).standard_normal(4096))
    ends = found.as_dict()
    assert found.half_width == pytest.approx(1.96 * found.variance**0.5)
    assert np.subtract(ends["high"], ends["low"]) == pytest.approx(2 * found.half_width)


def test_the_first_octave_that_fits_must_not_be_much_worse_than_the_next() -> None:
    def scored(*q: float) -> int | None:
        return first_fit({j1: value for j1, value in enumerate(q, start=1)})

    assert scored(0.01, 0.04, 0.06, 0.1) == 3
    assert scored(0.06, 0.31, 0.4) == 2  # the next is more than five times as good
    assert scored(0.06, 0.3, 0.4) == 1
    assert scored(0.0, 0.0) is None


def test_the_strongest_dependence_and_its_lag() -> None:
    series = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], 2000) + np.random.default_rng(1).normal(0, 0.1, 10_000)
    found = independence(series, 8, 1000)
    assert found["strongest_lag"] == 5 and found["strongest"] > 0.9
    assert found["windows"] == 10


def test_a_window_is_rejected_at_the_5_percent_level() -> None:
    counts = np.random.default_rng(8).standard_normal(200_000)
    found = independence(counts, 20, 200)
    assert found["windows"] == 1000 and 0.03 < found["rejected_share"] < 0.07
