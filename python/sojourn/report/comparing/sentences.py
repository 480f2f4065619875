"""What a comparison says in words, on the terminal and on the page."""

from math import ceil, floor, log10

from sojourn.errors import counted
from sojourn.report.comparing.cells import Comparison, Difference
from sojourn.report.figures.values import axis_name, lower
from sojourn.report.sections import Table
from sojourn.study.units import decimals_of, written

_MOST_DIGITS = 7
_MOST_SETTINGS = 24


def summary(found: Comparison) -> list[str]:
    """Return the answer in a few sentences, the first of them the shortest."""
    return [*_answer(found), *found.beds, *found.bounds, *found.losses]


def _answer(found: Comparison) -> list[str]:
    first, second = found.names
    if not found.differences:
        return [f"{first} and {second} share {counted(found.cells, 'cell')}, but no value that both have."]
    if found.same == found.cells:
        each = "the one cell" if found.cells == 1 else f"all {found.cells} cells"
        return [f"{first} and {second} hold the very same results in {each}: nothing differs."]
    hold = "holds" if found.same == 1 else "hold"
    same = [f"{found.same} of {found.cells} cells {hold} the very same results."] if found.same else []
    judged, larger = len(found.judged), len(found.larger)
    doubtful = [one for one in found.differences if one.larger is None]
    said = []
    if not judged:
        needed = "It takes at least two replications of each: set `repeat` in the study."
        if all(one.at_least for one in doubtful):
            needed = "All that was looked at is lower bounds."
        said.append(f"Whether {first} and {second} differ cannot be said: no value has an interval. {needed}")
        changed = sum(one.difference != 0 for one in doubtful)
        are = "is" if changed == 1 else "are"
        said.append(f"{changed} of {counted(len(doubtful), 'value')} {are} not the same number in both.")
        return said + same
    stay = sum(bool(one.holm) for one in found.larger)
    if not larger:
        said.append(f"No difference between {first} and {second} is larger than its 95 % interval.")
        were = "was" if judged == 1 else "were"
        said.append(f"{counted(judged, 'value')} in {counted(found.cells, 'cell')} {were} compared.")
    else:
        said.append(
            f"{larger} of {judged} differences {'is' if larger == 1 else 'are'} larger than "
            f"{'its 95 % interval' if larger == 1 else 'their 95 % intervals'}."
            if judged > 1
            else "The one difference that was looked at is larger than its 95 % interval."
        )
        said.append(
            f"About {_about(found.by_chance)} would be by chance alone if nothing differed; values of one "
            "cell depend on one another, so that it may well be more or fewer. "
            f"{_stay(stay, larger)} larger when all are to be right together (Holm)."
        )
    if doubtful:
        said.append(
            f"Of {counted(len(doubtful), 'more value')} nothing can be said: one replication, replications "
            "that do not vary, or a lower bound."
        )
    return said + same


def clearest(found: Comparison, most: int = 8) -> list[str]:
    """Return a line for the surest differences."""
    return [line(one) for one in found.larger[:most]]


def line(one: Difference) -> str:
    """Write one difference as a sentence, without its full stop."""
    where = ", ".join(label for _, label in one.cell) or "the one cell"
    unit = f" {one.value.unit}" if one.value.unit else ""
    more = "more" if one.difference > 0 else "less"
    way = {True: "better", False: "worse", None: more}[one.better]
    first, second, difference, low, high = _written(one)
    within = "" if low == high else f"between {low} and {high}, "
    return (
        f"{where}: {lower(one.value.name)} {first} → {second}{unit} (difference {difference}, {within}{way})"
    )


def _written(one: Difference) -> list[str]:
    """Write both means, their difference and the ends of its interval, all with the same decimals."""
    by, decimals = one.value.factor, _decimals(one)
    means = [_fixed(_mean(side) * by, decimals) for side in (one.first, one.second)]
    moves = (one.difference, *(one.interval or (one.difference,) * 2))
    return means + [_signed(_fixed(number * by, decimals)) for number in moves]


def _decimals(one: Difference) -> int:
    """Choose by the interval: of half of it two digits are told if they are at most 35, else one.

    That is the rule of the Particle Data Group (Review of Particle Physics, introduction, "Rounding").
    Without an interval the means have as many as they are shown with elsewhere. More is told where a
    difference that is larger than its interval, or is known without one, would read as none; less where a
    number would have more than seven digits.
    """
    by = one.value.factor
    shown = [abs(_mean(side)) * by for side in (one.first, one.second)]
    low, high = one.interval or (0.0, 0.0)
    if (half := (high - low) * by / 2) > 0:
        place = floor(log10(half))
        decimals = (1 if half / 10.0**place < 3.55 else 0) - place
    else:
        decimals = max(decimals_of(one.value.text(number / by)) for number in shown)
    if one.difference and (one.larger or one.interval is None):
        decimals = max(decimals, ceil(-log10(1.9 * abs(one.difference) * by)))
    whole = len(f"{max(shown):.0f}")
    return min(max(decimals, 0), max(_MOST_DIGITS - whole, 0))


def _fixed(number: float, decimals: int) -> str:
    """Write a number with so many decimals; none of it with a sign."""
    return written(number, f".{decimals}f")


def _signed(text: str) -> str:
    return text if not text.strip("0.") else text if text[0] == "−" else f"+{text}"


def table(found: Comparison, path: str) -> Table:
    """Return one row for each cell of a value."""
    first, second = found.names
    rows = []
    shown = None
    for one in found.differences:
        if one.value.path != path:
            continue
        shown = one.value
        *means_and_difference, low, high = _written(one)
        interval = "–" if one.interval is None else f"{low} to {high}"
        rows.append([*(label for _, label in one.cell), *means_and_difference, interval, one.verdict])
    unit = f" ({shown.unit})" if shown and shown.unit else ""
    heads = [axis_name(axis) for axis in found.axes]
    heads += [f"{first}{unit}", f"{second}{unit}", "Difference", "95 % interval", "Verdict"]
    return Table(heads, rows, len(found.axes))


def settings(found: Comparison) -> list[tuple[str, str, str]]:
    """Return what the studies ask for differently, and the engines where they are not the same."""
    rows = list(found.settings[:_MOST_SETTINGS])
    if len(found.settings) > _MOST_SETTINGS:
        rows.append((f"and {len(found.settings) - _MOST_SETTINGS} more", "", ""))
    made = tuple("; ".join(names) for names in found.engines)
    return rows if made[0] == made[1] else [("engine", *made), *rows]


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)


def _about(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"


def _stay(stay: int, larger: int) -> str:
    if stay == larger:
        return "All stay" if larger > 1 else "It stays"
    return f"{stay} of them {'stays' if stay == 1 else 'stay'}" if stay else "None of them stays"
