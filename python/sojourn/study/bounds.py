"""What a number of a result can be: the range that its intervals are cut to."""

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


def beyond(path: str, limit: float) -> str | None:
    """Say that a limit on the number at a path is kept always or never, nothing if it may be either.

    >>> beyond("links.down.loss", 5)
    'that lies between 0 and 1: a share, of which 0.05 is 5 %'
    >>> beyond("voice.talks.mos.median", 3.6)
    """
    least, most = bounds(path)
    if least <= limit <= most:
        return None
    share = ": a share, of which 0.05 is 5 %" if most == 1 and "ssim" not in path.split(".") else ""
    return "that is 0 or more" if most == inf else f"that lies between {least:g} and {most:g}{share}"
