"""The cells of a study, sorted by what a designer chooses (queues) and by what is given (conditions)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.report.answer.goals import Goal
from sojourn.report.figures.values import axis_name, lower, number_of, shared_unit, tick
from sojourn.results.distinct import distinct
from sojourn.study import label_text
from sojourn.study.grouped import grouped

Cell = Sequence[Mapping[str, Any]]
"""The replications of one cell, in order."""

_UNIT_WORDS = {"pkt": "packets"}
_MOST_NAMED = 6
"""Conditions that one line names."""


@dataclass(frozen=True)
class Cells:
    """The results of a study by condition and choice.

    Attributes
    ----------
    axes : list of str
        Those of the choice; empty where the study compares no queue.
    given : list of str
        Those of the conditions.
    choices, conditions : list of str
        Their labels, in study order; one empty label where there is no axis.
    cells : dict
        By condition and choice, the results; cells without any are absent.
    """

    axes: list[str]
    given: list[str]
    choices: list[str]
    conditions: list[str]
    cells: dict[tuple[str, str], list[Mapping[str, Any]]]

    def at(self, condition: str, choice: str) -> list[Mapping[str, Any]]:
        """Return the results of a cell, none where there are none."""
        return self.cells.get((condition, choice), [])

    def where(self, condition: str, choice: str) -> str:
        """Name a cell."""
        return ", ".join(filter(None, (condition, choice))) or "the one cell that was run"

    def best(self, goal: Goal, condition: str) -> Mapping[int, float] | None:
        """Return, by replication, the numbers of the choice with the best mean; None where that is 0.

        Only for goals that are shares of it.
        """
        found = [numbers for choice in self.choices if (numbers := goal.numbers(self.at(condition, choice)))]
        if not goal.of_best or len(self.choices) < 2 or not found:
            return None
        best = max(found, key=lambda numbers: sum(numbers.values()) / len(numbers))
        return best if any(best.values()) else None

    @property
    def noun(self) -> str:
        """What one choice is called."""
        if not self.axes:
            return "cell"
        ends = {axis.split(".")[-1] for axis in self.axes}
        if ends == {"limit"}:
            return "buffer" if len(self.axes) == 1 else "pair of buffers"
        return {frozenset({"kind"}): "queue discipline", frozenset({"target"}): "target delay"}.get(
            frozenset(ends), "queue"
        )

    @property
    def plural(self) -> str:
        """What several choices are called."""
        return "pairs of buffers" if self.noun == "pair of buffers" else f"{self.noun}s"

    @property
    def head(self) -> str:
        """The heading over the choices."""
        if len(self.axes) == 1:
            return axis_name(self.axes[0], self.choices)
        return " × ".join(_named(self.axes)) if self.axes else "Cell"

    @property
    def unit(self) -> str:
        """The unit that all choices are written in, if there is one."""
        return shared_unit(self.choices) if len(self.axes) == 1 else ""

    def short(self, choice: str) -> str:
        """Write a choice for a table whose heading names the unit."""
        return tick(choice, self.unit) or self.noun

    def text(self, chosen: Sequence[str]) -> str:
        """Write choices as a range where they follow one another and are numbers, else one by one."""
        ticks = [tick(label, self.unit) for label in chosen]
        places = [self.choices.index(label) for label in chosen]
        together = places == list(range(places[0], places[0] + len(places)))
        numbers = bool(self.unit) and all(number_of(label) is not None for label in chosen)
        words = f"{ticks[0]} to {ticks[-1]}" if len(chosen) > 2 and together and numbers else listed(ticks)
        unit = _UNIT_WORDS.get(self.unit, self.unit)
        return f"{words} {'packet' if ticks == ['1'] and self.unit == 'pkt' else unit}".rstrip()


def queue_axes(axes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the axes with several labels that a designer of a queue would choose from.

    A delay that a queue adds to every packet is part of the path, so it is none of them.
    """
    return [
        axis
        for axis, labels in axes.items()
        if len(labels) > 1
        and axis.startswith("path")
        and "queue" in (parts := axis.split("."))
        and parts[-1] != "delay"
    ]


def sort(results: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[str]]) -> Cells:
    """Sort results into cells."""
    chosen = queue_axes(axes)
    given = [axis for axis, labels in axes.items() if len(labels) > 1 and axis not in chosen]
    cells = grouped(
        ((_label(result, given), _label(result, chosen)), result)
        for result in sorted(results, key=lambda result: result["replication"])
    )
    # Study order, whatever the order of the results.
    by_axes = [
        {_label({"point": point}, names): None for point in _points(axes, names, results)}
        for names in (given, chosen)
    ]
    conditions, choices = (list(found) for found in by_axes)
    return Cells(chosen, given, choices, conditions, cells)


def of_chance(cells: Cells) -> Cells:
    """Leave out replications that are the same run as the first of their cell."""
    return replace(cells, cells={place: distinct(cell) for place, cell in cells.cells.items()})


def _points(
    axes: Mapping[str, Sequence[str]], names: Sequence[str], results: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Return the combinations of labels that results have, in the order of the axes."""
    found = {tuple(label_text(result["point"].get(name, "")) for name in names) for result in results}
    order = [{label: place for place, label in enumerate(axes[name])} for name in names]
    ranked = sorted(
        found,
        key=lambda labels: [where.get(label, len(where)) for where, label in zip(order, labels, strict=True)],
    )
    return [dict(zip(names, labels, strict=True)) for labels in ranked]


def cell_name(result: Mapping[str, Any], if_one: str) -> str:
    """Name the cell of a result by all axes; `if_one` where there are none."""
    return _label(result, list(result["point"])) or if_one


def _label(result: Mapping[str, Any], axes: Sequence[str]) -> str:
    """Name the labels of some axes; a bare number, or one of several measures, says of what it is."""
    words = []
    names = _named(axes)
    for axis, name in zip(axes, names, strict=True):
        label = label_text(result["point"].get(axis, ""))
        if axis.endswith(".count") and axis in _counts_alone(axes):
            one = axis.split(".")[0].removesuffix("s") if axis.startswith(("users.", "flows.")) else "flow"
            words.append(f"{label} {one}{'' if label == '1' else 's'}")
            continue
        of_itself = not label[:1].isdigit() or (len(axes) == 1 and not _is_number(label))
        words.append(label if of_itself else f"{lower(name)} {label}")
    return ", ".join(words)


def _counts_alone(axes: Sequence[str]) -> list[str]:
    """Return the axis that counts users or flows, where there is one: its number says then whose it is."""
    counts = [axis for axis in axes if axis.endswith(".count")]
    return counts if len(counts) == 1 else []


def _named(axes: Sequence[str]) -> list[str]:
    """Name axes so that no two have one name."""
    names = [axis if axis.endswith(".count") else axis_name(axis) for axis in axes]
    return [
        name if names.count(name) == 1 else f"{name} ({axis})" for axis, name in zip(axes, names, strict=True)
    ]


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def listed(words: Sequence[str]) -> str:
    """Write words as an enumeration."""
    between, last = ("; ", "; and ") if any(", " in word for word in words) else (", ", " and ")
    return words[0] if len(words) == 1 else between.join(words[:-1]) + last + words[-1]


def quoted(condition: str) -> str:
    """Write a condition so that the workload “none” is not read as the word."""
    return ", ".join("“none”" if label == "none" else label for label in condition.split(", "))


def in_brief(found: Sequence[str], total: int) -> str:
    """Name the conditions, or count them where the table below reads more easily than a list."""
    if len(found) > _MOST_NAMED:
        return f"{len(found)} of the {total} conditions"
    return listed([quoted(one) for one in found])
