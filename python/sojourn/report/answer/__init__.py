"""The answer of a study: which queue serves its users best, how sure that is, and what it comes to.

>>> from sojourn.report.answer import answer                                        # doctest: +SKIP
>>> found = answer(results, axes, document)                                         # doctest: +SKIP
>>> found.ranking.chosen, found.as_json()["verdicts"]                               # doctest: +SKIP

Goals (:mod:`.goals`) are judged cell by cell (:mod:`.verdicts`), choices are compared by regret
(:mod:`.regrets`), and what was found is put into words (:mod:`.wording`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.report.answer.cells import Cells, of_chance, queue_axes, sort
from sojourn.report.answer.goals import Goal, goals_of, scored_users, unjudged, unscored
from sojourn.report.answer.regrets import Ranking, rank
from sojourn.report.answer.verdicts import CLOSE, Finding, Verdict, Verdicts, judge
from sojourn.report.answer.wording import choice as choice_words
from sojourn.report.answer.wording import goals_kept, preface, rounds, unanswered
from sojourn.results import beds, stuck
from sojourn.results.sizes import Size, sizes
from sojourn.study import label_text
from sojourn.study.replications import looks

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
    every, goals = sort(results, axes), goals_of(document, results)
    cells = of_chance(every)
    if len(cells.choices) < 2:  # there is no best choice to be a share of
        goals = [goal for goal in goals if not goal.of_best]
    verdicts = judge(cells, goals, looks(document))
    if not verdicts:
        nothing = unanswered.nothing(results, document)
        said = [nothing, *unanswered.unscored(unscored(document, results))]
        return Answer("What users get", said, [], cells, goals)
    ranking = rank(cells, goals)
    of_choices = {
        choice: sizes(r for condition in cells.conditions for r in cells.at(condition, choice))
        for choice in cells.choices
    }
    kinds = list(dict.fromkeys(user["kind"] for user in document.get("users") or () if "kind" in user))
    sentences = preface.opening(goals, bool(document.get("goals")), kinds)
    sentences += preface.loss(goals, bool(document.get("goals")), results) + stuck.said(results)
    same = preface.same_runs(every, cells)
    sentences += same
    if cells.axes:
        sentences += _chosen(cells, goals, ranking, verdicts, of_choices, bool(same))
        items = goals_kept.by_condition(cells, verdicts)
    else:
        sentences += [preface.compares_nothing(axes), *goals_kept.by_cell(cells, verdicts)]
        items = []
    if document.get("goals") or scored_users(goals):
        judged = {found.goal.path.split(".")[0] for v in verdicts.values() for found in v.findings}
        sentences += unanswered.unscored([of for of in unscored(document, results) if of not in judged])
    sentences += unanswered.unjudged(cells, unjudged(goals, results)) if document.get("goals") else []
    sentences += unanswered.first_pictures(cells, goals, ranking.chosen[0] if ranking.chosen else None)
    sentences += unanswered.without_values(cells, goals, verdicts)
    sentences += beds.doubts(results)
    callers = [cell for cell in cells.cells.values() if any(run.get("voice") for run in cell)]
    reached = (
        "" if same else rounds.reached(document, verdicts, callers) + rounds.scores_known(document, callers)
    )
    return Answer(
        title=preface.title(cells),
        sentences=[*sentences, *([reached] if reached else [])],
        items=items,
        cells=cells,
        goals=goals,
        ranking=ranking,
        verdicts=verdicts,
        sizes={choice: found for choice, found in of_choices.items() if found},
        rounds=reached,
        looks=looks(document),
    )


def _chosen(
    cells: Cells,
    goals: Sequence[Goal],
    ranking: Ranking,
    verdicts: Verdicts,
    of_choices: Mapping[str, Sequence[Size]],
    repeated: bool,
) -> list[str]:
    """Say which choice is best, and what comes with it."""
    once = all(len(cell) == 1 for cell in cells.cells.values())
    said = choice_words.headline(cells, ranking, goals, once, repeated)
    said += unanswered.left_out(cells, ranking, verdicts)
    for choice in ranking.chosen[:1] if len(ranking.chosen) < len(cells.choices) else []:
        said.append(goals_kept.of_choice(cells, verdicts, choice))
        if of_choices[choice]:
            said.append(choice_words.size_sentence(choice, of_choices[choice], cells))
    for choice in ranking.chosen[:1]:
        said += goals_kept.by_rate(cells, verdicts, choice)
    return said + unanswered.missing(cells, ranking)


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
