"""What is said before the verdicts: the question, by what is judged, and what is not."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.report.answer.cells import Cells, listed
from sojourn.report.answer.goals import Goal, number_at, scored_users
from sojourn.report.figures.values import axis_name, lower
from sojourn.study.links import called, way_of

_MUCH_LOSS = 0.01
"""From which share of lost packets on it is told where no goal is about them: a choice."""


def title(cells: Cells) -> str:
    """Return the question that is answered."""
    if not cells.axes:
        return "What users get"
    return "How big should this buffer be?" if cells.noun == "buffer" else f"Which {cells.noun}?"


def opening(goals: Sequence[Goal], stated: bool, kinds: Sequence[str]) -> list[str]:
    """Say by what is judged, where that is not what a reader expects."""
    if stated or scored_users(goals):
        return []
    if kinds:
        return [
            f"The users of this study ({', '.join(kinds)}) have no scores in these results, "
            "so delay stands in for them."
        ]
    return ["No users are scored in this study, so delay stands in for them."]


def loss(goals: Sequence[Goal], stated: bool, results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how much is lost where delay stands in for users, so that no goal is about it."""
    if stated or scored_users(goals):
        return []
    of_link: dict[str, float] = {}
    for result in results:
        for link in result.get("links") or ():
            lost = number_at(result, f"links.{link}.loss")
            if lost is not None and way_of(link) != "access":
                of_link[link] = max(lost, of_link.get(link, 0.0))
    worst = max(of_link, key=of_link.__getitem__, default=None)
    if worst is None or of_link[worst] < _MUCH_LOSS:
        return []
    return [f"No goal is about loss, which reaches {100 * of_link[worst]:.2g} % on the {called(worst)}."]


def same_runs(every: Cells, of_chance: Cells) -> list[str]:
    """Say that replications were left out since they are the same run, and what that means for certainty."""
    left_out = [place for place, cell in every.cells.items() if len(of_chance.cells[place]) < len(cell)]
    if not left_out:
        return []
    once = all(len(cell) == 1 for cell in of_chance.cells.values())
    what = "The replications of each cell" if once else f"Replications of {len(left_out)} of the cells"
    return [
        f"{what} are the same run, to the byte, as where nothing is drawn by lot: they count as one. "
        "So chance cannot be told from effect there, no verdict on them is certain, and more replications "
        "tell no more."
    ]


def compares_nothing(axes: Mapping[str, Sequence[str]]) -> str:
    """Say that there is no queue to choose."""
    several = [
        axis if (name := lower(axis_name(axis))) == axis else f"{name} ({axis})"
        for axis, labels in axes.items()
        if len(labels) > 1
    ]
    what = f"its axes are {listed(several)}" if several else "it has one cell"
    if len(several) == 1:
        what = f"its one axis is {several[0]}"
    return f"This study compares no queue: {what}."
