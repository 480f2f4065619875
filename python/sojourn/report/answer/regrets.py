"""Which choice is regretted least, by what the worst-off user loses against the best one for a condition.

For each condition and choice, every goal's mean is put on its scale (see :mod:`.goals`); a user's loss is
what the best choice in that condition would give more. The regret of a cell is the largest loss of any user
in it, and that of a choice the largest over conditions (Savage's minimax regret). The choice with the least
is taken; what differs by less than :data:`ALIKE`, or by no more than replications differ and
:data:`AT_STAKE`, is left to the mean queueing delay, and then to utilisation.

Source: L. J. Savage 1951 (JASA 46). Difference: choices that cannot be told apart are not ranked, unless
users would lose much by a wrong guess.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from sojourn.report.answer.cells import Cells
from sojourn.report.answer.goals import Goal, of_links
from sojourn.results.interval import half_width

ALIKE = 0.05
"""Losses that differ by less are alike: a twentieth of the way from a limit to the worst (a choice)."""
AT_STAKE = 0.2
"""Losses that differ by more are ranked also where replications do not tell them apart: three replications
tell little, and then delay would decide what users lose much by (a choice)."""
_DELAY_ALIKE = (1.0, 0.05)
"""Delays that differ by less than this many ms, or this share, are alike."""
_UTILISATION_ALIKE = 0.01


@dataclass(frozen=True)
class Loss:
    """What the worst-off user of a cell loses against the best choice, and which goal that is."""

    size: float
    goal: Goal
    mean: float
    best: float
    """The mean of that goal under the best choice."""


@dataclass(frozen=True)
class Ranking:
    """Regrets and the choice.

    Attributes
    ----------
    losses : dict
        By condition and choice.
    worst : dict
        By choice, its largest loss and the condition of it.
    compared : list of str
        The conditions in which all choices have numbers; only these are compared.
    chosen : list of str
        One choice, or those that cannot be told apart.
    decided : str
        "regret", "delay", "utilisation", "nothing" (the chosen are alike in all), or "none" (no comparison).
    alike : list of str
        Choices that users cannot tell apart.
    doubted : list of str
        Choices that lose more than those by over :data:`AT_STAKE`, though replications do not tell it.
    delay_ms, utilisation : dict
        By choice, means over the conditions that are compared, where links have them.
    """

    losses: dict[tuple[str, str], Loss] = field(default_factory=dict)
    worst: dict[str, tuple[float, str]] = field(default_factory=dict)
    compared: list[str] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    decided: str = "none"
    alike: list[str] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    delay_ms: dict[str, float] = field(default_factory=dict)
    utilisation: dict[str, float] = field(default_factory=dict)


def rank(cells: Cells, goals: Sequence[Goal]) -> Ranking:
    """Compare the choices of a study."""
    choices = [choice for choice in cells.choices if any(cells.at(c, choice) for c in cells.conditions)]
    compared = [c for c in cells.conditions if all(cells.at(c, choice) for choice in choices)]
    if not cells.axes or len(choices) < 2:
        return Ranking()
    losses: dict[tuple[str, str], Loss] = {}
    for condition in compared:
        for choice, loss in _losses(cells, goals, condition, choices).items():
            losses[condition, choice] = loss
    compared = [c for c in compared if (c, choices[0]) in losses]
    if not compared:
        return Ranking(losses)
    worst = {choice: max((losses[c, choice].size, c) for c in reversed(compared)) for choice in choices}
    for choice, (size, _) in worst.items():
        worst[choice] = size, next(c for c in compared if losses[c, choice].size == size)
    replications = _replications(cells, compared, choices)
    each_time = [
        [_losses(cells, goals, condition, choices, at) for condition in compared] for at in replications
    ]
    by_replication = {
        choice: [max((found[choice].size for found in once if found), default=0.0) for once in each_time]
        for choice in choices
    }
    regrets = {choice: size for choice, (size, _) in worst.items()}
    untold = _alike(choices, regrets, by_replication, lambda best: ALIKE)
    least = min(regrets.values())
    alike = [choice for choice in untold if regrets[choice] - least <= AT_STAKE]
    doubted = [choice for choice in untold if choice not in alike]
    chosen, decided = alike, "regret"
    measures: dict[str, dict[str, float]] = {}
    for name, measure, tolerance in (
        ("delay", _delay_ms, lambda best: max(_DELAY_ALIKE[0], _DELAY_ALIKE[1] * best)),
        ("utilisation", _idle, lambda best: _UTILISATION_ALIKE),
    ):
        over = {choice: _over(cells, compared, choice, measure, None) for choice in choices}
        if any(number is None for number in over.values()):
            continue
        measures[name] = {choice: number for choice, number in over.items() if number is not None}
        if len(chosen) > 1:
            each = {
                choice: [_over(cells, compared, choice, measure, at) or 0.0 for at in replications]
                for choice in chosen
            }
            chosen, decided = _alike(chosen, measures[name], each, tolerance), name
    return Ranking(
        losses,
        worst,
        compared,
        chosen,
        decided if len(chosen) == 1 else "nothing",
        alike,
        doubted,
        measures.get("delay", {}),
        {choice: 1 - idle for choice, idle in measures.get("utilisation", {}).items()},
    )


def _losses(
    cells: Cells, goals: Sequence[Goal], condition: str, choices: Sequence[str], at: int | None = None
) -> dict[str, Loss]:
    """Return the loss of each choice in one condition, over all replications or in one.

    A goal that one of the choices has no number for is not compared.
    """
    found: dict[str, Loss] = {}
    for goal in goals:
        best = cells.best(goal, condition)
        means = {}
        for choice in choices:
            cell = [r for r in cells.at(condition, choice) if at is None or r["replication"] == at]
            sample = goal.sample(cell, best)
            if sample is not None:
                means[choice] = sample.mean
        if len(means) < len(choices):
            continue
        top = max(means, key=lambda choice: goal.score(means[choice]))
        for choice, mean in means.items():
            loss = Loss(goal.score(means[top]) - goal.score(mean), goal, mean, means[top])
            if choice not in found or loss.size > found[choice].size:
                found[choice] = loss
    return found


def _replications(cells: Cells, compared: Sequence[str], choices: Sequence[str]) -> list[int]:
    """Return the replications that every cell has."""
    sets = [{r["replication"] for r in cells.at(c, choice)} for c in compared for choice in choices]
    return sorted(set.intersection(*sets))


def _alike(
    choices: Sequence[str],
    size: Mapping[str, float],
    each: Mapping[str, Sequence[float]],
    tolerance: Callable[[float], float],
) -> list[str]:
    """Return the choice with the least, and those that cannot be told from it.

    Replications are compared pair by pair: the same replication has the same traffic under every choice.
    """
    least = min(choices, key=lambda choice: size[choice])

    def apart(choice: str) -> bool:
        if size[choice] - size[least] <= tolerance(size[least]) * (1 + 1e-9):
            return False
        pairs = [mine - its for mine, its in zip(each[choice], each[least], strict=True)]
        half = half_width(pairs)
        return half is None or fmean(pairs) > half

    return [choice for choice in choices if choice == least or not apart(choice)]


def _over(
    cells: Cells,
    compared: Sequence[str],
    choice: str,
    measure: Callable[[Mapping[str, Any]], float | None],
    at: int | None,
) -> float | None:
    """Return the mean over conditions of a measure of a choice, None where a result lacks it."""
    means = []
    for condition in compared:
        cell = [r for r in cells.at(condition, choice) if at is None or r["replication"] == at]
        numbers = [measure(result) for result in cell]
        known = [number for number in numbers if number is not None]
        if not known or len(known) < len(numbers):
            return None
        means.append(fmean(known))
    return fmean(means) if means else None


def _delay_ms(result: Mapping[str, Any]) -> float | None:
    """Mean queueing delay of a round trip: of all links together."""
    found = of_links(result, "queue_delay_ms.mean")
    return sum(found) if found else None


def _idle(result: Mapping[str, Any]) -> float | None:
    """One less the utilisation of the busiest link."""
    found = of_links(result, "utilisation")
    return 1 - max(found) if found else None
