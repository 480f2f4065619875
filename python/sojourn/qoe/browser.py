"""Scores of browsing: page load times of the pages that came, and the share that was given up.

Source: the [has] study's web clients: the page load time is reported over completed pages, beside the share
of abandoned ones. A load under way at the end of the run counts for neither.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.columns import require
from sojourn.qoe.quantiles import statistics

UNDER_WAY, COMPLETE, ABANDONED = 0, 1, 2
"""Fates of a load, of pages of today (:mod:`.page`) too."""
_COLUMNS = ("plt_ns", "fate", "bytes")


def score_browser(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Score page loads.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The browser table: `plt_ns`, `fate` (0 under way at the end, 1 complete, 2 abandoned), `bytes`.

    Returns
    -------
    dict
        "plt_s" with "median", "mean", "p5" … "p95" over completed loads (absent if there are none),
        "abandoned" (share of the loads that ended), "loads" (that ended), "unfinished", and
        "completed_mb", the mean size of a completed page. Empty without loads that ended.

    Raises
    ------
    ValueError
        A column is missing.
    """
    require(columns, _COLUMNS, "browser")
    fate = np.asarray(columns["fate"])
    complete, abandoned = fate == COMPLETE, fate == ABANDONED
    ended = int(complete.sum() + abandoned.sum())
    if not ended:
        return {}
    out: dict[str, Any] = {}
    times = np.asarray(columns["plt_ns"])[complete] / 1e9
    if times.size:
        out["plt_s"] = statistics(times, 6)
        out["plt_s"]["mean"] = out["plt_s"].pop("mean")  # the last, as in results that are kept
        size = np.asarray(columns["bytes"])[complete].astype(np.float64).mean()
        out["completed_mb"] = round(float(size) / 1e6, 6)
    out |= {
        "abandoned": round(float(abandoned.sum()) / ended, 6),
        "loads": ended,
        "unfinished": int((fate == UNDER_WAY).sum()),
    }
    return out
