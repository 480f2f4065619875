"""Which packets are missing, written short: runs of numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def runs(lost: NDArray[np.bool_]) -> list[list[int]]:
    """Lost packets as pairs of first number and count."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost.astype(np.int8), [0]))))
    return [[int(a), int(b - a)] for a, b in edges.reshape(-1, 2)]


def unpacked(pairs: Sequence[Sequence[int]], packets: int) -> NDArray[np.bool_]:
    """The opposite of `runs`: shape (packets,)."""
    lost = np.zeros(packets, dtype=bool)
    for first, count in pairs:
        lost[first : first + count] = True
    return lost
