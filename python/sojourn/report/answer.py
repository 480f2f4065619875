"""A first answer: which buffers keep users content, load by load, as far as the results say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from sojourn.report.figures.values import axis_name, number_of, shared_unit, tick, value
from sojourn.results.interval import half_width
from sojourn.results.path import look_up
from sojourn.study import label_text
from sojourn.study.links import called, way_of


@dataclass(frozen=True)
class Target:
    """A limit that users care about: a number of the results must be at least this large, or at most."""

    path: str
    limit: float
    above: bool
    who: str
    stated: str

    def margin(self, number: float) -> float:
        """Return how far a number is on the good side of the limit, as a share of the limit."""
        return (number - self.limit if self.above else self.limit - number) / self.limit


VOICE, WEB, SSIM, DELAY_MS = 3.6, 3.0, 0.88, 150.0
SINGLE_RUN_MARGIN = 0.05
"""Margin, as a share of the limit, with which a single replication counts for certain."""

_UNIT_WORDS = {"pkt": "packets"}
_MOST_NAMED = 6
"""Conditions that one line names."""
_VOICE_STATED = f"voice at a MOS of {VOICE} or better both ways"
_TARGETS = (
    *(
        Target(f"voice.{way}.mos.median", VOICE, True, f"user {way}", _VOICE_STATED)
        for way in ("talks", "listens")
    ),
    Target("web.mos.median", WEB, True, "web", f"web pages at a MOS of {WEB} or better"),
    Target("video.ssim.median", SSIM, True, "video", f"video at an SSIM of {SSIM} or better"),
    Target("adaptive.clients_stalled_pct", 5.0, False, "stalled", "at most 5 % of adaptive clients stalling"),
)
_DELAY_STATED = "the mean queueing delay below 150 ms both ways"
_EACH_DELAY_STATED = "the mean delay of every queue below 150 ms"


@dataclass(frozen=True)
class Verdict:
    """Whether one cell meets the targets: ``yes``, ``close`` or ``no``, and its weakest number."""

    word: str
    weakest: str
    margin: float


@dataclass(frozen=True)
class Answer:
    """The first answer: sentences, and a table of verdicts with a row for each condition."""

    sentences: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    head: str = ""
    labels: list[str] = field(default_factory=list)
    rows: list[tuple[str, list[Verdict | None]]] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """What a designer chooses from: the labels of an axis, what one of them is called, and their unit."""

    labels: Sequence[str]
    noun: str
    unit: str

    def text(self, chosen: Sequence[str]) -> str:
        """Write labels as a range where they follow one another and are numbers, else one by one."""
        ticks = [tick(label, self.unit) for label in chosen]
        places = [self.labels.index(label) for label in chosen]
        together = places == list(range(places[0], places[0] + len(places)))
        numbers = all(number_of(label) is not None for label in chosen)
        words = f"{ticks[0]} to {ticks[-1]}" if len(chosen) > 2 and together and numbers else _and(ticks)
        return f"{words} {_UNIT_WORDS.get(self.unit, self.unit)}".rstrip()


def choice_axis(axes: Mapping[str, Sequence[str]]) -> str | None:
    """Return the axis that a designer of the queue would choose from, if the study has one."""
    several = [axis for axis, labels in axes.items() if len(labels) > 1]
    for fits in (
        lambda axis: axis.endswith("queue.limit"),
        lambda axis: "queue" in axis,
        lambda axis: "limit" in axis or "buffer" in axis,
    ):
        found = next((axis for axis in several if fits(axis)), None)
        if found:
            return found
    return None


def answer(results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]]) -> Answer:
    """Compute the first answer from the results."""
    targets = [one for one in _TARGETS if any(_number(result, one.path) for result in results)]
    opening = ""
    if not targets:
        targets = [
            target
            for target in _without_users(results)
            if any(_number(result, target.path) for result in results)
        ]
        opening = "No users are scored in this study, so delay stands in for them. "
    axis = choice_axis(axes)
    if not targets:
        return Answer(
            ["The results hold neither scores of users nor queueing delays, so there is no answer here."]
        )
    stated = _and(list(dict.fromkeys(target.stated for target in targets)))
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in results:
        point = result["point"]
        condition = ", ".join(
            f"{axis_name(name).lower()} {label}" if label_text(label).isdigit() else label_text(label)
            for name, label in point.items()
            if name != axis and len(axes.get(name, ())) > 1
        )
        grouped.setdefault((condition, label_text(point[axis]) if axis in point else ""), []).append(result)
    verdicts = {key: judge(targets, cell) for key, cell in grouped.items()}
    conditions = list(dict.fromkeys(condition for condition, _ in verdicts))
    labels = [label for label in axes[axis]] if axis else [""]
    rows = [(condition, [verdicts.get((condition, label)) for label in labels]) for condition in conditions]
    noun = "buffer" if axis is None or axis.endswith("limit") else axis_name(axis).lower()
    if axis is None:
        good = [condition for condition, (verdict,) in rows if verdict and verdict.word != "no"]
        where = _and(good) if any(good) else "the one cell that was run" if good else ""
        kept = f"is kept in {where}" if good else "is kept in no cell"
        return Answer(
            [f"{opening}{_upper(stated)}: this {kept}."], head="Cell", labels=["verdict"], rows=rows
        )
    choice = Choice(labels, noun, shared_unit(labels))
    alike: dict[str, list[str]] = {}
    for condition, found in rows:
        alike.setdefault(_which(found, choice), []).append(condition)
    items = [
        f"{_named(found, len(rows))}: {which}" if any(found) else which
        for which, found in _fewer(alike, noun)
    ]
    counts = [
        sum(v is not None and v.word == "yes" for v in column)
        for column in zip(*(f for _, f in rows), strict=True)
    ]
    first = f"{opening}Which {noun} keeps {stated}?"
    return Answer(
        [first, _one_for_all(counts, len(rows), choice)],
        items,
        axis_name(axis, labels),
        [tick(label, choice.unit) for label in labels],
        rows,
    )


def _without_users(results: Sequence[Mapping[str, Any]]) -> list[Target]:
    """Return the targets of a study that scores nobody: the delay of each queue of the path."""
    links = {link for result in results for link in result.get("links") or () if way_of(link) != "access"}
    stated = _DELAY_STATED if links <= {"down", "up"} else _EACH_DELAY_STATED
    return [
        Target(f"links.{link}.queue_delay_ms.mean", DELAY_MS, False, f"{called(link)} ms", stated)
        for link in sorted(links, reverse=True)
    ]


def judge(targets: Sequence[Target], cell: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Judge the replications of one cell together."""
    weakest: tuple[float, str] | None = None
    close = False
    for target in targets:
        numbers = [number for result in cell if (number := _number(result, target.path)) is not None]
        if not numbers:
            continue
        mean = fmean(numbers)
        margin = target.margin(mean)
        half = half_width(numbers) or 0.0
        least = margin - half / target.limit if len(numbers) > 1 else margin - SINGLE_RUN_MARGIN
        close |= margin >= 0 and (least < 0 or any(target.margin(number) < 0 for number in numbers))
        if weakest is None or margin < weakest[0]:
            weakest = (margin, f"{target.who} {value(target.path).text(mean)}")
    if weakest is None:
        return None
    return Verdict("no" if weakest[0] < 0 else "close" if close else "yes", weakest[1], weakest[0])


def _which(found: Sequence[Verdict | None], choice: Choice) -> str:
    """Say which labels meet the targets under one condition."""
    there = [(label, verdict) for label, verdict in zip(choice.labels, found, strict=True) if verdict]
    good = [label for label, verdict in there if verdict.word != "no"]
    doubt = [label for label, verdict in there if verdict.word == "close"]
    if not there:
        return "nobody whose experience could be judged"
    if not good:
        label, best = max(there, key=lambda pair: pair[1].margin)
        return f"no {choice.noun} that was tried; {choice.text([label])} comes closest ({best.weakest})"
    all_good = len(good) == len(there) == len(choice.labels)
    words = f"every {choice.noun} that was tried" if all_good else choice.text(good)
    if not doubt:
        return words
    which = "" if doubt == good else f" for {choice.text(doubt)}"
    return f"{words}, though not for certain{which}"


def _fewer(alike: Mapping[str, list[str]], noun: str) -> list[tuple[str, list[str]]]:
    """Put the conditions under which nothing will do into one line, at the end, when there are several."""
    hopeless = {which: found for which, found in alike.items() if which.startswith("no ")}
    if len(hopeless) < 2:
        return list(alike.items())
    kept = [(which, found) for which, found in alike.items() if which not in hopeless]
    return [*kept, (f"no {noun} that was tried", [one for found in hopeless.values() for one in found])]


def _named(found: Sequence[str], total: int) -> str:
    """Name the conditions, or count them where the table below reads more easily than a list."""
    return _and(found) if len(found) <= _MOST_NAMED else f"{len(found)} of the {total} conditions"


def _one_for_all(counts: Sequence[int], total: int, choice: Choice) -> str:
    """Say which labels meet the targets for certain under most of the conditions."""
    best, noun = max(counts), choice.noun
    winners = [label for label, count in zip(choice.labels, counts, strict=True) if count == best]
    of = "the one condition" if total == 1 else f"all {total} conditions"
    share = of if best == total else f"{best} of {total} conditions"
    if not best:
        return f"No single {noun} keeps this for certain under any condition that was run."
    if len(winners) == len(choice.labels):
        return (
            f"As one choice for all, every {noun} that was tried keeps this under {share}, "
            "so this measure does not decide."
        )
    who = choice.text(winners) if len(winners) == 1 else f"each of {choice.text(winners)}"
    rest = "" if len(winners) == 1 and best == total else f"; no other {noun} does under as many"
    return f"As one choice for all, {who} keeps this under {share}{rest}."


def _number(result: Mapping[str, Any], path: str) -> float | None:
    found = look_up(result, path)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _and(words: Sequence[str]) -> str:
    between, last = ("; ", "; and ") if any(", " in word for word in words) else (", ", " and ")
    return words[0] if len(words) == 1 else between.join(words[:-1]) + last + words[-1]


def _upper(words: str) -> str:
    return words[:1].upper() + words[1:]
