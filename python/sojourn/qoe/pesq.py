"""PESQ through the optional `pesq` package, and the mappings of P.862.1 and P.862.2.

Implements the call of ITU-T P.862 (narrow band) on 8 kHz signals and of P.862.2 (wide band) on 16 kHz ones,
and the mappings of the raw score to MOS-LQO with their inverses. The package returns the mapped score.

Differences: a received signal that PESQ cannot score (silence, no utterance found) is the worst speech
there is and scores 1.0; such cases are counted by the caller. The package's C sources carry the ITU
rights holders' notice (evaluation use), so that it is an optional dependency and never part of this one.
"""

from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from pesq import pesq as _pesq
except ImportError:
    _pesq = None


#: Sampling rate of narrow-band signals, in hertz.
RATE_HZ = 8000
#: Sampling rate of wide-band signals, in hertz.
WIDE_HZ = 16000

#: Score of speech that PESQ cannot score.
WORST = 1.0

MISSING = "PESQ needs the optional package `pesq`: pip install 'sojourn[speech]' (a C compiler is required)"


def available() -> bool:
    """Whether the `pesq` package can be imported."""
    return _pesq is not None


def mos_lqo(reference: NDArray[Any], degraded: NDArray[Any], rate_hz: int = RATE_HZ) -> tuple[float, bool]:
    """Listening quality of a received signal.

    Parameters
    ----------
    reference, degraded : ndarray, shape (n,)
        Sent and received speech, int16 or float in [-1, 1]; the received one starts at the playout of the
        first frame (network delay must not be in it: it is scored elsewhere).
    rate_hz : int
        8000 for narrow-band PESQ, 16000 for wide-band.

    Returns
    -------
    lqo : float
        MOS-LQO: by P.862.1 1.0 to 4.5486, by P.862.2 1.04 to 4.6439.
    scored : bool
        False if PESQ could not score the signal (then `lqo` is 1.0).

    Raises
    ------
    RuntimeError
        If the package is not installed.
    """
    if _pesq is None:
        raise RuntimeError(MISSING)
    if not degraded.any():
        return WORST, False
    try:
        score = float(_pesq(rate_hz, reference, degraded, "nb" if rate_hz == RATE_HZ else "wb"))
    except (ValueError, RuntimeError):
        return WORST, False
    if not np.isfinite(score):
        return WORST, False
    return max(WORST, score), True


def raw_to_lqo(raw: ArrayLike) -> NDArray[np.float64]:
    """P.862.1: MOS-LQO of raw PESQ scores (-0.5 to 4.5), any shape."""
    return 0.999 + 4.0 / (1.0 + np.exp(4.6607 - 1.4945 * np.asarray(raw, dtype=np.float64)))


def lqo_to_raw(lqo: float) -> float:
    """Inverse of `raw_to_lqo`.

    Raises
    ------
    ValueError
        If `lqo` is not between the asymptotes 0.999 and 4.999.
    """
    if not 0.999 < lqo < 4.999:
        raise ValueError(f"MOS-LQO {lqo} is outside of P.862.1's range: expected a value in (0.999, 4.999)")
    return (4.6607 - log(4.0 / (lqo - 0.999) - 1.0)) / 1.4945


def wide_raw_to_lqo(raw: ArrayLike) -> NDArray[np.float64]:
    """P.862.2: MOS-LQO of raw wide-band PESQ scores (-0.5 to 4.5), any shape."""
    return 0.999 + 4.0 / (1.0 + np.exp(3.8224 - 1.3669 * np.asarray(raw, dtype=np.float64)))


def wide_lqo_to_raw(lqo: float) -> float:
    """Inverse of `wide_raw_to_lqo`; errors as `lqo_to_raw`."""
    if not 0.999 < lqo < 4.999:
        raise ValueError(f"MOS-LQO {lqo} is outside of P.862.2's range: expected a value in (0.999, 4.999)")
    return (3.8224 - log(4.0 / (lqo - 0.999) - 1.0)) / 1.3669
