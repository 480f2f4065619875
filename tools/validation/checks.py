"""One figure of ours held against others by a rule, and one statement of a paper held against our results."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sojourn.results.interval import half_width

SLACK = 1 + 1e-9
"""1.0 − 0.98 is more than 0.02 in binary."""


@dataclass(frozen=True)
class Rule:
    """What a figure must meet: the words that the page prints, and the test that they stand for."""

    text: str
    test: Callable[[float, Sequence[float], tuple[float, float]], bool]
    """Of our value, the references, and our spread."""

    def holds(
        self, ours: float, references: Sequence[float], spread: tuple[float, float] = (math.nan, math.nan)
    ) -> bool:
        """Say whether a figure of ours meets the rule."""
        return self.test(ours, references, spread)


def near(whose: str, *, share: float = 0.0, points: float = 0.0, add: float = 0.0) -> Rule:
    """Return the rule that ours is close to at least one reference.

    Parameters
    ----------
    whose
        Whose figures the references are, as the page names them.
    share, points, add
        How far ours may be: by a share of the reference, by percentage points, by an amount. One of them.
    """
    [(size, unit)] = [
        (size, unit)
        for size, unit in ((100 * share, " %"), (points, " point" + "s" * (points != 1)), (add, ""))
        if size
    ]

    def test(ours: float, references: Sequence[float], _: object) -> bool:
        return any(
            abs(ours - reference) <= (share * abs(reference) + points / 100 + add) * SLACK
            for reference in references
        )

    return Rule(f"within {size:g}{unit} of {whose}", test)


def between_or(rule: Rule, whose: str) -> Rule:
    """Return the rule that ours is between the least and the greatest reference, or meets another rule."""

    def test(ours: float, references: Sequence[float], _: object) -> bool:
        return min(references) <= ours <= max(references) or rule.holds(ours, references)

    return Rule(f"between {whose}, or {rule.text}", test)


def span(low: float, high: float, text: str) -> Rule:
    """Return the rule that ours lies from `low` to `high`, both included."""
    return Rule(text, lambda ours, *_: low <= ours <= high)


@dataclass(frozen=True)
class Check:
    """One row: a quantity of ours, the figures it is held against, and whether the rule holds."""

    key: str
    """Names the row: ``peers/speed-newreno-fifo/down/delay``."""
    quantity: str
    unit: str
    ours: float
    spread: tuple[float, float]
    """Least and greatest of the replications, or the ends of an interval."""
    references: tuple[tuple[str, float], ...]
    ok: bool
    rule: str

    @property
    def verdict(self) -> str:
        """`ok` or `outside`."""
        return "ok" if self.ok else "outside"


def compare(
    key: str,
    quantity: str,
    unit: str,
    values: Sequence[float],
    references: Mapping[str, float],
    rule: Rule,
    interval: Callable[[Sequence[float]], tuple[float, tuple[float, float]]] | None = None,
) -> Check:
    """Hold the mean of the replications' `values` against the references.

    `interval` makes mean and spread of the values, in place of the least and the greatest of them.
    """
    ours, spread = (interval or mean_and_spread)(values)
    holds = rule.holds(ours, list(references.values()), spread)
    return Check(key, quantity, unit, ours, spread, tuple(references.items()), holds, rule.text)


def verdict(holds: bool | None) -> str:
    """Say whether a finding holds."""
    return "cannot be said" if holds is None else "holds" if holds else "**does not hold**"


def mean_and_spread(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the mean of the replications, and the least and greatest of them."""
    return statistics.fmean(values), (min(values), max(values))


def interval_99(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the mean of independent replications and its 99 % confidence interval (Student's t)."""
    mean, half = statistics.fmean(values), half_width(values, 0.99)
    return mean, (mean - half, mean + half)
