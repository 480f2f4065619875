"""What the answer does not tell: conditions, users and goals without numbers, waits that no goal is about."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from sojourn.errors import counted
from sojourn.report.answer.cells import Cells, in_brief, listed
from sojourn.report.answer.goals import Goal, number_at
from sojourn.report.answer.regrets import Ranking
from sojourn.report.answer.scores import FIRST_PICTURE
from sojourn.report.answer.verdicts import Verdicts
from sojourn.results.bounded import lower_bounds
from sojourn.study.starts import NOBODY


def missing(cells: Cells, ranking: Ranking) -> list[str]:
    """Say which conditions could not be compared."""
    if ranking.decided == "none" or len(ranking.compared) == len(cells.conditions):
        return []
    left = [condition for condition in cells.conditions if condition not in ranking.compared]
    return [f"Not compared: {in_brief(left, len(cells.conditions))}, where not every choice has numbers."]


def nothing(results: Sequence[Mapping[str, Any]], document: Mapping[str, Any]) -> str:
    """Say why nothing can be judged: no packet was sent, none was counted, or no goal has a number."""
    links = [link for result in results for link in result["links"].values()]
    if links and all(link.get("departed_pkts") == 0 for link in links):
        if not document.get("users") and not any(result.get("groups") for result in results):
            return f"No packet was sent, so nothing can be judged: {NOBODY}."
        return (
            "No packet left a queue after the warm-up, so nothing can be judged: who sends starts after the "
            "end, pauses all the while, or the link stands still; a longer run may have some."
        )
    if document.get("goals"):
        return "No result has a value for any of the study's goals, so nothing can be judged."
    return "The results hold nothing that could be judged: neither scores of users nor queueing delays."


def unscored(kinds: Sequence[str]) -> list[str]:
    """Say which users of the study have no scores."""
    if not kinds:
        return []
    return [
        f"The users of kind {listed(kinds)} have no scores in these results, so nothing here says how they "
        "fare; a longer run may have some."
    ]


def unjudged(cells: Cells, others: Sequence[Goal]) -> list[str]:
    """Say which users no goal is about, and whether they are well by the usual limits, which are `others`."""
    users = list(dict.fromkeys(goal.path.split(".")[0] for goal in others))
    means = [
        (goal.score(sample.mean), goal, sample.mean, cells.where(*cell) if len(cells.cells) > 1 else "")
        for goal in others
        for cell, results in cells.cells.items()
        if (sample := goal.sample(results, None)) is not None
    ]
    if not means:
        return []
    score, goal, mean, where = min(means, key=lambda found: found[0])
    said = f"No goal is about the users of kind {listed(users)}, so nothing above says how they fare."
    if score >= 1:
        return [
            f"{said} By the usual limits, shares of the best choice left out, they are well on average in "
            "every cell that was run."
        ]
    under = f" ({where})" if where else ""
    asked = goal.stated.removeprefix(f"{goal.name} ")
    seen = f"{goal.name}, {goal.text(mean)}{under}"
    return [f"{said} By the usual limits not all are well: {seen}; {asked} is asked."]


def first_pictures(cells: Cells, goals: Sequence[Goal], chosen: str | None) -> list[str]:
    """Say how long viewers wait for the first picture where no goal is about it: no limit of it is usual."""
    if any(goal.path.startswith("adaptive.startup_delay_ms") for goal in goals):
        return []
    waits: dict[str, list[float]] = {}
    bounds = set()
    for (_, choice), results in cells.cells.items():
        for result in results:
            if (wait := number_at(result, FIRST_PICTURE)) is not None:
                waits.setdefault(choice, []).append(wait)
                bounds |= {choice} if FIRST_PICTURE in lower_bounds(result) else set()
    if not waits:
        return []

    def wait(choice: str) -> str:
        seconds = fmean(waits[choice]) / 1e3
        return f"{'at least ' * (choice in bounds)}{seconds:.{1 if seconds < 9.95 else 0}f} s"

    said = (
        "The median wait of viewers for the first picture is no stall, and not judged: no limit is usual, "
        "though viewers begin to leave after 2 s (Krishnan and Sitaraman, IMC 2012)."
    )
    by_wait = sorted(waits, key=lambda choice: fmean(waits[choice]))
    if len(by_wait) == 1:
        return [f"{said} It is {wait(by_wait[0])} on average."]
    if len({wait(choice) for choice in by_wait}) == 1:
        return [f"{said} It is {wait(by_wait[0])} with each, on average of all that was run."]
    ends = {by_wait[0]: " (the shortest)", by_wait[-1]: " (the longest)"} if len(by_wait) > 2 else {}
    shown = dict.fromkeys([by_wait[0], *([chosen] if chosen in waits else []), by_wait[-1]])
    each = [f"{wait(choice)} with {cells.text([choice])}{ends.get(choice, '')}" for choice in shown]
    return [f"{said} It is {listed(each)}, on average of all that was run."]


def left_out(cells: Cells, ranking: Ranking, verdicts: Verdicts) -> list[str]:
    """Say by which goals choices are not compared, as one of them has no number; also of the chosen."""
    lacking: dict[Goal, list[tuple[str, str]]] = {}
    for cell, verdict in verdicts.items():
        for goal in verdict.lacking:
            lacking.setdefault(goal, []).append(cell)
    alike: dict[tuple[tuple[str, str], ...], list[Goal]] = {}
    for goal, found in lacking.items():
        alike.setdefault(tuple(found), []).append(goal)
    said = []
    for found, goals in alike.items():
        conditions, choices = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
        where = f" under {in_brief(conditions, len(cells.conditions))}" if any(conditions) else ""
        more = f" and {counted(len(goals) - 1, 'more goal')}" if len(goals) > 1 else ""
        chosen = [choice for choice in choices if choice in ranking.chosen]
        own = (
            ""
            if not chosen
            else f" So {cells.text(chosen)} may be the worst by {'those' if more else 'it'}, though chosen."
        )
        said.append(
            f"With {cells.text(choices)} there is no number for “{goals[0].stated}”{more}{where}, as when "
            f"nothing ends in time: there the choices are compared by the other goals alone.{own}"
        )
    return said


def without_values(cells: Cells, goals: Sequence[Goal], verdicts: Verdicts) -> list[str]:
    """Say which goals some cells have no number for."""
    said = []
    for goal in goals:
        judged = {cell for cell, v in verdicts.items() if any(found.goal == goal for found in v.findings)}
        told = {cell for cell, v in verdicts.items() if goal in v.lacking}
        lacking = [cell for cell in cells.cells if cell not in judged | told]
        if goal.of_best:
            # Where no choice has any, there is no best, and nothing that one lacks.
            conditions = {condition for condition, _ in judged}
            lacking = [cell for cell in lacking if cell[0] in conditions]
        if not lacking:
            continue
        if len(lacking) == len(cells.cells):
            said.append(f"No cell has a number for the goal “{goal.stated}”, so it is not judged.")
        else:
            have = "has" if len(lacking) == 1 else "have"
            said.append(
                f"{len(lacking)} of {len(cells.cells)} cells {have} no number for “{goal.stated}”; "
                "there it is neither judged nor compared."
            )
    return said + _in_part(cells, verdicts)


def _in_part(cells: Cells, verdicts: Verdicts) -> list[str]:
    """Say in which cells a goal has no number in some of the replications; who never finished leaves none."""
    of = {
        cell: found
        for cell, verdict in verdicts.items()
        if (found := [finding for finding in verdict.findings if finding.lacking])
    }
    if not of:
        return []
    goals = list(dict.fromkeys(finding.goal.name for found in of.values() for finding in found))
    named = f"“{goals[0]}”" + (f" and {len(goals) - 1} more" if len(goals) > 1 else "")
    where = f"In {len(of)} of {len(cells.cells)} cells" if len(cells.cells) > 1 else "In the one cell"
    return [f"{where} some replications have no number for {named}; means there are of the others alone."]
