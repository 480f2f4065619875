"""How often the points of a study are run: a number of times, or in rounds until every verdict is certain.

``repeat = "auto"`` begins with three replications, and doubles those of a cell as long as one of its
verdicts is not certain, up to ``repeat-at-most``. With a ``repeat-precision`` a cell grows by a third, also
as long as its callers' opinion scores are not known that well; scores that are, are left as they are: on
which side of a limit they are matters to nobody. The verdicts are looked at after every round, so the doubt
that a study allows itself is shared among the rounds that there can be (Bonferroni).
"""

from collections.abc import Mapping
from typing import Any

from sojourn.errors import SojournError

AUTO = "auto"
A_RUN = 10
"""The precision of one run over that of its cell: of nearly all runs 8 calls a direction are then heard.

In two stages, runs and calls of them, what costs least is s / S × √(C / c) calls of a run: s the standard
deviation of a call within a run, S that between runs, C the time of a run, c that of a call (W. G. Cochran
1977, Sampling Techniques, 10.6). Twelve cells of imc14-access with three runs each: s about 0.2 MOS beside
what was expected of the call, S 0.03, C 0.2 s, c 0.13 s for both directions, which makes 8.
"""
FIRST, MOST = 3, 30
"""Replications of the first round, and the most there are by default; the engine's schema has the same."""


def most(document: Mapping[str, Any]) -> int:
    """Return the most replications that a cell of a study can get."""
    repeat = document.get("repeat", 1)
    return int(document.get("repeat-at-most", MOST)) if repeat == AUTO else int(repeat)


def after(replications: int, document: Mapping[str, Any]) -> int:
    """Return how many replications a cell has after one more round."""
    more = replications if precision(document) is None else (replications + 2) // 3
    return min(replications + more, most(document))


def looks(document: Mapping[str, Any]) -> int:
    """Return how often the verdicts of a study may be looked at."""
    if document.get("repeat", 1) != AUTO:
        return 1
    count, replications = 1, min(FIRST, most(document))
    while replications < most(document):
        count, replications = count + 1, after(replications, document)
    return count


def precision(document: Mapping[str, Any]) -> float | None:
    """Return half the 95 % interval that callers' opinion scores are to have in every cell; None for any."""
    asked = document.get("repeat-precision")
    return float(asked) if asked is not None and document.get("repeat") == AUTO else None


def to_precision(document: Mapping[str, Any], precision: float) -> list[tuple[str, str]]:
    """Return the keys of a study that make it score callers to a precision, and no better.

    To simulate a run costs as much as to hear a few calls: each is heard to `A_RUN` times the precision only,
    and the replications bring the rest.

    Raises
    ------
    SojournError
        It is no precision in MOS.
    """
    if not 0.01 <= precision <= 0.5:
        raise SojournError(f"--precision {precision:g} is no precision in MOS; expected 0.01 to 0.5")
    callers = [place for place, user in enumerate(document.get("users") or ()) if user.get("kind") == "voice"]
    each = f"{min(A_RUN * precision, 1.0):.4g}"
    keys = [("repeat", AUTO), ("repeat-precision", f"{precision:g}")]
    return [*keys, *((f"users.{place}.precision", each) for place in callers)]
