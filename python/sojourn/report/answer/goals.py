"""What users are owed: the goals of a study, or those by which it is judged where it has none.

A goal is a limit that a number of the results must keep. Its scale puts users of all kinds side by side: 0
is the worst that can be, 1 just at the limit, 2 the most that is counted.

- What must be at least L: (x - floor) / (L - floor), the floor being 1 for an opinion score and 0 for the
  rest.
- What must be at most L, and has no worst: 2 L / (L + x), which is 2 at nothing, 1 at the limit, and nears 0.

So the same loss on the scale is the same share of the way from the limit to the worst, whoever the user is.
That it weighs users alike is a choice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sojourn.report.figures.values import lower, value
from sojourn.results.interval import Sample
from sojourn.results.path import look_up
from sojourn.study.bounds import bounds
from sojourn.study.links import called, way_of
from sojourn.study.thresholds import Limit, Threshold, thresholds
from sojourn.study.units import percent

BEST = 2.0
"""The most that the scale counts."""
CHOICE = "a choice"
"""The source of a limit that nobody publishes."""

_USERS = (
    "voice",
    "video",
    "web",
    "browser",
    "adaptive",
    "gaming",
    "cloud-gaming",
    "call",
    "page",
    "responsiveness",
)
_G107, _G114, _G1030 = "ITU-T G.107 and G.109", "ITU-T G.114", "ITU-T G.1030"
_ZINNER = "Zinner et al. 2010"
_ENOUGH = f"that this is enough is {CHOICE}"


@dataclass(frozen=True)
class Goal:
    """A limit on a number of the results.

    Attributes
    ----------
    path : str
        The number, as ``voice.talks.mos.p5``.
    limit : float
    above : bool
        The number must be at least the limit; else at most.
    name : str
        Whom or what it is about, in a few words.
    source : str
        Where the limit comes from.
    confidence : float
        Of a verdict that is called certain.
    of_best : bool
        The number is a share of what the best choice gives under the same condition.
    """

    path: str
    limit: float
    above: bool
    name: str
    source: str
    confidence: float = 0.95
    of_best: bool = False

    @property
    def stated(self) -> str:
        """The goal in words."""
        way = "at least" if self.above else "at most"
        if self.of_best:
            return f"{self.name} {way} {100 * self.limit:g} % of the best choice's"
        return f"{self.name} {way} {self.text(self.limit, exact=True)}"

    def text(self, number: float, *, exact: bool = False) -> str:
        """Write a number of this goal, with its unit; a limit with all its digits."""
        if self.of_best:
            return f"{percent(number, 0)} of the best"
        shown = value(self.path)
        if exact:
            return f"{number * shown.factor:.10g} {shown.unit}".strip()
        return shown.with_unit(number)

    def with_interval(self, mean: float, low: float, high: float) -> tuple[str, str]:
        """Write a number and its interval, with the same decimals and the unit once each."""
        if self.of_best:
            return self.text(mean), f"{100 * low:.0f} to {percent(high, 0)}"
        shown = value(self.path)
        middle, least, most = shown.alike(mean, low, high)
        return f"{middle} {shown.unit}".strip(), f"{least} to {most} {shown.unit}".strip()

    def good(self, number: float) -> bool:
        """Say whether a number keeps the limit."""
        return number >= self.limit if self.above else number <= self.limit

    def score(self, number: float) -> float:
        """Put a number on the scale: 0 is the worst, 1 the limit, 2 the most that is counted."""
        if self.above:
            floor = 1.0 if ".mos" in self.path else 0.0
            span = self.limit - floor if self.limit > floor else max(abs(self.limit), 1.0)
            found = 1.0 + (number - self.limit) / span
        elif self.limit > 0:
            found = 2 * self.limit / (self.limit + max(number, 0.0))
        else:
            found = 1 / (1 + max(number - self.limit, 0.0))
        return min(max(found, 0.0), BEST)

    def numbers(self, cell: Iterable[Mapping[str, Any]]) -> dict[int, float]:
        """Return the number of each replication that has it; 0 is one."""
        return {
            result["replication"]: number
            for result in cell
            if (number := number_at(result, self.path)) is not None
        }

    def lacking(self, cell: Sequence[Mapping[str, Any]]) -> int:
        """Return how many replications have no number."""
        return len({result["replication"] for result in cell}) - len(self.numbers(cell))

    def sample(self, cell: Sequence[Mapping[str, Any]], best: Mapping[int, float] | None) -> Sample | None:
        """Return the numbers of a cell; where the goal says so, as shares of `best` (by replication)."""
        found = self.numbers(cell)
        if self.of_best:
            found = {at: number / best[at] for at, number in found.items() if best and best.get(at)}
        if not found:
            return None
        values = tuple(found.values())
        if self.of_best:
            return Sample(values, low=0.0)
        low, high = bounds(self.path)
        trials = [_trials(result, self.path) for result in cell if result["replication"] in found]
        known = [number for number in trials if number is not None]
        counted = self.path.endswith((".stalls", ".retransmits", ".timeouts", ".unfinished", "_pkts"))
        return Sample(values, low, high, sum(known) if len(known) == len(trials) else None, counted)


def number_at(result: Mapping[str, Any], path: str) -> float | None:
    """Return the number of a result at a path, None where there is none."""
    found = look_up(result, path)
    if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
        return None
    return float(found)


def of_links(result: Mapping[str, Any], path: str) -> list[float]:
    """Return a number of every link of a result that has it."""
    found = (number_at(result, f"links.{link}.{path}") for link in result.get("links") or ())
    return [number for number in found if number is not None]


def goals_of(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """Return the goals that a study states, else the usual ones that its results have numbers for."""
    every = dict.fromkeys(link for result in results for link in result.get("links") or ())
    links = [link for link in every if way_of(link) != "access"]
    stated = [goal for entry in document.get("goals") or () for goal in _read(entry, links, results)]
    if stated:
        return stated
    users = [goal for goal in _USUAL if _measured(goal, results)]
    delays = [goal for link in links for goal in _delays(link) if _measured(goal, results)]
    judged = users if any(not goal.path.startswith("flows.") for goal in users) else [*delays, *users]
    return judged


def scored_users(goals: Sequence[Goal]) -> bool:
    """Say whether any of the usual goals is about users."""
    return any(goal.path.split(".")[0] in _USERS for goal in goals)


def usual(kind: str) -> list[Goal]:
    """Return the usual limits of a kind of users, without shares of the best choice."""
    return [goal for goal in _USUAL if goal.path.split(".")[0] == kind and not goal.of_best]


def unjudged(goals: Sequence[Goal], results: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """Return the usual limits of users that were scored and that no goal is about."""
    about = {goal.path.split(".")[0] for goal in goals}
    if "network" in about:
        about.add("gaming")  # what `network` is measured with
    others = set(_USERS) - about - {"responsiveness"}
    return [
        goal
        for goal in _USUAL
        if goal.path.split(".")[0] in others and not goal.of_best and _measured(goal, results)
    ]


HOUSEHOLD = {"voice": 1, "call": 1, "web": 1, "gaming": 1, "cloud-gaming": 0, "adaptive": 2}
"""Who is in a household that does not say otherwise (`sim/src/scenario/users/household.rs`)."""


def unscored(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the kinds of a study's users of which no result has any of the usual numbers."""
    kinds: dict[str, None] = {}
    for user in document.get("users") or ():
        if user.get("kind") == "household":
            there = [kind for kind, usual in HOUSEHOLD.items() if user.get(kind, usual)]
            kinds |= dict.fromkeys("page" if kind == "web" else kind for kind in there)
        elif user.get("kind") in _USERS:
            kinds[user["kind"]] = None
    scored = {goal.path.split(".")[0] for goal in _USUAL if not goal.of_best and _measured(goal, results)}
    return [kind for kind in kinds if kind not in scored]


def _measured(goal: Goal, results: Sequence[Mapping[str, Any]]) -> bool:
    found = [number for result in results if (number := number_at(result, goal.path)) is not None]
    return any(found) if goal.of_best else bool(found)


def named(threshold: Threshold, limits: Iterable[Limit], confidence: float = 0.95) -> list[Goal]:
    """Return the goals of a threshold that operators quote; its source says what of it is from memory."""
    return [
        Goal(
            limit.value,
            limit.limit,
            limit.above,
            f"{threshold.about}: {lower(value(limit.value).phrase)}",
            threshold.told,
            confidence,
        )
        for limit in limits
    ]


def _read(entry: Mapping[str, Any], links: Sequence[str], results: Sequence[Mapping[str, Any]]) -> list[Goal]:
    confidence = float(entry.get("confidence", 0.95))
    if "threshold" in entry:
        threshold = thresholds()[entry["threshold"]]
        there = threshold.judged(
            lambda path: any(number_at(result, path) is not None for result in results), links
        )
        return named(threshold, there, confidence)
    above = "at-least" in entry
    phrase = value(entry["value"]).phrase
    name = entry.get("name") or (lower(phrase) if phrase else entry["value"])
    limit = float(entry["at-least" if above else "at-most"])
    return [Goal(entry["value"], limit, above, name, "the study", confidence)]


def _trials(result: Mapping[str, Any], path: str) -> float | None:
    """Return over how many independent trials a share was counted, None where it is no such share."""
    if path == "adaptive.clients_stalled_pct":
        clients = look_up(result, "adaptive.clients") or look_up(result, "adaptive.per_client_rate_kbps")
        return float(len(clients)) if clients else None
    if path == "browser.abandoned":
        return number_at(result, "browser.loads")
    if path == "page.abandoned":
        loads, unfinished = number_at(result, "page.loads"), number_at(result, "page.unfinished")
        return None if loads is None or unfinished is None else loads - unfinished
    return None


def _delays(link: str) -> tuple[Goal, ...]:
    of = f"of the {called(link)}"
    return (
        Goal(f"links.{link}.queue_delay_ms.mean", 150.0, False, f"mean queueing delay {of}", _G114),
        Goal(
            f"links.{link}.queue_delay_ms.p95", 400.0, False, f"95th percentile of queueing delay {of}", _G114
        ),
    )


_USUAL = (
    *(
        goal
        for way, who in ((way, f"voice, the user {way},") for way in ("talks", "listens"))
        for goal in (
            Goal(
                f"voice.{way}.mos.median", 3.6, True, f"{who} median MOS", f"{_G107}: some are dissatisfied"
            ),
            Goal(f"voice.{way}.mos.p5", 3.1, True, f"{who} MOS of the worst 5 %", f"{_G107}: many are"),
        )
    ),
    Goal("web.mos.median", 3.0, True, "web pages, median MOS", f"{_G1030}: fair"),
    Goal("web.mos.p5", 2.0, True, "web pages, MOS of the worst 5 %", f"{_G1030}: poor; {_ENOUGH}"),
    Goal("video.ssim.median", 0.88, True, "video, median SSIM", f"{_ZINNER}: fair"),
    Goal("video.ssim.p5", 0.5, True, "video, SSIM of the worst 5 %", f"{_ZINNER}: poor; {_ENOUGH}"),
    *(
        goal
        for way, who in ((way, f"video call, the user {way},") for way in ("sends", "receives"))
        for goal in (
            Goal(f"call.{way}.frozen", 0.01, False, f"{who} time frozen", CHOICE),
            Goal(
                f"call.{way}.delay_ms.p95", 400.0, False, f"{who} delay of the slowest 5 % of pictures", _G114
            ),
            Goal(f"call.{way}.ssim.median", 0.88, True, f"{who} median SSIM", f"{_ZINNER}: fair"),
            # Not all that is sent: what losses are answered with by error correction is no gain.
            Goal(f"call.{way}.picture_kbps", 0.9, True, f"{who} rate of pictures", CHOICE, of_best=True),
        )
    ),
    Goal(
        "page.largest_paint_s.p75",
        2.5,
        False,
        "page of today, largest paint, 75th percentile",
        "web.dev, Core Web Vitals: good",
    ),
    Goal("page.abandoned", 0.05, False, "page of today, loads given up", CHOICE),
    Goal("browser.plt_s.median", 4.0, False, "browsing, median page load time", "ITU-T G.1010: acceptable"),
    Goal("browser.plt_s.p95", 10.0, False, "browsing, page load time of the slowest 5 %", CHOICE),
    Goal("browser.abandoned", 0.05, False, "browsing, pages abandoned", CHOICE),
    Goal("gaming.late.mean", 0.05, False, "online game, ticks that come too late", CHOICE),
    Goal("cloud-gaming.mos.median", 3.0, True, "streamed game, median MOS", f"ITU-T G.1072: fair; {_ENOUGH}"),
    Goal("adaptive.clients_stalled_pct", 5.0, False, "viewers who stall", CHOICE),
    Goal("adaptive.average_rate_kbps", 0.9, True, "mean bit rate of viewers", CHOICE, of_best=True),
    Goal(
        "responsiveness.rpm.median",
        600.0,
        True,
        "responsiveness, median RPM",
        f"a round trip of 100 ms: {CHOICE}",
    ),
    Goal("flows.goodput_bps", 0.9, True, "goodput of transfers", CHOICE, of_best=True),
)
"""What is judged where a study has no goals of its own, as far as it was measured."""
