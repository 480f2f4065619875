"""Times as study files and their documents write them: a number and its unit."""

from __future__ import annotations

import re
from decimal import Decimal

from sojourn.errors import SojournError

_SCALES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-zµ]+)\s*")


def nanoseconds(text: str) -> int:
    """Read a time, as ``150ms``.

    Raises
    ------
    SojournError
        It is not a number with a unit of time.
    """
    found = _TIME.fullmatch(text)
    if not found or found[2] not in _SCALES:
        raise SojournError(
            f"{text!r} is not a time; expected a number with one of {', '.join(_SCALES)}, as 150ms"
        )
    return int(Decimal(found[1]) * _SCALES[found[2]])


def seconds(text: str) -> float:
    """Read a time in seconds; errors as of :func:`nanoseconds`."""
    return nanoseconds(text) / 1e9
