"""What viewers of a live stream see: latency, playback rate, jumps.

Source: the quantities of DASH-IF's low-latency live and of RFC 9317, section 4: latency is the time
from when a picture is taken to when it is shown. It is read every 250 ms from when playing begins, stalls
included.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.quantiles import statistics

Table = Mapping[str, NDArray[Any]]

_LOOKS_PER_POINT = 4
"""Of a viewer's course one look in a second is kept."""


def score_live(looks: Table, warmup_s: float) -> dict[str, Any]:
    """Summarise what was seen of live viewers, together.

    Parameters
    ----------
    looks : mapping of str to ndarray
        `time_ns`, `latency_s`, `rate` (0 in a stall), `buffer_s` and `jumped_s`, a row per look.
    warmup_s : float
        Looks before are left out.

    Returns
    -------
    dict
        "latency_s" (mean and percentiles over looks); "rate" (the same of the playback rate while
        playing) and "rate_deviation" (its mean distance from 1); "jumps" and "jumped_s"
        (sums). Empty without a look.
    """
    counted = looks["time_ns"] >= warmup_s * 1e9
    if not counted.any():
        return {}
    rate, jumped = looks["rate"][counted], looks["jumped_s"][counted]
    playing = np.where(rate > 0, rate, np.nan)
    deviation = np.abs(rate[rate > 0] - 1)
    return {
        "latency_s": statistics(looks["latency_s"][counted], 6),
        "rate": statistics(playing, 6),
        "rate_deviation": round(float(deviation.mean()), 6) if deviation.size else None,
        "jumps": int((jumped > 0).sum()),
        "jumped_s": round(float(jumped.sum()), 6),
    }


def course(looks: Table) -> dict[str, list[float]]:
    """Return the course of one viewer, a point a second: "time_s", "latency_s", "rate", "buffer_s"."""
    kept = slice(None, None, _LOOKS_PER_POINT)
    times = np.round(looks["time_ns"][kept] / 1e9, 3).tolist()
    return {"time_s": times} | {
        name: np.round(looks[name][kept], 4).tolist() for name in ("latency_s", "rate", "buffer_s")
    }
