"""What a number of a result can be: the range that its intervals are cut to."""

from __future__ import annotations

from math import inf

_SHARES = (
    "loss",
    "utilisation",
    "late",
    "late_up",
    "abandoned",
    "rtt_dominated",
    "loss_dominated",
    "jain",
    "share",
    "frozen",
    "not_shown",
    "good",
    "poor",
)
_STATISTICS = ("mean", "median", "p5", "p25", "p50", "p75", "p95", "p99", "max")


def bounds(path: str) -> tuple[float, float]:
    """Return the least and the most that the number at a path can be: a score its scale, a delay from 0."""
    parts = path.split(".")
    if "mos" in parts:
        return 1.0, 5.0
    named = parts[-2] if parts[-1] in _STATISTICS and parts[1:] else parts[-1]
    if "ssim" in parts or named in _SHARES:
        return 0.0, 1.0
    if parts[-1].endswith("_pct"):
        return 0.0, 100.0
    return (-inf, inf) if {"z1", "psnr_db"} & set(parts) else (0.0, inf)
