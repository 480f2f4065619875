"""What results say of many scores: median, mean and percentiles."""

import numpy as np
from numpy.typing import NDArray

from sojourn import _core

STATISTICS = ("median", "mean", "p5", "p25", "p75", "p95")


def statistics(values: NDArray[np.float64], digits: int) -> dict[str, float | None]:
    """Median, mean and percentiles of the values that are not NaN, rounded; None if there are none."""
    found = _core.statistics(np.ascontiguousarray(values, dtype=np.float64), digits)
    return dict(zip(STATISTICS, found, strict=True))
