"""Times and rates as study files, their documents and options write them: a number and its unit."""

import re
from decimal import Decimal

from sojourn.errors import SojournError

_SCALES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([a-zµ]+)\s*")
_LONGEST_NS = 2**62


def nanoseconds(text: str, option: str = "") -> int:
    """Read a time with its unit, as ``150ms``; `option` is where it was found, for the error.

    Raises
    ------
    SojournError
        It is no time, or longer than 146 years.
    """
    found = _TIME.fullmatch(text)
    if not found or found[2] not in _SCALES:
        what = f"{text[:40]!r} is not a time; expected a number with one of {', '.join(_SCALES)}, as 150ms"
    elif (ns := Decimal(found[1]) * _SCALES[found[2]]) > _LONGEST_NS:
        what = f"{text[:40]!r} is too long a time; expected at most 146 years"
    else:
        return int(ns)
    raise SojournError(f"{option}: {what}" if option else what)


def seconds(text: str) -> float:
    """Read a time in seconds; errors as of :func:`nanoseconds`."""
    return nanoseconds(text) / 1e9


_BINARY = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def bits_per_second(text: str) -> int:
    """Read a rate as the documents of points write it, ``16Mbit``.

    Raises
    ------
    ValueError
        It is another thing, ``unlimited`` for one.
    """
    for unit, scale in (("Gbit", 10**9), ("Mbit", 10**6), ("kbit", 10**3), ("bit", 1)):
        if text.endswith(unit):
            return round(Decimal(text.removesuffix(unit)) * scale)
    raise ValueError(text)


def bytes_of(text: str) -> int:
    """Read a size as the documents of points write it, ``16MB`` or ``15KiB``.

    Raises
    ------
    ValueError
        It is another thing.
    """
    for unit, scale in (*_BINARY, ("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1)):
        if text.endswith(unit):
            return round(Decimal(text.removesuffix(unit)) * scale)
    raise ValueError(text)
