"""How often `recommend` would call one of several equally good candidates worse for certain: drawn scores.

    python -m benches.doubt [RUNS]

Each candidate has the same mean score for each user; replications share most of their chance, as the same
traffic does. The search runs as it does for the advice: 4, 8 and 16 replications, comparisons by
:func:`sojourn.sweep.advice.elimination.stand`. Printed are the shares of searches at whose end somebody was
called worse for certain, and in which one was better than all others for certain.
"""

import sys
from collections.abc import Iterable

import numpy as np
from sojourn.study.units import percent
from sojourn.sweep.advice.elimination import Standing, stand
from sojourn.sweep.advice.question import FIRST, MOST
from sojourn.sweep.advice.search import confidence

SHARED, OWN = 0.5, 0.3
"""Standard deviations of a score in MOS: what all candidates have in a replication, and what each has."""


def search(scores: np.ndarray) -> Standing:
    """Return where candidates stand at the end; `scores` by candidate, user and replication."""
    had = dict.fromkeys(map(str, range(len(scores))), FIRST)
    while True:
        found = {
            name: {
                ("load", str(user)): dict(enumerate(row[:count]))
                for user, row in enumerate(scores[int(name)])
            }
            for name, count in had.items()
        }
        standing = stand(found, 0.1, confidence())
        more = [name for name in (standing.best, *standing.open) if standing.open and had[name] < MOST]
        if not more:
            return standing
        for name in more:
            had[name] *= 2


def shares(candidates: int, users: int, runs: int) -> tuple[float, float]:
    """Return in what share of searches somebody is worse for certain, and one is better than all others."""
    draw = np.random.default_rng(7)

    def drawn() -> Iterable[Standing]:
        for _ in range(runs):
            common = 3.0 + draw.normal(0, SHARED, (users, MOST))
            yield search(common + draw.normal(0, OWN, (candidates, users, MOST)))

    ends = list(drawn())
    return sum(bool(end.out) for end in ends) / runs, sum(len(end.alike) == 1 for end in ends) / runs


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for users in (1, 3):
        for candidates in (2, 3, 5, 8):
            worse, alone = shares(candidates, users, runs)
            what = f"{users} users, {candidates} candidates"
            print(f"{what}: {percent(worse)} worse, {percent(alone)} better than all", flush=True)
