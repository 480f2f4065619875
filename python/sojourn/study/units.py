"""Numbers with their units: times, rates and sizes as documents and options write them, and shares."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import floor, log10

from sojourn.errors import SojournError

FULL_PACKET_BYTES = 1500
"""A full packet at IP, of an Ethernet: limits in packets are told as bytes and as times by it."""
_SCALES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
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


def seconds_if_bare(text: str, option: str) -> float:
    """Read a time with its unit, or a number of seconds; `option` is where it was found, for the error.

    Raises
    ------
    SojournError
        It is neither.
    """
    try:
        return float(text)
    except ValueError:
        return nanoseconds(text, option) / 1e9


_RATES = (("Gbit", 10**9), ("Mbit", 10**6), ("kbit", 10**3), ("bit", 1))
_SIZES = (
    ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
    ("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1),
)  # fmt: skip


def bits_per_second(text: str) -> int:
    """Read a rate as the documents of points write it, ``16Mbit``.

    Raises
    ------
    ValueError
        It is another thing, ``unlimited`` for one.
    """
    return _whole(text, _RATES)


def bytes_of(text: str) -> int:
    """Read a size as the documents of points write it, ``16MB`` or ``15KiB``.

    Raises
    ------
    ValueError
        It is another thing.
    """
    return _whole(text, _SIZES)


def _whole(text: str, units: Sequence[tuple[str, int]]) -> int:
    """Read a number with one of these units, the first that it ends with."""
    for unit, scale in units:
        if text.endswith(unit) and _NUMBER.fullmatch(number := text.removesuffix(unit).strip()):
            return round(Decimal(number) * scale)
    raise ValueError(text)


def percent(share: float, decimals: int = 1) -> str:
    """Write a share in per cent, with the space that the unit takes (SI brochure, 5.4.7).

    >>> percent(0.123), percent(0.00051, 2), percent(1, 0)
    ('12.3 %', '0.05 %', '100 %')
    """
    return f"{100 * share:.{decimals}f} %"


def written(number: float, form: str) -> str:
    """Write a number by a format, with a minus sign, without an exponent; nothing is no negative zero.

    >>> written(-0.02, ".1g"), written(2e-5, ".1g"), written(-0.001, ".2f")
    ('−0.02', '0.00002', '0.00')
    """
    text = format(number, form)
    if "e" in text:
        text = f"{Decimal(text):f}"
    return text.replace("-", "" if not text.strip("-0.") else "−")


def decimals_of(text: str) -> int:
    """Return how many decimals a written number has."""
    return len(text.partition(".")[2])


def alike(numbers: Sequence[float], text: Callable[[float], str]) -> list[str]:
    """Write the numbers of one cell, as a mean and its interval, with the same decimals.

    They are as many as any number but 0 has by `text`, but no more than give the largest three digits.

    >>> form = lambda number: f"{number:.{1 if number < 10 else 0}f}"
    >>> alike([9.8, 9.4, 10.2], form), alike([0.0, 20.1], form)
    (['9.8', '9.4', '10.2'], ['0', '20'])
    """
    most = max(decimals_of(text(number)) for number in (list(filter(None, numbers)) or numbers))
    if largest := max(map(abs, numbers)):
        most = min(most, max(2 - floor(log10(largest)), 0))
    return [written(number, f".{most}f") for number in numbers]


def bit_rate(bps: float, digits: int = 6) -> str:
    """Write a rate in the largest unit of which it is at least one, with so many digits; no exponent.

    >>> bit_rate(9600), bit_rate(16e6), bit_rate(999_960, 4), bit_rate(1e10, 3), bit_rate(0)
    ('9.6 kbit/s', '16 Mbit/s', '1 Mbit/s', '10 Gbit/s', '0 bit/s')
    """
    rounded = float(f"{bps:.{digits}g}")
    unit, scale = next((each for each in _RATES if rounded >= each[1]), _RATES[-1])
    return f"{Decimal(f'{rounded / scale:.{digits}g}'):f} {unit}/s"
