"""Where the goals are kept: with the choice, condition by condition, or cell by cell."""

from collections.abc import Mapping, Sequence

from sojourn.report.answer.cells import Cells, in_brief, listed, quoted
from sojourn.report.answer.hop_rates import kept_by_rate, run_once
from sojourn.report.answer.verdicts import CLOSE, NO, YES, Verdict, Verdicts
from sojourn.report.figures.values import axis_name, lower


def of_choice(cells: Cells, verdicts: Verdicts, choice: str) -> str:
    """Say under how many conditions a choice keeps the goals."""
    here = [(c, verdicts[c, choice]) for c in cells.conditions if (c, choice) in verdicts]
    yes = [c for c, verdict in here if verdict.word == YES]
    no = [(c, verdict) for c, verdict in here if verdict.word == NO]
    open_ones = [(c, verdict) for c, verdict in here if verdict.word == CLOSE]
    who = f"With {cells.text([choice])}"
    if len(here) == 1:
        _, verdict = here[0]
        if verdict.word == YES:
            return f"{who} all goals are kept, for certain."
        if verdict.word == NO:
            return f"Even so, not all goals are kept: {verdict.weakest.text}."
        return f"{who} it is not certain that all goals are kept: {_doubt(verdict)}."
    if all(verdict.weakest.replications < 2 for _, verdict in here):
        return f"{who} {_in_one_run(here)}."
    if len(yes) == len(here):
        return f"{who} all goals are kept, for certain, under all {len(here)} conditions."
    if len(open_ones) == len(here):
        where = f"under any of {len(here)} conditions"
        return f"{who} it is not certain {where} that all goals are kept{_side(here)}."
    count = f"under {len(yes)} of {len(here)} conditions" if yes else f"under none of {len(here)} conditions"
    said = [f"{who} all goals are kept for certain {count}"]
    if no:
        worst, verdict = min(no, key=lambda pair: pair[1].weakest.score)
        worst = quoted(worst)
        which = f"under {worst}" if len(no) == 1 else f"under {len(no)} of them, most of all {worst}"
        said.append(f"some are missed {which} ({verdict.weakest.text})")
    if open_ones:
        said.append(f"it is not certain under {len(open_ones)}{_side(open_ones)}")
    return "; ".join(said) + "."


def by_rate(cells: Cells, verdicts: Verdicts, choice: str) -> list[str]:
    """Say how often a choice keeps the goals with each rate of a hop that the study sweeps."""
    name = cells.text([choice])
    which = f"where {name} keeps all goals for certain"
    if run_once(verdicts):
        which = f"in whose one run all goals were on the good side of their limits with {name}"
    return [
        f"The {lower(axis_name(axis))} is a condition here, so none of its {len(rates)} values is chosen. "
        f"If it is that of a shaper, compare the conditions {which}: "
        + listed([f"{kept} of {judged} at {rate}" for rate, (kept, judged) in rates.items()])
        + "."
        for axis, rates in kept_by_rate(cells, verdicts, choice).items()
    ]


def _side(open_ones: Sequence[tuple[str, Verdict]]) -> str:
    """Say on which side of their limits the means of doubtful cells are."""
    good = [condition for condition, verdict in open_ones if verdict.good]
    others = len(open_ones) - len(good)
    if not good or not others:
        return f" ({'all means are on the good side' if good else 'some mean is on the bad side'})"
    where = " and ".join(map(quoted, good)) if len(good) < 3 else f"{len(good)} of them"
    return f" (all means are on the good side under {where}, not under the other{'s' * (others > 1)})"


def _in_one_run(here: Sequence[tuple[str, Verdict]]) -> str:
    """Say on which side of their limits the goals were, where every cell was run once."""
    good = sum(verdict.good for _, verdict in here)
    how = f"{good}" if good else "none"
    said = "in the one run of each cell all goals were on the good side of their limits under "
    if good == len(here):
        return f"{said}all {good} conditions"
    worst, verdict = min(here, key=lambda pair: pair[1].weakest.score)
    return (
        f"{said}{how} of {len(here)} conditions, least of all under {quoted(worst)} ({verdict.weakest.text})"
    )


def by_condition(cells: Cells, verdicts: Verdicts) -> list[str]:
    """Say, condition by condition, which choices keep the goals; conditions that are alike in one line."""
    alike: dict[str, list[str]] = {}
    for condition in cells.conditions:
        here = {choice: verdicts.get((condition, choice)) for choice in cells.choices}
        alike.setdefault(_which(cells, here), []).append(condition)
    hopeless = {which: found for which, found in alike.items() if which.startswith("no ")}
    if len(hopeless) > 1:
        alike = {which: found for which, found in alike.items() if which not in hopeless}
        alike[f"no {cells.noun} that was tried"] = [one for found in hopeless.values() for one in found]
    total = len(cells.conditions)
    return [f"{in_brief(found, total)}: {which}" if any(found) else which for which, found in alike.items()]


def _which(cells: Cells, here: Mapping[str, Verdict | None]) -> str:
    there = {choice: verdict for choice, verdict in here.items() if verdict}
    if not there:
        return "nothing was measured that could be judged"
    yes = [choice for choice, verdict in there.items() if verdict.word == YES]
    doubt = [choice for choice, verdict in there.items() if verdict.word == CLOSE]
    if not yes and not doubt:
        return f"no {cells.noun} that was tried{_closest(cells, there)}"
    everyone = len(there) == len(cells.choices)
    words = []
    if yes:
        every = everyone and len(yes) == len(there) > 1
        words.append(f"every {cells.noun} that was tried" if every else cells.text(yes))
    if doubt:
        every = everyone and len(doubt) == len(there) > 1
        lean = _leaning(cells, there, doubt)
        words.append(f"not certain for {'any' if every else cells.text(doubt)} ({lean})")
    return "; ".join(words)


def _closest(cells: Cells, there: Mapping[str, Verdict]) -> str:
    """Say which of the choices that miss a goal comes closest, and of several that none does."""
    weakest = {choice: verdict.weakest for choice, verdict in there.items()}
    first = max(weakest.values(), key=lambda found: found.score)
    said, reads = first.text, (first.goal.name, first.goal.text(first.mean))
    alike = {c: (found.goal.name, found.goal.text(found.mean)) == reads for c, found in weakest.items()}
    best = [c for c, found in weakest.items() if alike[c] or found.score >= first.score - 1e-9]
    same = f" ({said})" if all(weakest[choice].text == said for choice in best) else ""
    if len(best) == 1:
        return f"; {cells.text(best)} comes closest{same}"
    if len(best) == len(cells.choices):
        return f"; none comes closer than another{same}"
    return f"; {cells.text(best)} come closest{same}"


def _leaning(cells: Cells, there: Mapping[str, Verdict], doubt: Sequence[str]) -> str:
    """Say which of the doubtful choices look good: all their means are on the good side."""
    good = [choice for choice in doubt if there[choice].good]
    if len(doubt) == 1:
        return "it looks good" if good else "it looks bad"
    if len(good) in (0, len(doubt)):
        return "all look good" if good else "all look bad"
    return f"{cells.text(good)} look{'s' * (len(good) == 1)} good"


def by_cell(cells: Cells, verdicts: Verdicts) -> list[str]:
    """Say in which conditions the goals are kept, where there is no choice."""
    said = []
    for word, words in (
        (YES, "All goals are kept, for certain,"),
        (CLOSE, "It is not certain that all goals are kept"),
        (NO, "Some goals are missed"),
    ):
        found = [c for (c, _), verdict in verdicts.items() if verdict.word == word]
        if not found:
            continue
        good = sum(verdict.good for verdict in verdicts.values() if verdict.word == word)
        if not any(found):
            verdict = next(iter(verdicts.values()))
            tail = {
                YES: "All goals are kept, for certain.",
                CLOSE: f"It is not certain that all goals are kept: {_doubt(verdict)}.",
                NO: f"Not all goals are kept: {verdict.weakest.text}.",
            }[word]
            said.append(tail)
        else:
            lean = f" ({_lean(good, len(found))})" if word == CLOSE else ""
            if len(found) < len(verdicts):
                said.append(f"{words} under {in_brief(found, len(verdicts))}{lean}.")
            elif word == CLOSE:
                none = "Under none of the conditions that were run is it certain whether all goals are kept"
                said.append(f"{none}{lean}.")
            else:
                said.append(f"{words} under every condition that was run.")
    return said


def _lean(good: int, of: int) -> str:
    """Say how many of several doubtful verdicts look good: all their means are on the good side."""
    if good in (0, of):
        look = "looks" if of == 1 else "look"
        return f"{'it' if of == 1 else 'all'} {look} {'good' if good else 'bad'}"
    return f"{good} of {of} look{'s' * (good == 1)} good"


def _doubt(verdict: Verdict) -> str:
    return f"{verdict.weakest.text}; {verdict.more}" if verdict.more else verdict.weakest.text
