"""Confidence interval of a mean over replications (Student's t)."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import stdev


def half_width(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Return half the width of the confidence interval of the mean, None for fewer than two values."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit  # slow to import

    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    return quantile * stdev(values) / sqrt(len(values))
