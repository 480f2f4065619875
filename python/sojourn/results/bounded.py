"""Quantiles of times that are lower bounds: too few loads, or waits, had ended when the run did."""

from collections.abc import Iterable, Mapping
from typing import Any

_TIMES = {"web": "plt_s.", "page": "", "adaptive": ""}
"""Users whose times may be so, and what is left out of the names that a result gives."""


def awaited(paths: Iterable[str]) -> str:
    """Say what had not ended where the numbers at these paths are lower bounds.

    >>> awaited(["web.plt_s.p95", "adaptive.startup_delay_ms.mean"])
    'loads or waits for a first picture'
    """
    viewers = {path.partition(".")[0] == "adaptive" for path in paths}
    return " or ".join(["loads"] * (False in viewers) + ["waits for a first picture"] * (True in viewers))


def lower_bounds(result: Mapping[str, Any]) -> set[str]:
    """Return the paths of the numbers of a result that are lower bounds only.

    >>> sorted(lower_bounds({"page": {"bounded": ["load_s.p95"]}, "web": {"bounded": ["p95"]}}))
    ['page.load_s.p95', 'web.plt_s.p95']
    """
    return {
        f"{kind}.{before}{name}"
        for kind, before in _TIMES.items()
        for name in (result.get(kind) or {}).get("bounded", ())
    }


def said(results: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[str]:
    """Say in how many results which of some numbers, by path, are lower bounds; nothing if none is."""
    every = [lower_bounds(result) for result in results]
    shown = {path: name for path, name in names.items() if any(path in found for found in every)}
    if not shown:
        return []
    count = sum(not found.isdisjoint(shown) for found in every)
    runs = "the one run" if len(every) == 1 else f"{count} of {len(every)} runs"
    runs = f"all {count} runs" if count == len(every) > 1 else runs
    are = "is a lower bound" if len(shown) == 1 else "are lower bounds"
    which = "; ".join(dict.fromkeys(shown.values()))
    return [
        f"In {runs} too few {awaited(shown)} had ended when the run did, so that {which} {are}: "
        "a longer run would tell."
    ]
