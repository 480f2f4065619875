"""What results say of many scores: median, mean and percentiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_QUANTILES = {"median": 50.0, "p5": 5.0, "p25": 25.0, "p75": 75.0, "p95": 95.0}
_ORDER = ("median", "mean", "p5", "p25", "p75", "p95")


def statistics(values: NDArray[np.float64], digits: int) -> dict[str, float | None]:
    """Median, mean and percentiles of the values that are not NaN, rounded; None if there are none."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return dict.fromkeys(_ORDER)
    found = {name: float(np.percentile(known, q)) for name, q in _QUANTILES.items()}
    found["mean"] = float(known.mean())
    return {name: round(found[name], digits) for name in _ORDER}
