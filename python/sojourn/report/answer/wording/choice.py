"""The choice: which it is, what decided, and what its buffers come to."""

from collections.abc import Sequence

from sojourn.report.answer.cells import Cells, listed, quoted
from sojourn.report.answer.goals import Goal, scored_users
from sojourn.report.answer.regrets import ALIKE, Ranking
from sojourn.results.sizes import Size, ms_brief
from sojourn.study.units import percent


def headline(
    cells: Cells, ranking: Ranking, goals: Sequence[Goal], once: bool, repeated: bool = False
) -> list[str]:
    """Say which choice is best, by what that was decided, and how sure it is.

    Of each cell one run may be known, or that its replications are one.
    """
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
    if once and not repeated:
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
    where = f" under {quoted(condition)}" if condition else ""
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


def size_sentence(choice: str, found: Sequence[Size], cells: Cells) -> str:
    """Say what the chosen buffer comes to."""
    links = "; ".join(f"{_link(size.link)} {size.text}" for size in found)
    return f"With {cells.text([choice])} the queues hold at most: {links}."


def _link(link: str) -> str:
    return {"up": "uplink", "down": "downlink"}.get(link, link)
