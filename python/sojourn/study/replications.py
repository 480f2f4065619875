"""How often the points of a study are run: a number of times, or in rounds until every verdict is certain.

``repeat = "auto"`` begins with three replications, and doubles those of a cell as long as one of its
verdicts is not certain, up to ``repeat-at-most``. The verdicts are looked at after every round, so the
doubt that a study allows itself is shared among the rounds that there can be (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
