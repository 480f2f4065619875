"""What one run is worth to each of its users, as opinion scores from 1 to 5.

=============  ==========================================================================================
``voice``      mean MOS over calls, of talking and of listening
``web``, …     mean MOS over what they did, wherever results have a `mos`
``browser``    G.1030's score of the median page load time, whose 5 is 0.56 s and whose 1 is 10 s; loads
               that were given up count as 1 each
``adaptive``   1 + 4 u (1 - s): u is where the mean bit rate lies between the lowest and the highest of the
               ladder, on a logarithmic scale; s is the share of viewers who stall
``call``,      1 + 2 g: g is the least place of their numbers on the scales of the usual limits
``page``,      (:mod:`sojourn.report.answer.goals`), 0 the worst, 1 the limit, 2 the best; so that 3, fair,
``gaming``, …  is just at the limit. Above it a number that cannot exceed a best is placed by how near it is
=============  ==========================================================================================

The last three are choices: no published scale fits them that may be used freely. They put users of all kinds
side by side, and say which queue serves them better, not how many would be content.
"""

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Any

from sojourn.parts.clips import open_clip
from sojourn.qoe.web import mos_of_plt
from sojourn.report.answer.goals import Goal, number_at, of_links, usual
from sojourn.results.bounded import lower_bounds
from sojourn.study.bounds import bounds

FIRST_PICTURE = "adaptive.startup_delay_ms.median"
OWN_SCALE = ("adaptive", "browser", "call", "gaming", "page", "responsiveness")
"""Users whose scores are on a scale that nobody publishes."""

MATTERS = 0.05
"""Differences in MOS below this decide nothing between candidates that are alike otherwise (a choice)."""
NEAR = 0.1
"""Further behind the best by its mean, none stands for it, however coarse the precision (a choice)."""

_PAGE_S = (0.56, 10.0)


def opinions(result: Mapping[str, Any], users: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the scores of a run: by user, ``voice.talks`` and ``voice.listens`` for the two ways of a call.

    Parameters
    ----------
    result
        As ``run --json`` prints it.
    users
        The users of its scenario.
    """
    found: dict[str, float] = {}
    for user in users:
        kind = user["kind"]
        about = result.get(kind) or {}
        for path in (kind, *(f"{kind}.{part}" for part in about if isinstance(about[part], Mapping))):
            if (score := number_at(result, f"{path}.mos.mean")) is not None:
                found[path] = score
        if kind == "browser" and (seconds := number_at(result, "browser.plt_s.median")) is not None:
            # Loads that were given up leave no time: those that came alone would make a bad queue a good one.
            came = 1 - (number_at(result, "browser.abandoned") or 0.0)
            found[kind] = 1 + (float(mos_of_plt(seconds, *_PAGE_S)) - 1) * came
        rate = number_at(result, "adaptive.average_rate_kbps")
        if kind == "adaptive" and kind not in found and rate is not None:
            found[kind] = _viewing(rate, number_at(result, "adaptive.clients_stalled_pct") or 0.0, user)
        if any(path.split(".")[0] == kind for path in found):
            continue
        if places := [
            _place(goal, number)
            for goal in usual(kind)
            if (number := number_at(result, goal.path)) is not None
        ]:
            found[kind] = 1 + 2 * min(places)
    return found


def _place(goal: Goal, number: float) -> float:
    best = bounds(goal.path)[1]
    if goal.above and goal.limit < number and goal.limit < best < inf:
        return 1 + (number - goal.limit) / (best - goal.limit)
    return goal.score(number)


def _viewing(rate_kbps: float, stalled_pct: float, user: Mapping[str, Any]) -> float:
    ladder = _ladder(user)
    if ladder[0] >= ladder[-1]:
        share = 1.0
    else:
        share = log(max(rate_kbps, ladder[0]) / ladder[0]) / log(ladder[-1] / ladder[0])
    return 1 + 4 * min(share, 1.0) * (1 - stalled_pct / 100)


def _ladder(user: Mapping[str, Any]) -> list[float]:
    """Return the bit rates that a viewer chooses from, of all clips together, the lowest first."""
    if rates := user.get("rates-kbps"):
        return sorted(rates)
    clips = user["clips"]
    found = [open_clip(clip).rates_kbps if isinstance(clip, str) else clip["rates-kbps"] for clip in clips]
    return sorted(rate for rates in found for rate in rates)


def on_scale(result: Mapping[str, Any], goals: Sequence[Goal]) -> dict[str, float]:
    """Return where a run lies on the scale of each goal: 0 the worst, 1 the limit, 2 the most that counts."""
    found = {goal.path: number_at(result, goal.path) for goal in goals}
    return {goal.path: goal.score(number) for goal in goals if (number := found[goal.path]) is not None}


def utilisation(result: Mapping[str, Any]) -> float | None:
    """Return the utilisation of the busiest link."""
    return max(of_links(result, "utilisation"), default=None)


def first_picture_ms(result: Mapping[str, Any]) -> tuple[float, bool] | None:
    """Return how long viewers wait for the first picture, and whether it is a lower bound."""
    found = number_at(result, FIRST_PICTURE)
    return None if found is None else (found, FIRST_PICTURE in lower_bounds(result))


def delay_ms(result: Mapping[str, Any]) -> float:
    """Return the mean queueing delay of a round trip: of all links together."""
    return sum(of_links(result, "queue_delay_ms.mean"))
