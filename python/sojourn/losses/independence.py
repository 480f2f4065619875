"""Are losses independent below the round-trip time?

Source: G. Ljung, G. Box, "On a measure of lack of fit in time series models", Biometrika 65(2), 1978: the
portmanteau test, here of the number of losses in 1 ms bins at all lags up to the round-trip time. A run
of half an hour is so long that the smallest dependence is significant, so the test is also made of each
60 s window: of independent losses 5 % of the windows are rejected. The greatest autocorrelation says how
strong the dependence is.
"""

from typing import Any

import numpy as np

from sojourn.losses.sparse import Sparse

LEVEL = 0.05


def autocorrelation(counts: np.ndarray | Sparse, lags: int) -> np.ndarray | None:
    """Return the autocorrelation at lags 1 to `lags`; None of a constant series."""
    if isinstance(counts, Sparse):
        products = counts.products(lags)
        return products[1:] / products[0] if products[0] > 1e-12 else None
    centred = np.asarray(counts, dtype=np.float64)
    centred = centred - centred.mean()
    n = len(centred)
    power = np.abs(np.fft.rfft(centred, 1 << (n + lags).bit_length())) ** 2
    products = np.fft.irfft(power)[: lags + 1]
    return products[1:] / products[0] if products[0] > 1e-12 else None


def ljung_box(counts: np.ndarray | Sparse, lags: int) -> tuple[float, float] | None:
    """Return the statistic of Ljung and Box and its p-value; None of a constant series."""
    from scipy.special import chdtrc  # slow to import

    found = autocorrelation(counts, lags)
    if found is None:
        return None
    n = len(counts)
    statistic = n * (n + 2) * float(np.sum(found**2 / (n - np.arange(1, lags + 1))))
    return statistic, float(chdtrc(lags, statistic))


def independence(counts: np.ndarray | Sparse, lags: int, window: int) -> dict[str, Any]:
    """Test whether counts depend on one another at lags 1 to `lags`.

    Parameters
    ----------
    counts
        Losses in each bin.
    lags
        Greatest lag in bins, as the round-trip time.
    window
        Bins of a window for the repeated test.

    Returns
    -------
    dict
        ``statistic``, ``p`` of the whole series; ``windows`` with losses, ``rejected_share`` of them at
        the 5 % level; the greatest autocorrelation ``strongest`` by size and its lag ``strongest_lag``.
        Null where there were no losses.
    """
    lags = max(1, min(lags, len(counts) // 4))
    whole = ljung_box(counts, lags) if len(counts) > 4 else None
    found: dict[str, Any] = {
        "lags": lags,
        "statistic": None,
        "p": None,
        "strongest": None,
        "strongest_lag": None,
    }
    if whole:
        correlation = autocorrelation(counts, lags)
        strongest = int(np.argmax(np.abs(correlation)))
        found |= {
            "statistic": whole[0],
            "p": whole[1],
            "strongest": float(correlation[strongest]),
            "strongest_lag": strongest + 1,
        }
    whole_windows = range(0, len(counts) - window + 1, window)
    starts = counts.windows(window, window) * window if isinstance(counts, Sparse) else whole_windows
    pieces = (counts[at : at + window] for at in starts)
    tested = [test[1] for piece in pieces if (test := ljung_box(piece, min(lags, len(piece) // 4)))]
    found["windows"] = len(tested)
    found["rejected_share"] = float(np.mean(np.array(tested) < LEVEL)) if tested else None
    return found
