"""Successive elimination: candidates that are worse than the best for certain get no more replications.

What a candidate is worth is what its worst-off user gets under the worst load: the least, over loads and
users, of the mean over replications. Two candidates are compared replication by replication, since the same
replication has the same traffic under both: the difference has a Student t interval, and its doubt is shared
among the rounds there can be (Bonferroni), so that looking often does not make certainty cheap. It is that of
a pair: among many equals some one is called worse more often (``benches/doubt.py``). The worst
cells of two may be of other loads or users, and another cell may be worst but for chance. So one is better
for certain where each of its cells has more for certain than some cell of the other: the same, whose traffic
is the same, or the other's worst.

After each round the candidates split: *out* are those worse than the best for certain; *close* those whose
difference is known to the precision asked for, so that more replications would tell nobody anything; *open*
the rest. The best and the open ones get twice the replications, until none is open or the most are run.

Among those that cannot be told from the best, and whose mean is no further from its than the precision and
:data:`~sojourn.report.answer.scores.NEAR`, decide: the mean over loads of what the worst-off user gets,
then the mean queueing delay, then simplicity (the order of candidates). A coarser precision saves simulations
and makes nobody indifferent: where one is further ahead by its mean than that, the mean is the best guess
there is.

Sources: E. Even-Dar, S. Mannor, Y. Mansour 2006 (JMLR 7), successive elimination; R. L. Berger 1982
(Technometrics 24), intersection-union tests: where all parts must hold, each is tested at the whole doubt.
Differences: t intervals of paired differences for Hoeffding's bounds, rounds that double, and a doubt that is
not shared among the candidates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, stdev
from typing import NamedTuple

from sojourn.report.answer.scores import MATTERS, NEAR
from sojourn.results.interval import half_width

Cell = tuple[str, str]
"""A load and a user."""
Numbers = Mapping[Cell, Mapping[int, float]]
"""Of a candidate: by load and user, one number for each replication."""

_DELAY_MATTERS_MS = 1.0


class Difference(NamedTuple):
    """How much better one candidate is than another: the mean, and its interval (endless of one value)."""

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether it is better for certain."""
        return self.low > 0

    @property
    def half(self) -> float | None:
        """How far the interval reaches from the mean; None of one value."""
        far = max(self.mean - self.low, self.high - self.mean)
        return far if far < inf else None


@dataclass(frozen=True)
class Standing:
    """Where the candidates stand after a round.

    Attributes
    ----------
    best : str
        The candidate whose worst-off user gets most.
    out, close, open : list of str
    behind : dict
        By candidate, how much better the best is.
    """

    best: str
    out: list[str]
    close: list[str]
    open: list[str]
    behind: dict[str, Difference]

    @property
    def alike(self) -> list[str]:
        """The best, and those that cannot be told from it."""
        return [self.best, *self.close, *self.open]


def worst_cell(numbers: Numbers) -> tuple[Cell, float]:
    """Return the load and user that get least, and what that is."""
    means = {cell: fmean(found.values()) for cell, found in numbers.items()}
    cell = min(means, key=lambda each: (means[each], each))
    return cell, means[cell]


def worth(numbers: Numbers) -> float:
    """Return what the worst-off user gets under the worst load."""
    return worst_cell(numbers)[1]


def difference(better: Mapping[int, float], other: Mapping[int, float], confidence: float) -> Difference:
    """Compare two series by the replications that both have."""
    pairs = [better[at] - other[at] for at in sorted(better.keys() & other.keys())]
    mean = fmean(pairs)
    half = half_width(pairs, confidence)
    if half is None:
        return Difference(mean, -inf, inf)
    # The same in every replication: chance moves neither.
    half = half if max(pairs) - min(pairs) >= 1e-12 else 0.0
    return Difference(mean, mean - half, mean + half)


def advantage(better: Numbers, other: Numbers, confidence: float) -> Difference:
    """Return how much more one candidate is worth than another.

    The mean is over all replications of each, the interval of those that both have. It is that of
    min(b) - min(o), where b and o are the cells of the two: at least the least, over b, of b less any o, and
    at most the greatest, over o, of any b less o.
    """
    (mine, worst), (its, least) = worst_cell(better), worst_cell(other)
    lows, highs = [], []
    for cell in better.keys() & other.keys():
        same = difference(better[cell], other[cell], confidence)
        lows.append(max(same.low, difference(better[cell], other[its], confidence).low))
        highs.append(min(same.high, difference(better[mine], other[cell], confidence).high))
    return Difference(worst - least, min(lows), max(highs))


def stand(scores: Mapping[str, Numbers], precision: float, confidence: float) -> Standing:
    """Sort candidates into those that are out, close and open."""
    means = {name: worth(numbers) for name, numbers in scores.items()}
    best = max(means, key=lambda name: means[name])
    behind, out, close, undecided = {}, [], [], []
    for name in scores:
        if name == best:
            continue
        behind[name] = found = advantage(scores[best], scores[name], confidence)
        if found.certain:
            out.append(name)
        elif found.high - found.low <= 2 * precision:
            close.append(name)
        else:
            undecided.append(name)
    return Standing(best, out, close, undecided, behind)


def choose(
    scores: Mapping[str, Numbers],
    delays: Mapping[str, Mapping[int, float]],
    standing: Standing,
    precision: float,
    confidence: float,
) -> tuple[str, str]:
    """Choose among those that cannot be told apart; return the choice and what decided.

    That is ``worst`` (one is best for certain), ``best`` (no other is as near to it as to be taken in its
    place, though not all are worse for certain), ``mean`` over loads, ``delay``, or ``order``.
    """
    near = min(precision, NEAR)
    left = [
        name
        for name in scores
        if name == standing.best or (name in standing.alike and standing.behind[name].mean <= near)
    ]
    if len(left) == 1:
        return left[0], "worst" if len(standing.alike) == 1 else "best"
    over = {name: _over_loads(scores[name]) for name in left}
    waits = {name: {at: -ms for at, ms in delays[name].items()} for name in left}
    for decided, series, matters in (
        ("mean", over, lambda best: MATTERS),
        ("delay", waits, lambda best: max(_DELAY_MATTERS_MS, -0.05 * best)),
    ):
        kept = _not_behind(left, series, matters, confidence)
        if len(kept) == 1:
            return kept[0], decided
        left = kept
    return left[0], "order"


def _not_behind(
    names: Sequence[str],
    series: Mapping[str, Mapping[int, float]],
    matters: Callable[[float], float],
    confidence: float,
) -> list[str]:
    means = {name: fmean(series[name].values()) for name in names}
    best = max(names, key=lambda name: means[name])
    return [
        name
        for name in names
        if name == best
        or means[best] - means[name] <= matters(means[best])
        or not difference(series[best], series[name], confidence).certain
    ]


def _over_loads(numbers: Numbers) -> dict[int, float]:
    """Return, by replication, the mean over loads of what the worst-off user of each gets."""
    loads = list(dict.fromkeys(load for load, _ in numbers))
    least = {
        load: worst_cell({cell: numbers[cell] for cell in numbers if cell[0] == load})[0] for load in loads
    }
    times = set.intersection(*(set(numbers[least[load]]) for load in loads))
    return {at: fmean(numbers[least[load]][at] for load in loads) for at in sorted(times)}


def interval(
    values: Sequence[float], low: float, high: float, confidence: float
) -> tuple[float, float] | None:
    """Return the interval of a mean within its range, None for one value."""
    if len(values) < 2:
        return None
    half = half_width(values, confidence) if stdev(values) > 0 else 0.0
    mean = fmean(values)
    return max(mean - (half or 0.0), low), min(mean + (half or 0.0), high)
