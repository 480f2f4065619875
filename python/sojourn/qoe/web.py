"""Scores of web page loads: page load time, its MOS, and what the time went into.

MOS follows ITU-T G.1030's one-page model: logarithmic in the page load time between excellent (5, at the
best time the path allows) and bad (1, at 6 s).

Loads that had not ended when the run did are right-censored: the page took longer than the time so far.
The distribution is therefore the Kaplan–Meier estimate (E. L. Kaplan, P. Meier, "Nonparametric estimation
from incomplete observations", 1958), whose quantiles are those of the sample when nothing is censored.
Where so many loads never ended that a quantile is not reached, the longest time seen is given as its
lower bound, named in `bounded`, and its MOS is 1: a page that does not come is a bad page.

Differences: the recommendation's sessions of several pages are not modelled. With loads that all ended,
quantiles are order statistics (the least time that at least the share q of loads have), not interpolated,
except for the median of an even number, which is the mean of the middle two (of the last that ended and the
longest time seen, if the others never ended: a lower bound then).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn import _core
from sojourn.qoe.columns import require
from sojourn.qoe.quantiles import STATISTICS
from sojourn.study.units import seconds

_COLUMNS = ("plt_ns", "complete", "rtt_ns", "repair_ns")
_QUANTILES = {"median": 0.5, "p5": 0.05, "p25": 0.25, "p75": 0.75, "p95": 0.95}
_EDGE = 1e-9


def mos_of_plt(plt_s: ArrayLike, best_s: float = 0.56, worst_s: float = 6.0) -> NDArray[np.float64]:
    """MOS of page load times.

    Parameters
    ----------
    plt_s : array_like
        Seconds, any shape.
    best_s, worst_s : float
        Times that score 5 and 1.

    Returns
    -------
    ndarray
        In [1, 5].
    """
    t = np.asarray(plt_s, dtype=np.float64)
    return _core.mos_of_plt(t.ravel(), best_s, worst_s).reshape(t.shape)


@dataclass(frozen=True)
class Survival:
    """Kaplan–Meier estimate of a distribution of times.

    Attributes
    ----------
    times, mass : ndarray, shape (k,)
        Times at which something ended, increasing, and the probability of each.
    rest : float
        Probability of lasting longer than anything that ended.
    longest : float
        The longest time seen, ended or not.
    """

    times: NDArray[np.float64]
    mass: NDArray[np.float64]
    rest: float
    longest: float

    def quantile(self, q: float) -> float | None:
        """Least time by which the share `q` has ended; None if that is not reached."""
        reached = np.cumsum(self.mass)
        at = int(np.searchsorted(reached, q - _EDGE))
        if at >= self.times.size:
            return None
        if q == 0.5 and abs(reached[at] - q) <= _EDGE:
            upper = self.times[at + 1] if at + 1 < self.times.size else self.longest
            return float(self.times[at] + upper) / 2.0
        return float(self.times[at])

    def mean_of(self, values: NDArray[np.float64], of_rest: float) -> float:
        """Mean of what the times are worth, and of what lasts longer."""
        return float(values @ self.mass) + self.rest * of_rest

    def statistics(self) -> tuple[dict[str, float], list[str]]:
        """Return "median", "mean", "p5" … "p95", and the names of those that are lower bounds only."""
        found = {name: self.quantile(q) for name, q in _QUANTILES.items()}
        bounded = [name for name, time in found.items() if time is None]
        if found["median"] is not None and self.rest >= 0.5 - _EDGE:
            bounded.insert(0, "median")  # of the middle two one had not ended, as of two loads
        times = {name: self.longest if time is None else time for name, time in found.items()}
        times["mean"] = self.mean_of(self.times, self.longest)
        if self.rest > _EDGE:
            bounded.append("mean")
        return {name: times[name] for name in STATISTICS}, bounded


def kaplan_meier(times: ArrayLike, ended: ArrayLike) -> Survival:
    """Distribution of times of which some are only known to be longer.

    Parameters
    ----------
    times : array_like, shape (n,), n >= 1
    ended : array_like of bool, shape (n,)
        False where the time is a lower bound.

    Returns
    -------
    Survival

    Raises
    ------
    ValueError
        If there are no times, or the shapes differ.
    """
    t, e = np.asarray(times, dtype=np.float64), np.asarray(ended, dtype=bool)
    if t.ndim != 1 or t.shape != e.shape or t.size == 0:
        raise ValueError(f"times {t.shape} and ended {e.shape}: expected one value each, at least one")
    at, deaths = np.unique(t[e], return_counts=True)
    risk = t.size - np.searchsorted(np.sort(t), at, side="left")
    survival = np.cumprod(1.0 - deaths / risk)
    before = np.concatenate(([1.0], survival[:-1])) if at.size else survival
    rest = float(survival[-1]) if at.size else 1.0
    return Survival(at, before - survival, rest, float(t.max()))


@dataclass(frozen=True)
class Loads:
    """Page loads of some users; arrays have one entry per load. `best_s` is scored 5, `worst_s` 1."""

    plt_s: NDArray[np.float64]
    complete: NDArray[np.bool_]
    rtt_dominated: NDArray[np.bool_]
    loss_dominated: NDArray[np.bool_]
    best_s: float
    worst_s: float


def score_web(columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any]) -> dict[str, Any]:
    """Score the page loads of one entry of users.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The web table: `plt_ns` (time so far if not complete), `complete`, `rtt_ns`, `repair_ns`.
    user : mapping
        The entry of the scenario's `users`, its defaults filled in.

    Returns
    -------
    dict
        See `summary`; empty without loads.

    Raises
    ------
    ValueError
        If the table is not as expected.
    """
    return summary([loads(columns, user)])


def loads(columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any]) -> Loads:
    """Classify every load; parameters and errors as for `score_web`.

    A load is dominated by round trips if `round-trips` of them take at least half its time, and by losses if
    waiting for retransmissions took at least half.
    """
    require(columns, _COLUMNS, "web")
    times = ("plt_ns", "rtt_ns", "repair_ns")
    plt, rtt, repair = (np.asarray(columns[name]).astype(np.float64) / 1e9 for name in times)
    complete = np.asarray(columns["complete"]).astype(bool)
    if len({c.shape for c in (plt, rtt, repair, complete)}) != 1:
        raise ValueError("the web table's columns differ in length")
    return Loads(
        plt,
        complete,
        user["round-trips"] * rtt >= plt / 2.0,
        repair >= plt / 2.0,
        seconds(user["plt-min"]),
        seconds(user["plt-max"]),
    )


def summary(scored: Sequence[Loads]) -> dict[str, Any]:
    """Statistics over the loads of one or more entries of users.

    Returns
    -------
    dict
        "plt_s" and "mos" as {"median", "mean", "p5", "p25", "p75", "p95"} of the Kaplan–Meier estimate (a low
        percentile of the MOS belongs to slow loads; entries with different best times are scored with the
        first one's); "rtt_dominated", "loss_dominated" (shares of the loads that ended, of all if none did);
        "loads", "unfinished"; "bounded" with the names of the quantiles of `plt_s` that are only lower
        bounds, if any. Empty without loads.
    """
    scored = [s for s in scored if s.plt_s.size]
    if not scored:
        return {}
    plt = np.concatenate([s.plt_s for s in scored])
    complete = np.concatenate([s.complete for s in scored])
    curve = kaplan_meier(plt, complete)
    best, worst = scored[0].best_s, scored[0].worst_s

    times, bounded = curve.statistics()
    slow = {"p5": "p95", "p25": "p75", "p75": "p25", "p95": "p5", "median": "median"}
    mos = {
        name: 1.0 if of in bounded else float(mos_of_plt(times[of], best, worst)) for name, of in slow.items()
    }
    mos["mean"] = curve.mean_of(mos_of_plt(curve.times, best, worst), 1.0)
    counted = complete if complete.any() else np.ones_like(complete)
    out: dict[str, Any] = {
        "plt_s": {name: round(time, 6) for name, time in times.items()},
        "mos": {name: round(mos[name], 4) for name in STATISTICS},
    }
    for name in ("rtt_dominated", "loss_dominated"):
        out[name] = round(float(np.concatenate([getattr(s, name) for s in scored])[counted].mean()), 6)
    out |= {"loads": int(plt.size), "unfinished": int((~complete).sum())}
    if bounded:
        out["bounded"] = bounded
    return out
