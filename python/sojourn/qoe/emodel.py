"""The E-model: transmission rating R, its impairments, and the mapping between R and MOS.

Implements ITU-T G.107 (narrow band, full default model with echo), the delay and loss impairments Idd and
Ie-eff with burst ratio, the R/MOS curve of its Annex B, G.113's equipment impairments, the one-way delay
classes of G.114, and the shortened form of Cole and Rosenbluth ("Voice over IP performance monitoring",
2001).

Differences: MOS is clamped to [1, 4.5] (the printed cubic dips to 0.989 below R = 6.5); MOS to R exists
twice, as Sun's cubic (L. Sun, "Speech quality prediction for voice over Internet protocol networks",
2004), which is what is used to put PESQ on the R scale, and as the exact inverse of the curve by
bisection.

Codecs, Idd, Ie-eff, the burst ratio and the curve are those of the crate `sojourn-qoe`, which pages score
with, too.
"""

from dataclasses import dataclass
from math import exp, log10, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn import _core


@dataclass(frozen=True)
class Codec:
    """Equipment impairment of a codec (G.113 Appendix I).

    Attributes
    ----------
    ie : float
        Impairment without loss, in R units.
    bpl : float
        Robustness against loss, in percent.
    """

    ie: float
    bpl: float


#: Provisional planning values. The measured PESQ of concealed G.711 is far below the parametric value from
#: 3 % of loss on (Bpl belongs to 10 ms packets), so that the two models must not be mixed in one figure.
CODECS: dict[str, Codec] = {name: Codec(ie, bpl) for name, ie, bpl in _core.codecs()}

#: Where the curve leaves MOS 1 for good: the lesser root of (R − 60)(100 − R) = −5000.
_R_OF_ONE = 80.0 - sqrt(5400.0)

#: G.114: up to the first value (ms, one way) acceptable, up to the second if planned for, above not.
DELAY_CLASSES_MS = (150.0, 400.0)

#: Lower edges in MOS and their names: G.109's R = 90, 80, 70, 60, 50 as printed in figures.
SATISFACTION: tuple[tuple[float, str], ...] = (
    (4.3, "very satisfied"),
    (4.0, "satisfied"),
    (3.6, "some dissatisfied"),
    (3.1, "many dissatisfied"),
    (2.6, "nearly all dissatisfied"),
    (1.0, "not recommended"),
)


@dataclass(frozen=True)
class Connection:
    """Planning values of one connection, with G.107's defaults (dB, dBm, ms, percent as there)."""

    slr: float = 8.0
    rlr: float = 2.0
    stmr: float = 15.0
    lstr: float = 18.0
    ds: float = 3.0
    dr: float = 3.0
    telr: float = 65.0
    wepl: float = 110.0
    t: float = 0.0
    tr: float = 0.0
    ta: float = 0.0
    qdu: float = 1.0
    ps: float = 35.0
    pr: float = 35.0
    nc: float = -70.0
    nfor: float = -64.0
    ie: float = 0.0
    bpl: float = 4.3
    ppl: float = 0.0
    burst_r: float = 1.0
    a: float = 0.0


@dataclass(frozen=True)
class Rating:
    """The transmission rating ``r`` and the parts that it is made of, all in R units (``no`` in dBm0p)."""

    r: float
    ro: float
    no: float
    is_: float
    iolr: float
    ist: float
    iq: float
    id_: float
    idte: float
    idle: float
    idd: float
    ie_eff: float


def _power_sum(*levels: float) -> float:
    return 10.0 * log10(sum(10.0 ** (level / 10.0) for level in levels))


def rating(c: Connection | None = None) -> Rating:
    """The full G.107 computation.

    Parameters
    ----------
    c : Connection, optional
        Planning values; the defaults give R = 93.2.

    Returns
    -------
    Rating
    """
    c = c or Connection()
    olr = c.slr + c.rlr
    nos = c.ps - c.slr - c.ds - 100.0 + 0.004 * (c.ps - olr - c.ds - 14.0) ** 2
    pre = c.pr + 10.0 * log10(1.0 + 10.0 ** ((10.0 - c.lstr) / 10.0))
    nor = c.rlr - 121.0 + pre + 0.008 * (pre - 35.0) ** 2
    no = _power_sum(c.nc, nos, nor, c.nfor + c.rlr)
    ro = 15.0 - 1.5 * (c.slr + no)

    x = olr + 0.2 * (64.0 + no - c.rlr)
    iolr = 20.0 * ((1.0 + (x / 8.0) ** 8) ** 0.125 - x / 8.0)
    stmro = -10.0 * log10(10.0 ** (-c.stmr / 10.0) + exp(-c.t / 4.0) * 10.0 ** (-c.telr / 10.0))
    ist = (
        12.0 * (1.0 + ((stmro - 13.0) / 6.0) ** 8) ** (1.0 / 8.0)
        - 28.0 * (1.0 + ((stmro + 1.0) / 19.4) ** 35) ** (1.0 / 35.0)
        - 13.0 * (1.0 + ((stmro - 3.0) / 33.0) ** 13) ** (1.0 / 13.0)
        + 29.0
    )
    q = 37.0 - 15.0 * log10(c.qdu)
    g = 1.07 + 0.258 * q + 0.0602 * q * q
    iq = 15.0 * log10(
        1.0 + 10.0 ** ((ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0) + 10.0 ** (46.0 / 30.0 - g / 40.0)
    )
    is_ = iolr + ist + iq

    idte = 0.0
    if c.t >= 1.0:
        terv = c.telr - 40.0 * log10((1.0 + c.t / 10.0) / (1.0 + c.t / 150.0)) + 6.0 * exp(-0.3 * c.t * c.t)
        if c.stmr < 9.0:
            terv += ist / 2.0
        half = (-1.5 * (no - c.rlr) - (80.0 + 2.5 * (terv - 14.0))) / 2.0
        idte = (half + sqrt(half * half + 100.0) - 1.0) * (1.0 - exp(-c.t))
        if c.stmr > 20.0:
            idte = sqrt(idte * idte + ist * ist)
    half = (ro - 10.5 * (c.wepl + 7.0) * (c.tr + 1.0) ** -0.25) / 2.0
    idle = half + sqrt(half * half + 169.0)
    delay = float(idd(c.ta))
    id_ = idte + idle + delay

    loss = float(ie_eff(c.ie, c.bpl, c.ppl, c.burst_r))
    return Rating(ro - is_ - id_ - loss + c.a, ro, no, is_, iolr, ist, iq, id_, idte, idle, delay, loss)


def idd(ta_ms: ArrayLike, mt_ms: float = 100.0, st: float = 1.0) -> NDArray[np.float64]:
    """Impairment by too long an absolute delay.

    Parameters
    ----------
    ta_ms : array_like
        One-way mouth-to-ear delay in milliseconds, any shape.
    mt_ms, st : float
        Minimum perceivable delay (ms) and delay sensitivity.

    Returns
    -------
    ndarray
        R units in [0, 50), the shape of ``ta_ms``; 0 up to ``mt_ms``.
    """
    ta = np.asarray(ta_ms, dtype=np.float64)
    return _core.idd(ta.ravel(), mt_ms, st).reshape(ta.shape)


def ie_eff(ie: float, bpl: float, ppl: ArrayLike, burst_r: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Effective equipment impairment under packet loss.

    Parameters
    ----------
    ie, bpl : float
        Of the codec, see `CODECS`.
    ppl : array_like
        Packet loss in percent.
    burst_r : array_like
        Burst ratio, 1 for random loss.

    Returns
    -------
    ndarray
        R units in [ie, 95).
    """
    p, burst = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (ppl, burst_r)))
    return _core.ie_eff(ie, bpl, p.ravel(), burst.ravel()).reshape(p.shape)


def burst_ratio(erased: ArrayLike) -> float:
    """Mean length of the observed loss bursts over the one expected of random loss at the same rate.

    Parameters
    ----------
    erased : array_like of bool, shape (n,)
        Frames that were not played, in order.

    Returns
    -------
    float
        1 when nothing or everything is erased; otherwise at least 1 (losses spaced more evenly than at random
        count as random: G.107 gives no meaning to less).
    """
    return _core.burst_ratio(np.ascontiguousarray(erased, dtype=bool))


def cole_rosenbluth(
    delay_ms: ArrayLike, loss: ArrayLike, a: float = 11.0, b: float = 40.0, c: float = 10.0
) -> NDArray[np.float64]:
    """R by Cole and Rosenbluth's linear fit; the defaults are G.729A.

    Parameters
    ----------
    delay_ms : array_like
        One-way delay in milliseconds.
    loss : array_like
        Loss as a fraction.
    a, b, c : float
        Codec's loss curve a + b·ln(1 + c·loss).

    Returns
    -------
    ndarray
        R, not clamped.
    """
    d = np.asarray(delay_ms, dtype=np.float64)
    late = np.maximum(d - 177.3, 0.0)
    return 94.2 - 0.024 * d - 0.11 * late - a - b * np.log1p(c * np.asarray(loss, dtype=np.float64))


def r_to_mos(r: ArrayLike) -> NDArray[np.float64]:
    """MOS of a rating: G.107's curve, clamped to [1, 4.5].

    Parameters
    ----------
    r : array_like
        Ratings, any shape.

    Returns
    -------
    ndarray
    """
    x = np.asarray(r, dtype=np.float64)
    return _core.r_to_mos(x.ravel()).reshape(x.shape)


def sun_mos_to_r(mos: ArrayLike) -> NDArray[np.float64]:
    """R of a MOS by Sun's cubic, which puts PESQ on the R scale (about 1 R unit off the exact inverse).

    Parameters
    ----------
    mos : array_like
        MOS in [1, 4.5486].

    Returns
    -------
    ndarray
        From 7.4 at MOS 1 to 99.7 at 4.5486.
    """
    m = np.asarray(mos, dtype=np.float64)
    return ((3.026 * m - 25.314) * m + 87.060) * m - 57.336


def mos_to_r(mos: ArrayLike) -> NDArray[np.float64]:
    """Exact inverse of `r_to_mos` on its increasing branch, by bisection.

    Parameters
    ----------
    mos : array_like
        MOS; values outside [1, 4.5] are clamped.

    Returns
    -------
    ndarray
        R in [6.515, 100].
    """
    m = np.clip(np.asarray(mos, dtype=np.float64), 1.0, 4.5)
    lo, hi = np.full(m.shape, _R_OF_ONE), np.full(m.shape, 100.0)
    for _ in range(60):
        mid = (lo + hi) / 2.0
        below = r_to_mos(mid) < m
        lo, hi = np.where(below, mid, lo), np.where(below, hi, mid)
    return np.where(m >= 4.5, 100.0, (lo + hi) / 2.0)


def delay_class(delay_ms: float) -> str:
    """G.114's class of a one-way delay in milliseconds: ``"green"``, ``"orange"`` or ``"red"``."""
    good, planned = DELAY_CLASSES_MS
    return "green" if delay_ms <= good else "orange" if delay_ms <= planned else "red"


def satisfaction(mos: float) -> str:
    """Name of the satisfaction class that a MOS falls into (lower edges in `SATISFACTION`)."""
    return next((name for edge, name in SATISFACTION if mos >= edge), SATISFACTION[-1][1])


#: Rating of a connection with G.107's defaults, from which the parametric score starts: that of `rating`.
R_DEFAULT = _core.r_default()
