"""The losses of a link as a series in time: log-scale diagram, also over time, and test of independence."""

from typing import Any

import numpy as np
import polars as pl

from sojourn.losses.independence import independence
from sojourn.losses.period import LOST, Period
from sojourn.losses.sparse import Sparse, counted
from sojourn.losses.wavelet import choose_j1, diagram, fit, over_time

BIN_NS = 1_000_000
WINDOW_S, STEP_S = 60, 30
MOMENTS = 3
"""Vanishing moments of the wavelet that is drawn; fits from octave 1 on use Haar's, unbiased there."""

FIRST_UNBIASED = 3


def loss_counts(arrivals: pl.LazyFrame, period: Period, bin_ns: int = BIN_NS) -> np.ndarray | Sparse:
    """Return the number of dropped packets in each bin of the period, by time of arrival."""
    bins = period.length_ns // bin_ns
    at = arrivals.filter(LOST).select("arrive_ns").collect(engine="streaming")["arrive_ns"].to_numpy()
    places = (at - np.uint64(period.start_ns)) // np.uint64(bin_ns)
    return counted(places, bins)


def scaling(counts: np.ndarray | Sparse, rtt_ns: int | None, bin_ns: int = BIN_NS) -> dict[str, Any]:
    """Return the log-scale diagram of a series of losses, fits to it, and the test of independence.

    Parameters
    ----------
    counts
        Losses in each bin.
    rtt_ns
        Round-trip time; without it nothing is said of the octaves below it.
    bin_ns
        Width of a bin.

    Returns
    -------
    dict
        ``diagram`` (three vanishing moments), ``fit`` of its octaves from the first that fits, ``haar``
        (the diagram of the Haar wavelet), ``below_rtt`` (fit of its octaves shorter than the RTT, and
        ``range``, greatest less least energy there), ``over_time`` (``start_s``, ``octave`` and
        ``log2_energy``, a row for each window; of a series of hours those with losses only) and
        ``independence``.
    """
    whole, haar = diagram(counts, MOMENTS), diagram(counts, 1)
    found: dict[str, Any] = {
        "bin_s": bin_ns / 1e9,
        "diagram": whole.as_dict(),
        "haar": haar.as_dict(),
        "fit": None,
        "below_rtt": None,
    }
    if len(whole.octave):
        last = int(whole.octave[-1])
        j1 = choose_j1(whole, last, FIRST_UNBIASED)
        line = fit(whole, j1, last) if j1 is not None else None
        found["fit"] = line.as_dict() if line else None
    below = int(np.log2(rtt_ns / bin_ns)) if rtt_ns and rtt_ns > bin_ns else 0
    line = fit(haar, 1, below)
    if line is not None:
        inside = haar.y[haar.octave <= below]
        found["below_rtt"] = line.as_dict() | {"range": float(inside.max() - inside.min())}
    second = round(1e9 / bin_ns)
    starts, windows = over_time(counts, WINDOW_S * second, STEP_S * second, MOMENTS)
    octaves = sorted({int(octave) for each in windows for octave in each.octave})
    energy = [dict(zip(each.octave.tolist(), each.y.tolist(), strict=True)) for each in windows]
    found["over_time"] = {
        "start_s": (starts / second).tolist(),
        "octave": octaves,
        "log2_energy": [[each.get(octave) for octave in octaves] for each in energy],
    }
    found["independence"] = independence(counts, max(1, round((rtt_ns or 0) / bin_ns)), WINDOW_S * second)
    return found
