"""Sizes of flows: the share of them that are larger than so many bytes."""

from typing import Any

import numpy as np
import polars as pl

STEPS_PER_OCTAVE = 4


def sizes(flows: pl.DataFrame) -> dict[str, Any]:
    """Return the complementary distribution function of flow sizes, at four sizes an octave.

    Returns
    -------
    dict
        ``flows``, ``mean_bytes``, ``max_bytes`` and ``ccdf`` (``bytes``; ``share`` of the flows that are
        larger).
    """
    size = np.sort(flows["bytes"].to_numpy())
    if not len(size):
        return {"flows": 0, "mean_bytes": None, "max_bytes": None, "ccdf": {"bytes": [], "share": []}}
    low = np.floor(np.log2(size[0]) * STEPS_PER_OCTAVE)
    high = np.ceil(np.log2(size[-1]) * STEPS_PER_OCTAVE)
    edges = 2 ** (np.arange(low, high + 1) / STEPS_PER_OCTAVE)
    larger = len(size) - np.searchsorted(size, edges, side="right")
    kept = larger > 0
    return {
        "flows": len(size),
        "mean_bytes": float(size.mean()),
        "max_bytes": int(size[-1]),
        "ccdf": {"bytes": edges[kept].tolist(), "share": (larger[kept] / len(size)).tolist()},
    }
