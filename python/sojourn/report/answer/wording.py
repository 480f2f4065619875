"""The answer in sentences. Each says what was measured, and no more."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from sojourn.report.answer.cells import Cells, listed
from sojourn.report.answer.goals import Goal, number_at, scored_users
from sojourn.report.answer.regrets import ALIKE, Ranking
from sojourn.report.answer.verdicts import CLOSE, NO, YES, Verdict
from sojourn.results.bounded import lower_bounds
from sojourn.results.sizes import Size, ms_brief
from sojourn.study import counted
from sojourn.study.units import percent

Verdicts = Mapping[tuple[str, str], Verdict]

_MOST_NAMED = 6
"""Conditions that one line names."""
_WAIT = "adaptive.startup_delay_ms.median"


def headline(cells: Cells, ranking: Ranking, goals: Sequence[Goal], once: bool) -> list[str]:
    """Say which choice is best, by what that was decided, and how sure it is."""
    if ranking.decided == "none":
        return ["No condition has numbers for every choice, so the choices cannot be compared."]
    chosen, total = ranking.chosen, len(ranking.worst)
    size = max(ranking.worst[choice][0] for choice in chosen)
    against = "against the best choice" + (" under the same condition" if len(ranking.compared) > 1 else "")
    most = "as much as 0.01" if size < 0.005 else f"more than {size:.2f}"
    if scored_users(goals):
        lost, whose = f"no user loses {most} {against}", "worst-off users"
    else:
        lost, whose = f"no goal falls {most} short of {against.removeprefix('against ')}", "the goals"
    if ranking.decided == "nothing":
        every = len(chosen) == total
        names = f"{total} {cells.plural} that were tried" if every else f"{cells.plural} {cells.text(chosen)}"
        said = [
            f"The {names} cannot be told apart: {whose}, queueing delay and utilisation differ by "
            + ("less than matters." if once else "no more than chance, or by less than matters.")
        ]
        said += [] if every else [f"With each of them {lost}{_runner_up(cells, ranking, chosen)}."]
        if others := [choice for choice in ranking.alike if choice not in chosen]:
            said.append(_set_apart(cells, ranking, others))
    elif ranking.decided == "regret":
        said = [
            f"The {cells.noun} to choose is {cells.text(chosen)}: {lost}{_runner_up(cells, ranking, chosen)}."
        ]
    else:
        others = [choice for choice in ranking.alike if choice not in chosen]
        said = [
            f"The {cells.noun} to choose is {cells.text(chosen)}: {lost}.",
            f"{_alike(cells, ranking, others, 'it')}; {_decided(ranking, others)}",
        ]
    if ranking.doubted:
        sizes = listed([f"{ranking.worst[choice][0]:.2f}" for choice in ranking.doubted])
        lose = "loses" if len(ranking.doubted) == 1 else "lose"
        said.append(
            f"Replications do not tell for certain that {cells.text(ranking.doubted)} {lose} more ({sizes}): "
            "more of them may turn the choice."
        )
    if once:
        said.append(
            "Each cell was run once, so chance cannot be told from effect and no verdict is certain; "
            'repeat = 3 gives intervals, repeat = "auto" as many runs as the verdicts need.'
        )
    return said


def _runner_up(cells: Cells, ranking: Ranking, chosen: Sequence[str]) -> str:
    """Say what the choice that comes next costs whom."""
    others = [choice for choice in ranking.worst if choice not in ranking.alike]
    if not others:
        return ""
    choice = min(others, key=lambda other: ranking.worst[other][0])
    size, condition = ranking.worst[choice]
    loss = ranking.losses[condition, choice]
    where = f" under {_quoted(condition)}" if condition else ""
    numbers = loss.goal.text(loss.mean)
    if not loss.goal.of_best:
        numbers += f" where the best choice has {loss.goal.text(loss.best)}"
    which = "the other" if len(others) == 1 and len(ranking.alike) == len(chosen) else "the next best"
    return f"; {which}, {cells.text([choice])}, loses {size:.2f}{where} ({loss.goal.name}: {numbers})"


def _alike(cells: Cells, ranking: Ranking, others: Sequence[str], than: str) -> str:
    """Say that losses are alike; that users cannot tell choices apart only where none loses much."""
    names = cells.text(others)
    if max(ranking.worst[choice][0] for choice in (*others, *ranking.chosen)) < ALIKE:
        if scored_users([loss.goal for loss in ranking.losses.values()]):
            return f"Users cannot tell {than} from {names}"
        return f"{'It' if than == 'it' else 'They'} cannot be told from {names} by the goals"
    sizes = [ranking.worst[choice][0] for choice in others]
    least = min(ranking.worst[choice][0] for choice in ranking.chosen)
    whose = "its" if than == "it" else "their"
    there = f"with {names} ({listed([f'{size:.2f}' for size in sizes])})"
    if max(abs(size - least) for size in sizes) < ALIKE:
        return f"{whose.capitalize()} worst loss is like that {there}"
    return f"Replications do not tell {whose} worst loss from that {there}"


def _set_apart(cells: Cells, ranking: Ranking, others: Sequence[str]) -> str:
    """Say why choices that users cannot tell from several chosen ones are not among them."""
    which = _alike(cells, ranking, others, "them")
    most = max(ranking.delay_ms[choice] for choice in ranking.chosen)
    if all(ranking.delay_ms[choice] > most for choice in others):
        rest = listed([f"{ms_brief(ranking.delay_ms[choice])} ms" for choice in others])
        return (
            f"{which}, but queueing delay is longer with {cells.text(others)}: {rest} on average, "
            f"all links together, against at most {ms_brief(most)} ms."
        )
    return f"{which}; delay or utilisation decides (the last rows of the table of regrets)."


def _decided(ranking: Ranking, others: Sequence[str]) -> str:
    best = ranking.chosen[0]
    if ranking.decided == "delay":
        rest = listed([f"{ms_brief(ranking.delay_ms[other])} ms" for other in others])
        return (
            f"its queueing delay decides: {ms_brief(ranking.delay_ms[best])} ms on average, all links "
            f"together, against {rest}."
        )
    rest = listed([percent(ranking.utilisation[other]) for other in others])
    return (
        "where delay does not decide either, utilisation does: "
        f"{percent(ranking.utilisation[best])} of the busiest link on average, against {rest}."
    )


def kept(cells: Cells, verdicts: Verdicts, choice: str) -> str:
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
        worst = _quoted(worst)
        which = f"under {worst}" if len(no) == 1 else f"under {len(no)} of them, most of all {worst}"
        said.append(f"some are missed {which} ({verdict.weakest.text})")
    if open_ones:
        said.append(f"it is not certain under {len(open_ones)}{_side(open_ones)}")
    return "; ".join(said) + "."


def _side(open_ones: Sequence[tuple[str, Verdict]]) -> str:
    """Say on which side of their limits the means of doubtful cells are."""
    good = [condition for condition, verdict in open_ones if verdict.good]
    others = len(open_ones) - len(good)
    if not good or not others:
        return f" ({'all means are on the good side' if good else 'some mean is on the bad side'})"
    where = " and ".join(map(_quoted, good)) if len(good) < 3 else f"{len(good)} of them"
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
        f"{said}{how} of {len(here)} conditions, least of all under {_quoted(worst)} ({verdict.weakest.text})"
    )


def _quoted(condition: str) -> str:
    """Write a condition so that the workload “none” is not read as the word."""
    return ", ".join("“none”" if label == "none" else label for label in condition.split(", "))


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
    return [f"{_names(found, total)}: {which}" if any(found) else which for which, found in alike.items()]


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
                said.append(f"{words} under {_names(found, len(verdicts))}{lean}.")
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


def size_sentence(choice: str, found: Sequence[Size], cells: Cells) -> str:
    """Say what the chosen buffer comes to."""
    links = "; ".join(f"{_link(size.link)} {size.text}" for size in found)
    return f"With {cells.text([choice])} the queues hold at most: {links}."


def _link(link: str) -> str:
    return {"up": "uplink", "down": "downlink"}.get(link, link)


def missing(cells: Cells, ranking: Ranking) -> list[str]:
    """Say which conditions could not be compared."""
    if ranking.decided == "none" or len(ranking.compared) == len(cells.conditions):
        return []
    left = [condition for condition in cells.conditions if condition not in ranking.compared]
    return [f"Not compared: {_names(left, len(cells.conditions))}, where not every choice has numbers."]


def _doubt(verdict: Verdict) -> str:
    return f"{verdict.weakest.text}; {verdict.more}" if verdict.more else verdict.weakest.text


def _names(found: Sequence[str], total: int) -> str:
    """Name the conditions, or count them where the table below reads more easily than a list."""
    if len(found) > _MOST_NAMED:
        return f"{len(found)} of the {total} conditions"
    return listed([_quoted(one) for one in found])


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
            if (wait := number_at(result, _WAIT)) is not None:
                waits.setdefault(choice, []).append(wait)
                bounds |= {choice} if _WAIT in lower_bounds(result) else set()
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
        where = f" under {_names(conditions, len(cells.conditions))}" if any(conditions) else ""
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
