"""What a caller in Python gives to `replay`, `controller` and `play`, made ready for the engine.

Only what the engine cannot see is checked here: the kinds of Python objects. Ranges, names and units are the
engine's to check.
"""

import json
import math
import operator
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from sojourn.errors import SojournError, shown


class ArgumentError(SojournError, ValueError):
    """An argument is not what it should be."""


def as_json(value: object, what: str) -> str:
    """Return a value as JSON; NumPy's scalars count as Python's.

    Parameters
    ----------
    value
        Mappings, lists, finite numbers, text and truth values.
    what
        What it is, for the sentence: ``"an event"``.

    Raises
    ------
    ArgumentError
        One sentence: there is something else in it.
    """
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{what} holds something other than finite numbers, text and truth values: {error}"
        ) from None


def mapping(value: object, name: str, example: str) -> Mapping[str, Any]:
    """Return a mapping, or raise ArgumentError."""
    if isinstance(value, Mapping):
        return value
    raise ArgumentError(f"{name} is {shown(value)}; expected a mapping such as {example}")


def number(value: object, name: str, unit: str = "") -> float:
    """Return a number as a float (truth values and infinity are none), or raise ArgumentError."""
    if isinstance(value, Real) and not isinstance(value, bool) and not math.isinf(value):
        return float(value)
    raise ArgumentError(f"{name} is {shown(value)}; expected a number{unit and f' of {unit}'}")


def whole(value: object, name: str, most: int = 2**64 - 1) -> int:
    """Return a whole number from 0 to `most`, or raise ArgumentError."""
    try:
        known = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        known = -1
    if 0 <= known <= most:
        return known
    raise ArgumentError(f"{name} {shown(value)} is not a whole number from 0 to {most}")


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{shown(value)} is none of them")
