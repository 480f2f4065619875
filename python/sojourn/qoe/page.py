"""Scores of a web page of today: load time, first and largest paint, and the published bands of the latter.

Bands: web.dev's Core Web Vitals call a largest paint good up to 2.5 s and poor beyond 4 s, at the 75th
percentile of visits. They were made for what users of all devices see; here the paint is what the network
alone takes, so a page in the good band may still be slow on a slow device. No opinion score is given:
ITU-T G.1030 asked about small pages that came at once or not at all, and no recommendation scores a page of
today.

Loads that had not ended when the run did are right-censored, as in `web`; those given up took longer than
the user's patience. What a page is made of, and when that was measured, is in `made_of`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.browser import ABANDONED, COMPLETE, UNDER_WAY
from sojourn.qoe.columns import require
from sojourn.qoe.web import kaplan_meier

GOOD_S, POOR_S = 2.5, 4.0
MADE_OF = "HTTP Archive, July 2025: medians by type"
_COLUMNS = ("load_ns", "fate", "first_paint_ns", "largest_paint_ns", "requests", "connections", "bytes")


def score_page(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Score loads of pages of today.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The page table: `load_ns`, `fate` (0 under way at the end, 1 complete, 2 given up),
        `first_paint_ns` and `largest_paint_ns` (-1 if it did not come), `requests`, `connections`, `bytes`,
        `retransmits`.

    Returns
    -------
    dict
        "load_s", "first_paint_s", "largest_paint_s", each with "median", "mean", "p5" … "p95" of the
        Kaplan–Meier estimate (where so few came that one is not reached, the longest time seen, and its
        name under "bounded"); "good" and "poor" (shares of loads whose largest paint is in that band, of
        those of which it is known); "abandoned" (of those that ended), "loads", "unfinished",
        "connections", "requests" and "bytes" (means of complete loads), "made_of". Empty without loads.

    Raises
    ------
    ValueError
        A column is missing.
    """
    require(columns, _COLUMNS, "page")
    fate = np.asarray(columns["fate"])
    if not fate.size:
        return {}
    load = np.asarray(columns["load_ns"]) / 1e9
    times = {"load_s": np.where(fate == COMPLETE, load, -1.0)} | {
        f"{name}_s": np.asarray(columns[f"{name}_ns"]) / 1e9 for name in ("first_paint", "largest_paint")
    }
    out: dict[str, Any] = {}
    bounded: list[str] = []
    for name, seconds in times.items():
        came = seconds >= 0
        curve = kaplan_meier(np.where(came, seconds, load), came)
        found, lower = curve.statistics()
        out[name] = {of: round(value, 6) for of, value in found.items()}
        bounded += [f"{name}.{of}" for of in lower]
    paint = times["largest_paint_s"]
    # A paint that has not come is poor once it has taken that long; before, nobody knows.
    known = (paint >= 0) | (load > POOR_S)
    good, poor = (paint >= 0) & (paint <= GOOD_S), np.where(paint >= 0, paint, load) > POOR_S
    ended = fate != UNDER_WAY
    out |= {
        "good": _share(good[known]),
        "poor": _share(poor[known]),
        "abandoned": _share((fate == ABANDONED)[ended]),
        "loads": int(fate.size),
        "unfinished": int((~ended).sum()),
    }
    complete = fate == COMPLETE
    for name in ("connections", "requests", "bytes"):
        values = np.asarray(columns[name])[complete]
        out[name] = round(float(values.mean()), 3) if values.size else None
    out["made_of"] = MADE_OF
    if bounded:
        out["bounded"] = bounded
    return out


def _share(of: NDArray[np.bool_]) -> float | None:
    return round(float(of.mean()), 6) if of.size else None
