"""The maximum-likelihood Gaussian of points in the plane, and its one-sigma contour (RFC 7928 §2.7).

Source: K. Winstein, "Transport Architectures for an Evolving Internet", MIT 2014, whose plots the RFC takes
over: mean and covariance of the points, the latter with n in the denominator as the maximum-likelihood
estimate has it. The half-axes of the contour are the square roots of the covariance's eigenvalues, along its
eigenvectors, in the units of the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

LEAST_POINTS = 3
"""Two points lie on a line: their Gaussian has no area."""


@dataclass(frozen=True)
class Ellipse:
    """A one-sigma contour.

    Attributes
    ----------
    mean : (float, float)
        Its centre, in the units of the axes.
    medians : (float, float)
        Where the circle stands.
    half_axes : (float, float)
        Their lengths, the longer first; zero where the points do not differ that way.
    angle : float
        Of the longer one from the x axis, in radians, −π/2 to π/2.
    points : int
        Number of runs.
    """

    mean: tuple[float, float]
    medians: tuple[float, float]
    half_axes: tuple[float, float]
    angle: float
    points: int

    @classmethod
    def of(cls, x: Sequence[float], y: Sequence[float]) -> Ellipse | None:
        """Fit to points; None for fewer than three."""
        if len(x) != len(y):
            raise ValueError(f"{len(x)} and {len(y)} coordinates are no points")
        if len(x) < LEAST_POINTS:
            return None
        points = np.array([x, y], dtype=float)
        values, vectors = np.linalg.eigh(np.cov(points, bias=True))
        short, long = np.sqrt(np.maximum(values, 0.0))
        direction = vectors[:, 1] * (1 if vectors[0, 1] >= 0 else -1)
        centre = points.mean(axis=1)
        return cls(
            (float(centre[0]), float(centre[1])),
            (median(x), median(y)),
            (float(long), float(short)),
            float(np.arctan2(direction[1], direction[0])),
            len(x),
        )

    def outline(self, corners: int = 120) -> NDArray[np.float64]:
        """Return points of the contour, as an array of two rows."""
        turn = np.linspace(0, 2 * np.pi, corners + 1)
        long, short = self.half_axes[0] * np.cos(turn), self.half_axes[1] * np.sin(turn)
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return np.array(
            [self.mean[0] + long * cosine - short * sine, self.mean[1] + long * sine + short * cosine]
        )
