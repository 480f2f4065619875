"""Wavelet log-scale diagram: how the energy of a series of counts is spread over time scales.

Source: P. Abry, D. Veitch, "Wavelet analysis of long-range-dependent traffic", IEEE Trans. Inf. Theory
44(1), 1998; confidence intervals and goodness of fit as in D. Veitch, P. Abry, "A wavelet-based joint
estimator of the parameters of long-range dependence", IEEE Trans. Inf. Theory 45(3), 1999; over time: S.
Uhlig, "Non-stationarity and high-order scaling in TCP flow arrivals", 2004. Octave j is a scale of 2^j
bins. Differences: no special initialisation of the pyramid for discrete series, which at the smallest
octaves biases wavelets of more than one vanishing moment (use j1 ≥ 3 for 3); counts n_j/2 are not
truncated to integers; and the choice of j1 is a simple one of our own (:func:`choose_j1`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pywt

from sojourn.losses.sparse import Sparse

LOG2_E = float(np.log2(np.e))
LEAST_Q = 0.05
JUMP = 5.0
"""Q grows by more than this factor from one j1 to the next: the fit still excludes a misfit."""


@dataclass(frozen=True)
class Diagram:
    """Energy by octave; octaves without energy are left out.

    `octave`, `n` (coefficients), `y` (log2 of the mean energy, bias corrected) and `variance` (of `y`,
    exact for uncorrelated Gaussian coefficients) have the same length.
    """

    octave: np.ndarray
    n: np.ndarray
    y: np.ndarray
    variance: np.ndarray

    @property
    def half_width(self) -> np.ndarray:
        """Half of the 95 % confidence interval of `y`."""
        return 1.96 * np.sqrt(self.variance)

    def as_dict(self) -> dict[str, list[float]]:
        """Return octave, energy and the ends of its interval."""
        low, high = self.y - self.half_width, self.y + self.half_width
        return {
            "octave": self.octave.tolist(),
            "log2_energy": self.y.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
        }


@dataclass(frozen=True)
class Fit:
    """A weighted line through the octaves j1 to j2."""

    j1: int
    j2: int
    alpha: float
    """Slope."""
    intercept: float
    sd: float
    """Standard deviation of the slope."""
    q: float | None
    """Probability of a misfit at least so bad if the line holds; None of two octaves."""

    @property
    def hurst(self) -> float:
        """Hurst parameter: of a stationary series, or of a self-similar path if the slope exceeds 1."""
        return (self.alpha + 1) / 2 if self.alpha <= 1 else (self.alpha - 1) / 2

    def as_dict(self) -> dict[str, Any]:
        """Return the fit as plain values."""
        return {
            "j1": self.j1,
            "j2": self.j2,
            "alpha": self.alpha,
            "alpha_low": self.alpha - 1.96 * self.sd,
            "alpha_high": self.alpha + 1.96 * self.sd,
            "hurst": self.hurst,
            "hurst_low": self.hurst - 0.98 * self.sd,
            "hurst_high": self.hurst + 0.98 * self.sd,
            "q": self.q,
        }


def diagram(counts: np.ndarray | Sparse, moments: int = 1) -> Diagram:
    """Return the log-scale diagram of a series.

    Parameters
    ----------
    counts
        The series, shape (n,).
    moments
        Vanishing moments of the Daubechies wavelet, 1 (Haar) to 10.
    """
    from scipy.special import digamma, zeta  # slow to import

    wavelet = pywt.Wavelet(f"db{moments}")
    low, high = np.asarray(wavelet.dec_lo), np.asarray(wavelet.dec_hi)
    smooth = counts if isinstance(counts, Sparse) else np.asarray(counts, dtype=np.float64)
    rows = []
    octave = 0
    while True:
        octave += 1
        # Only coefficients whose filter lies within the data, and no octave with too few of them.
        n = (len(smooth) - len(low)) // 2 + 1
        if n <= len(low):
            break
        detail, smooth = _halved(smooth, high), _halved(smooth, low)
        energy = detail.mean_square() if isinstance(detail, Sparse) else float(np.mean(detail**2))
        if energy > 1e-20:
            bias = float(digamma(n / 2)) * LOG2_E - np.log2(n / 2)
            rows.append((octave, n, np.log2(energy) - bias, LOG2_E**2 * float(zeta(2, n / 2))))
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    kinds = (np.int64, np.int64, np.float64, np.float64)
    return Diagram(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)))


def _halved(series: np.ndarray | Sparse, taps: np.ndarray) -> np.ndarray | Sparse:
    """Filter a series and keep every second value."""
    return series.filtered(taps) if isinstance(series, Sparse) else np.convolve(series, taps, "valid")[::2]


def fit(found: Diagram, j1: int, j2: int) -> Fit | None:
    """Fit a line to the octaves j1 to j2, weighted by their variances; None if fewer than two have energy."""
    from scipy.special import gammaincc  # slow to import

    inside = (found.octave >= j1) & (found.octave <= j2)
    j, y, v = found.octave[inside].astype(float), found.y[inside], found.variance[inside]
    if len(j) < 2:
        return None
    s0, s1, s2 = (float(np.sum(j**power / v)) for power in range(3))
    determinant = s0 * s2 - s1 * s1
    slope = (s0 * j - s1) / (v * determinant)
    constant = (s2 - s1 * j) / (v * determinant)
    alpha, intercept = float(slope @ y), float(constant @ y)
    misfit = float(np.sum((y - alpha * j - intercept) ** 2 / v))
    q = float(gammaincc((len(j) - 2) / 2, misfit / 2)) if len(j) > 2 else None
    return Fit(int(j[0]), int(j[-1]), alpha, intercept, float(np.sqrt(np.sum(v * slope**2))), q)


def choose_j1(found: Diagram, j2: int, least: int = 1) -> int | None:
    """Return the smallest octave from which a line to j2 fits, None if there is none."""
    fits = {j1: fit(found, j1, j2) for j1 in range(least, j2 - 1)}
    return first_fit({j1: f.q for j1, f in fits.items() if f is not None and f.q is not None})


def first_fit(quality: Mapping[int, float]) -> int | None:
    """Return the first j1 whose Q is at least 0.05 and does not jump at the next."""
    for j1, q in quality.items():
        if q >= LEAST_Q and quality.get(j1 + 1, q) <= JUMP * q:
            return j1
    return None


def over_time(
    counts: np.ndarray | Sparse, window: int, step: int, moments: int = 1
) -> tuple[np.ndarray, list[Diagram]]:
    """Return where windows of so many bins begin, and the log-scale diagram of each.

    Of a sparse series, only the windows that are not empty.
    """
    if isinstance(counts, Sparse):
        starts = counts.windows(window, step) * step
    else:
        starts = np.arange(0, max(len(counts) - window, -1) + 1, step)
    return starts, [diagram(counts[start : start + window], moments) for start in starts]
