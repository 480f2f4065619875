"""The wide-band E-model: rating R on the scale of 129, its impairments, and MOS.

Implements ITU-T G.107.1 (06/2019): R = Ro − Is − Id − Ie,eff + A with Ro = 129, Is = 0, and Rx = R / 1.29
through G.107's curve. Equipment impairments of G.113 Appendix IV; of Opus those that Al-Ahmadi, Počta and
Melvin fitted to instrumental scores.

Source: not the Recommendation's own text but transcriptions of it, as far as they agree with each other.
`REMEMBERED` says what stands here from memory or from one witness only; a score that goes by this model says
so in its note.

The impairments are those of the crate `sojourn-qoe`, which pages score with, too.

Differences: the listener's echo (Idle) is left out: it is nothing at G.107's WEPL of 110 dB.
"""

from math import exp, log10, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn import _core
from sojourn.qoe import emodel
from sojourn.qoe.emodel import Codec

_RO, _SCALE, _CODECS, _REMEMBERED = _core.wideband()

#: Basic signal-to-noise ratio: the best rating that there is.
RO = _RO
#: R of the wide-band scale over R of G.107's.
SCALE = _SCALE

#: What has no source that was read.
REMEMBERED = _REMEMBERED

#: By name, equipment impairments on the scale of 129; all but those of Opus from memory. Opus: coded at so
#: many kbit/s, independent losses.
CODECS: dict[str, Codec] = {name: Codec(ie, bpl) for name, ie, bpl in _CODECS}


def opus(rate_kbps: float) -> Codec:
    """Impairments of Opus at the rate nearest to one in kbit/s of those that were measured."""
    return Codec(*_core.opus_impairment(rate_kbps))


def idd(ta_ms: ArrayLike) -> NDArray[np.float64]:
    """Impairment by too long an absolute delay.

    Parameters
    ----------
    ta_ms : array_like
        One-way mouth-to-ear delay in milliseconds, any shape.

    Returns
    -------
    ndarray
        R units of the wide-band scale in [0, 64.5); 0 up to 100 ms.
    """
    return SCALE * emodel.idd(ta_ms)


def idte(t_ms: float, telr_db: float = 65.0) -> float:
    """Impairment by the talker's echo.

    Parameters
    ----------
    t_ms : float
        Mean one-way delay of the echo path in milliseconds.
    telr_db : float
        Talker echo loudness rating; infinite without echo.
    """
    if telr_db == float("inf"):
        return 0.0
    k = 0.08 * t_ms + 10.0 if t_ms < 100.0 else 18.0
    path = 40.0 * log10((1.0 + t_ms / 10.0) / (1.0 + t_ms / 150.0))
    terv = telr_db + k - path + 6.0 * exp(-0.3 * t_ms * t_ms)
    half = (RO - (80.0 + 3.0 * (terv - 14.0))) / 2.0
    return (half + sqrt(half * half + 100.0) - 1.0) * (1.0 - exp(-t_ms))


def ie_eff(codec: Codec, ppl: ArrayLike, burst_r: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Effective equipment impairment at a packet loss in percent; `burst_r` is 1 for random loss."""
    return emodel.ie_eff(codec.ie, codec.bpl, ppl, burst_r)


def rating(
    codec: Codec | None = None,
    *,
    ta_ms: float = 0.0,
    ppl: float = 0.0,
    burst_r: float = 1.0,
    telr_db: float = float("inf"),
    a: float = 0.0,
) -> float:
    """Return R of a connection; without a codec that of an unimpaired one."""
    coding = 0.0 if codec is None else float(ie_eff(codec, ppl, burst_r))
    return RO - idte(ta_ms, telr_db) - float(idd(ta_ms)) - coding + a


def r_to_mos(r: ArrayLike) -> NDArray[np.float64]:
    """MOS of wide-band ratings, in [1, 4.5]."""
    return emodel.r_to_mos(np.asarray(r, dtype=np.float64) / SCALE)


def mos_to_r(mos: ArrayLike) -> NDArray[np.float64]:
    """Wide-band ratings of MOS, the exact inverse of `r_to_mos` on its increasing branch."""
    return SCALE * emodel.mos_to_r(mos)
