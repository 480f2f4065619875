"""How often the points of a study are run: a number of times, or in rounds until every verdict is certain.

``repeat = "auto"`` begins with three replications, and doubles those of a cell as long as one of its
verdicts is not certain, up to ``repeat-at-most``. Where callers have a ``precision``, opinion scores whose
interval is that narrow are left as they are, too: on which side of a limit they are matters to nobody. The
verdicts are looked at after every round, so the doubt that a study allows itself is shared among the rounds
that there can be (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

from sojourn.errors import SojournError

AUTO = "auto"
FIRST, MOST = 3, 30
"""Replications of the first round, and the most there are by default; the engine's schema has the same."""


def most(document: Mapping[str, Any]) -> int:
    """Return the most replications that a cell of a study can get."""
    repeat = document.get("repeat", 1)
    return int(document.get("repeat-at-most", MOST)) if repeat == AUTO else int(repeat)


def after(replications: int, document: Mapping[str, Any]) -> int:
    """Return how many replications a cell has after one more round."""
    return min(2 * replications, most(document))


def looks(document: Mapping[str, Any]) -> int:
    """Return how often the verdicts of a study may be looked at."""
    if document.get("repeat", 1) != AUTO:
        return 1
    count, replications = 1, min(FIRST, most(document))
    while replications < most(document):
        count, replications = count + 1, after(replications, document)
    return count


def to_precision(document: Mapping[str, Any], precision: float) -> list[tuple[str, str]]:
    """Return the keys of a study that make it score callers to a precision, and no better.

    The replications of the first round together have it, so that each may be less precise.

    Raises
    ------
    SojournError
        It is no precision in MOS.
    """
    if not 0.01 <= precision <= 0.5:
        raise SojournError(f"--precision {precision:g} is no precision in MOS; expected 0.01 to 0.5")
    callers = [place for place, user in enumerate(document.get("users") or ()) if user.get("kind") == "voice"]
    each = round(precision * sqrt(FIRST), 4)
    return [("repeat", AUTO), *((f"users.{place}.precision", str(each)) for place in callers)]


def narrow(document: Mapping[str, Any]) -> float:
    """Return half the interval of an opinion score that needs no more replications; 0 where none does."""
    asked = [user["precision"] for user in document.get("users") or () if user.get("precision")]
    return max(asked, default=0.0) / sqrt(FIRST)
