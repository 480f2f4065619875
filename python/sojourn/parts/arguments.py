"""What a caller gives in Python, as the JSON that the engine reads."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping

import numpy as np


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
    ValueError
        One sentence: there is something else in it.
    """
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{what} holds something other than finite numbers, text and truth values: {error}"
        ) from None


def shown(value: object) -> str:
    """Return a value as a sentence quotes it: in one line, shortened, without places in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(reprlib.repr(value).split()))


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{shown(value)} is none of them")
