"""The answer of a study: which queue serves its users best, how sure that is, and what it comes to.

>>> from sojourn.report.answer import answer                                        # doctest: +SKIP
>>> found = answer(results, axes, document)                                         # doctest: +SKIP
>>> found.ranking.chosen, found.as_json()["verdicts"]                               # doctest: +SKIP

Goals (:mod:`.goals`) are judged cell by cell (:mod:`.verdicts`), choices are compared by regret
(:mod:`.regrets`), and what was found is put into words (:mod:`.preface`, :mod:`.wording`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.report.answer import preface, wording
from sojourn.report.answer.cells import Cell, Cells, queue_axes, sort
from sojourn.report.answer.goals import Goal, goals_of, scored_users, unjudged, unscored
from sojourn.report.answer.regrets import Ranking, rank
from sojourn.report.answer.verdicts import CLOSE, Finding, Verdict, judge, known
from sojourn.results import beds
from sojourn.results.bounded import awaited
from sojourn.results.sizes import Size, sizes
from sojourn.study import label_text
from sojourn.study.replications import looks, most, precision

__all__ = ["Answer", "Goal", "Ranking", "Size", "Verdict", "answer", "queue_axes"]


@dataclass(frozen=True)
class Answer:
    """What the results of a study say.

    Attributes
    ----------
    title : str
        The question.
    sentences, items : list of str
        The answer, and what holds condition by condition.
    cells, goals, ranking
        What was compared, by what, and how it came out.
    verdicts : dict
        By condition and choice.
    sizes : dict
        By choice, what its buffers come to.
    rounds : str
        What came of ``repeat = "auto"``; empty for other studies.
    looks : int
        How often verdicts may have been looked at: what doubt a goal allows is shared among them.
    """

    title: str
    sentences: list[str]
    items: list[str]
    cells: Cells
    goals: list[Goal]
    ranking: Ranking = field(default_factory=Ranking)
    verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    sizes: dict[str, list[Size]] = field(default_factory=dict)
    rounds: str = ""
    looks: int = 1

    @property
    def most_replications(self) -> int:
        """Replications of the cell that has most."""
        return max((len({r["replication"] for r in cell}) for cell in self.cells.cells.values()), default=0)

    @property
    def of_users(self) -> bool:
        """Whether any goal is about users."""
        return scored_users(self.goals)

    @property
    def worst(self) -> tuple[str, str] | None:
        """The cell whose weakest goal is furthest from its limit, by condition and choice."""
        return min(
            self.verdicts,
            key=lambda cell: min(finding.score for finding in self.verdicts[cell].findings),
            default=None,
        )

    @property
    def all_alike(self) -> bool:
        """Whether no cell is better than another by any goal."""
        means = [{f.goal: f.score for f in verdict.findings} for verdict in self.verdicts.values()]
        return all(found == means[0] for found in means)

    def chosen_labels(self) -> dict[str, str] | None:
        """Return the labels of the choice by axis, of several that cannot be told apart the first.

        Nothing by axis where the study compares no queue, None where no choice could be made.
        """
        if not self.cells.axes:
            return {}
        for choice in self.ranking.chosen[:1]:
            cell = next(cell for (_, found), cell in self.cells.cells.items() if found == choice)
            return {axis: label_text(cell[0]["point"][axis]) for axis in self.cells.axes}
        return None

    def as_json(self) -> dict[str, Any]:
        """Return the answer as plain JSON."""
        ranking = self.ranking
        return {
            "sentences": self.sentences,
            "by_condition": self.items,
            "axes": self.cells.axes,
            "chosen": ranking.chosen,
            "decided_by": ranking.decided,
            "goals": [_goal(goal) for goal in self.goals],
            "regrets": [
                {"choice": choice, "worst": round(size, 6), "condition": where}
                | {"delay_ms": ranking.delay_ms.get(choice), "utilisation": ranking.utilisation.get(choice)}
                for choice, (size, where) in ranking.worst.items()
            ],
            "losses": [
                {
                    "condition": condition,
                    "choice": choice,
                    "loss": round(loss.size, 6),
                    "value": loss.goal.path,
                }
                for (condition, choice), loss in ranking.losses.items()
            ],
            "verdicts": [
                {
                    "condition": condition,
                    "choice": choice,
                    "verdict": verdict.says,
                    "goals": [_finding(finding) for finding in verdict.findings],
                }
                | ({"without_number": [goal.path for goal in verdict.lacking]} if verdict.lacking else {})
                for (condition, choice), verdict in self.verdicts.items()
            ],
            "sizes": {
                choice: [
                    {"link": size.link, "packets": size.packets, "bytes": size.bytes, "ms": size.ms}
                    for size in found
                ]
                for choice, found in self.sizes.items()
            },
            "certain": all(verdict.word != CLOSE for verdict in self.verdicts.values()),
        } | ({"repeat": self.rounds} if self.rounds else {})


def answer(
    results: Sequence[Mapping[str, Any]],
    axes: Mapping[str, Sequence[str]],
    document: Mapping[str, Any] | None = None,
) -> Answer:
    """Answer a study.

    Parameters
    ----------
    results
        Its results, as ``run --json`` prints them.
    axes
        The axes of its sweep and their labels.
    document
        The study, for its goals, users and replications.
    """
    document = document or {}
    cells, goals = sort(results, axes), goals_of(document, results)
    if len(cells.choices) < 2:  # there is no best choice to be a share of
        goals = [goal for goal in goals if not goal.of_best]
    verdicts = judge(cells, goals, looks(document))
    if not verdicts:
        nothing = (
            "The results hold nothing that could be judged: neither scores of users nor queueing delays."
        )
        if document.get("goals"):
            nothing = "No result has a value for any of the study's goals, so nothing can be judged."
        said = [nothing, *wording.unscored(unscored(document, results))]
        return Answer("What users get", said, [], cells, goals)
    ranking = rank(cells, goals)
    kinds = list(dict.fromkeys(user["kind"] for user in document.get("users") or () if "kind" in user))
    sentences = preface.opening(goals, bool(document.get("goals")), kinds)
    sentences += preface.loss(goals, bool(document.get("goals")), results)
    of_choices = {
        choice: sizes(r for condition in cells.conditions for r in cells.at(condition, choice))
        for choice in cells.choices
    }
    callers = [cell for cell in cells.cells.values() if any(run.get("voice") for run in cell)]
    rounds = _rounds(document, verdicts, callers) + _known(document, callers)
    once = all(len(cell) == 1 for cell in cells.cells.values())
    if cells.axes:
        sentences += wording.headline(cells, ranking, goals, once)
        sentences += wording.left_out(cells, ranking, verdicts)
        for choice in ranking.chosen[:1] if len(ranking.chosen) < len(cells.choices) else []:
            sentences.append(wording.kept(cells, verdicts, choice))
            if of_choices[choice]:
                sentences.append(wording.size_sentence(choice, of_choices[choice], cells))
        sentences += wording.missing(cells, ranking)
        items = wording.by_condition(cells, verdicts)
    else:
        sentences += [preface.compares_nothing(axes), *wording.by_cell(cells, verdicts)]
        items = []
    if document.get("goals") or scored_users(goals):
        judged = {found.goal.path.split(".")[0] for v in verdicts.values() for found in v.findings}
        sentences += wording.unscored([of for of in unscored(document, results) if of not in judged])
    sentences += wording.unjudged(cells, unjudged(goals, results)) if document.get("goals") else []
    sentences += wording.first_pictures(cells, goals, ranking.chosen[0] if ranking.chosen else None)
    sentences += wording.without_values(cells, goals, verdicts)
    sentences += beds.doubts(results)
    return Answer(
        title=preface.title(cells),
        sentences=[*sentences, *([rounds] if rounds else [])],
        items=items,
        cells=cells,
        goals=goals,
        ranking=ranking,
        verdicts=verdicts,
        sizes={choice: found for choice, found in of_choices.items() if found},
        rounds=rounds,
        looks=looks(document),
    )


def _rounds(
    document: Mapping[str, Any], verdicts: Mapping[tuple[str, str], Verdict], callers: Sequence[Cell]
) -> str:
    """Say what came of running until all verdicts are certain."""
    if document.get("repeat") != "auto":
        return ""
    open_ones = [verdict for verdict in verdicts.values() if verdict.word == CLOSE]
    counts = [finding.replications for verdict in verdicts.values() for finding in verdict.findings]
    few, many = min(counts), max(counts)
    ran = f"{few}" if few == many else f"{few} to {many}"
    if not open_ones:
        return f'With repeat = "auto" every verdict is certain after {ran} replications.'
    left = f"{len(open_ones)} of {len(verdicts)} verdicts are" if len(open_ones) > 1 else "one verdict is"
    if many >= most(document):
        ran += " replications, the most that the study allows"
        return f'With repeat = "auto" {left} not certain after {ran}.'
    if all(verdict.of_length for verdict in open_ones):
        findings = [finding for verdict in open_ones for finding in verdict.findings]
        few = awaited(found.goal.path for found in findings if found.at_least) or "loads"
        found = f"too few {few} had ended when the runs did"
        if any(finding.of_others for finding in findings) or any(one.lacking for one in open_ones):
            found = f"some runs have no number, or too few {few} that had ended"
        why = f"{found}, which longer runs tell, and not more of them"
        return f'With repeat = "auto" {left} not certain after {ran} replications: {why}.'
    asked = precision(document)
    left_so = asked is not None and all(known(cell, asked) for cell in callers)
    if left_so and all(verdict.of_scores for verdict in open_ones):
        why = "what is in doubt are opinion scores alone, of which only the mean is asked"
        return f'With repeat = "auto" {left} not certain after {ran} replications: {why}, to ±{asked:g} MOS.'
    return (
        f'With repeat = "auto" {left} not certain yet after {ran} replications; run the study again to go on.'
    )


def _known(document: Mapping[str, Any], callers: Sequence[Cell]) -> str:
    """Say in how many of the cells with callers their scores are known as well as was asked."""
    asked = precision(document)
    if asked is None or not callers:
        return ""
    open_ones = sum(not known(cell, asked) for cell in callers)
    where = f"{len(callers) - open_ones} of {len(callers)} cells" if open_ones else "every cell"
    return f" Callers' mean opinion scores are known to ±{asked:g} MOS in {where}."


def _goal(goal: Goal) -> dict[str, Any]:
    return {
        "name": goal.name,
        "value": goal.path,
        "at-least" if goal.above else "at-most": goal.limit,
        "of_best": goal.of_best,
        "confidence": goal.confidence,
        "source": goal.source,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    interval = finding.interval
    return {
        "value": finding.goal.path,
        "mean": round(finding.mean, 6),
        "interval": None if interval is None else [round(end, 6) for end in interval],
        "verdict": "not certain" if finding.word == CLOSE else finding.word,
        "replications": finding.replications,
        "settled_by": finding.settled_by,
    } | {key: found for key in ("at_least", "lacking") if (found := getattr(finding, key))}
