"""Playout after libwebrtc's NetEq: it aims at a percentile of the delays, and stretches time to get there.

Source: libwebrtc of January 2026, `modules/audio_coding/neteq`: `delay_manager.cc`, `underrun_optimizer.cc`
and `histogram.cc` (relative delays, the longest of each 500 ms, in buckets of 20 ms; forgotten by 0.983 with
a start weight of 2; the target is one bucket more than the 95th percentile, 80 ms before the first) and
`decision_logic.cc` (sound is drawn out below the target, cut short from the target and the longest delay and
20 ms on, at most every 50 ms). Delays are relative to the shortest of the last 2 s.

Differences: a stretch is 10 ms (NetEq's are pitch periods, where speech allows), 20 ms at four times the
upper limit, once in three frames; a packet that comes too late is concealed, and what follows is played
behind it, later by as many periods of 10 ms as it takes (NetEq draws sound out until the packet is there, and
plays it). Its reordering optimiser is left out: packets of one call are not reordered here.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.playout import LOST, Playout, checked, outcome

__all__ = ["Target", "neteq"]

_MS = 1_000_000
_BUCKETS, _BUCKET_NS = 100, 20 * _MS
_QUANTILE, _FORGET, _START_WEIGHT = 0.95, 0.983, 2.0
_RESAMPLE_NS, _HISTORY_NS, _START_NS = 500 * _MS, 2000 * _MS, 80 * _MS
_APART_NS = 20 * _MS
_STRETCH_NS, _FAST_NS, _EVERY = 10 * _MS, 20 * _MS, 3


class Target:
    """The level that is aimed at: a percentile of relative delays."""

    def __init__(self) -> None:
        self.ns = _START_NS
        self._buckets = np.zeros(_BUCKETS)
        self._added = 0
        self._since: int | None = None
        self._longest = 0

    def update(self, at_ns: int, relative_ns: int) -> None:
        """Take the relative delay of a packet that arrived."""
        if self._since is None:
            self._since = at_ns
        if at_ns - self._since > _RESAMPLE_NS:
            self._add(self._longest)
            self._since, self._longest = at_ns, 0
        self._longest = max(self._longest, relative_ns)

    def _add(self, relative_ns: int) -> None:
        # The first two samples count alone, each later one for less, down to what is usual.
        keep = min(max(1.0 - _START_WEIGHT / (self._added + 1), 0.0), _FORGET) if self._added else 0.0
        if (bucket := relative_ns // _BUCKET_NS) < _BUCKETS:
            self._buckets *= keep
            self._buckets[bucket] += 1.0 - keep
            self._added += 1
        reached = np.flatnonzero(np.cumsum(self._buckets) >= _QUANTILE)
        self.ns = (int(reached[0]) + 1 if reached.size else _BUCKETS) * _BUCKET_NS


def neteq(sent_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> Playout:
    """Say which frames NetEq has when it is their turn.

    Parameters
    ----------
    sent_ns : ndarray, shape (n,)
        Times at which the frames were sent, in media order: the media clock.
    delay_ns : ndarray, shape (n,)
        One-way delays; negative = lost.

    Raises
    ------
    ValueError
        If the shapes do not agree.
    """
    sent, delay = checked(sent_ns, delay_ns)
    play = np.full(sent.size, LOST, dtype=np.int64)
    target = Target()
    shortest, longest = _Extreme(1), _Extreme(-1)
    offset: int | None = None  # playout time of a frame minus its sending time
    rest = 0
    for i, (at, d) in enumerate(zip(sent.tolist(), delay.tolist(), strict=True)):
        if d >= 0:
            shortest.add(at, d)
            longest.add(at, d)
            target.update(at + d, d - shortest.value)
            offset = d if offset is None else offset
        if offset is None:
            continue
        rest -= 1
        by = _stretch(offset - shortest.value, target.ns, longest.value - shortest.value)
        if by and (rest <= 0 or by == -_FAST_NS):
            offset, rest = offset + by, _EVERY
        play[i] = at + offset
        if d > offset:
            offset -= (offset - d) // _STRETCH_NS * _STRETCH_NS
    return outcome(sent, delay, play, _START_NS)


class _Extreme:
    """The shortest (sign 1) or longest (-1) delay of the last 2 s."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._kept: deque[tuple[int, int]] = deque()

    def add(self, at_ns: int, delay_ns: int) -> None:
        while self._kept and self._sign * (self._kept[-1][1] - delay_ns) >= 0:
            self._kept.pop()
        self._kept.append((at_ns, delay_ns))
        while self._kept[0][0] < at_ns - _HISTORY_NS:
            self._kept.popleft()

    @property
    def value(self) -> int:
        return self._kept[0][1]


def _stretch(level_ns: int, target_ns: int, longest_ns: int) -> int:
    """By how much the next frame is drawn out, or cut short (negative)."""
    high = target_ns + longest_ns + _APART_NS
    if level_ns < target_ns:
        return _STRETCH_NS
    if level_ns >= 4 * high:
        return -_FAST_NS
    return -_STRETCH_NS if level_ns >= high else 0
