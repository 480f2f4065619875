"""Counts in bins of which nearly all are empty: memory follows the events, not the time between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LONGEST = 1 << 21
"""Bins of a series that is kept as a plain array (16 MB); longer ones are :class:`Sparse`."""

BLOCK = 1 << 16
"""Bins that are correlated together."""


@dataclass(frozen=True)
class Sparse:
    """A series of `length` bins, zero except at `places` (ascending, each once), where it is `values`."""

    length: int
    places: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, part: slice) -> np.ndarray:
        """Return a part as a plain array; only for parts that fit in memory."""
        start, stop, _ = part.indices(self.length)
        first, last = np.searchsorted(self.places, (start, stop))
        found = np.zeros(max(0, stop - start))
        found[self.places[first:last] - start] = self.values[first:last]
        return found

    def windows(self, window: int, step: int) -> np.ndarray:
        """Return the numbers of the whole windows, one at each `step`, that are not empty."""
        last = self.places // step
        reach = np.arange(-(-window // step))
        numbers = np.unique((last[:, None] - reach).ravel())
        numbers = numbers[(numbers >= 0) & (numbers * step + window <= self.length)]
        first = np.searchsorted(self.places, numbers * step)
        return numbers[np.searchsorted(self.places, numbers * step + window) > first]

    def mean_square(self) -> float:
        """Return the mean of the squares of all bins."""
        return float(np.sum(self.values**2)) / self.length

    def filtered(self, taps: np.ndarray) -> np.ndarray | Sparse:
        """Return every second value of the valid part of the convolution with `taps`; plain if short."""
        width = len(taps)
        length = (self.length - width) // 2 + 1
        twice = (self.places[None, :] - (width - 1) + np.arange(width)[:, None]).ravel()
        parts = (taps[:, None] * self.values[None, :]).ravel()
        kept = (twice % 2 == 0) & (twice >= 0) & (twice < 2 * length)
        places, inverse = np.unique(twice[kept] // 2, return_inverse=True)
        found = Sparse(length, places, np.bincount(inverse, parts[kept], len(places)))
        return found if length > LONGEST else found[:]

    def products(self, lags: int) -> np.ndarray:
        """Return, for lags 0 to `lags`, the sum of the products of bins so far apart, without the mean."""
        block = max(BLOCK, 2 * lags)
        found = np.zeros(lags + 1)
        for number in np.unique(self.places // block):
            at = int(number) * block
            here, beyond = self[at : at + block], self[at : at + block + lags]
            size = 1 << (len(beyond) + lags).bit_length()
            spectrum = np.conj(np.fft.rfft(here, size)) * np.fft.rfft(beyond, size)
            found += np.fft.irfft(spectrum, size)[: lags + 1]
        # About the mean: the ends of the series, which a lag leaves out, are few of many bins.
        mean = float(self.values.sum()) / self.length
        lag = np.arange(lags + 1)
        sums = np.concatenate([[0.0], np.cumsum(self.values)])
        head = sums[np.searchsorted(self.places, self.length - lag)]
        tail = sums[-1] - sums[np.searchsorted(self.places, lag)]
        return found - mean * (head + tail) + (self.length - lag) * mean * mean


def counted(places: np.ndarray, bins: int) -> np.ndarray | Sparse:
    """Return how many of `places` lie in each of `bins` bins."""
    inside = places[places < bins].astype(np.int64)
    if bins <= LONGEST:
        return np.bincount(inside, minlength=bins)
    found, counts = np.unique(inside, return_counts=True)
    return Sparse(bins, found, counts.astype(np.float64))
