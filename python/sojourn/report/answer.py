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

_MOST_NAMED = 6
"""Conditions that one line names."""
_TARGETS = (
    Target(
        "voice.talks.mos.median", VOICE, True, "user talks", f"voice at a MOS of {VOICE} or better both ways"
    ),
    Target(
        "voice.listens.mos.median",
        VOICE,
        True,
        "user listens",
        f"voice at a MOS of {VOICE} or better both ways",
    ),
    Target("web.mos.median", WEB, True, "web", f"web pages at a MOS of {WEB} or better"),
    Target("video.ssim.median", SSIM, True, "video", f"video at an SSIM of {SSIM} or better"),
    Target("adaptive.clients_stalled_pct", 5.0, False, "stalled", "at most 5 % of adaptive clients stalling"),
)
_WITHOUT_USERS = tuple(
    Target(
        f"links.{link}.queue_delay_ms.mean",
        DELAY_MS,
        False,
        f"{link}link ms",
        "the mean queueing delay below 150 ms both ways",
    )
    for link in ("up", "down")
)


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
            target for target in _WITHOUT_USERS if any(_number(result, target.path) for result in results)
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
    unit = shared_unit(labels)
    unit_word = {"pkt": " packets", "BDP": " BDP"}.get(unit, f" {unit}" if unit else "")
    alike: dict[str, list[str]] = {}
    for condition, found in rows:
        alike.setdefault(_which(found, labels, noun, unit, unit_word), []).append(condition)
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
        [first, _one_for_all(counts, rows, labels, noun, unit, unit_word)],
        items,
        axis_name(axis, labels),
        [tick(label, unit) for label in labels],
        rows,
    )


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


def _which(
    found: Sequence[Verdict | None], labels: Sequence[str], noun: str, unit: str, unit_word: str
) -> str:
    """Say which labels meet the targets under one condition."""
    there = [(label, verdict) for label, verdict in zip(labels, found, strict=True) if verdict]
    good = [label for label, verdict in there if verdict.word != "no"]
    doubt = [label for label, verdict in there if verdict.word == "close"]
    if not there:
        return "nobody whose experience could be judged"
    if not good:
        best = max(there, key=lambda pair: pair[1].margin)
        name = f"{tick(best[0], unit)}{unit_word}"
        return f"no {noun} that was tried; {name} comes closest ({best[1].weakest})"
    words = (
        f"every {noun} that was tried"
        if len(good) == len(there) == len(labels)
        else f"{_run(good, labels, unit)}{unit_word}"
    )
    if not doubt:
        return words
    which = "" if doubt == good else f" for {_run(doubt, labels, unit)}{unit_word}"
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


def _one_for_all(
    counts: Sequence[int],
    rows: Sequence[tuple[str, Sequence[Verdict | None]]],
    labels: Sequence[str],
    noun: str,
    unit: str,
    unit_word: str,
) -> str:
    best = max(counts)
    total = len(rows)
    winners = [label for label, count in zip(labels, counts, strict=True) if count == best]
    of = "the one condition" if total == 1 else f"all {total} conditions"
    if not best:
        return f"No single {noun} keeps this for certain under any condition that was run."
    if len(winners) == len(labels):
        how = of if best == total else f"{best} of {total} conditions"
        return (
            f"As one choice for all, every {noun} that was tried keeps this under {how}, "
            "so this measure does not decide."
        )
    share = of if best == total else f"{best} of {total} conditions"
    if len(winners) == 1:
        rest = "" if best == total else f"; no other {noun} does under as many"
        return (
            f"As one choice for all, {_run(winners, labels, unit)}{unit_word} keeps this under {share}{rest}."
        )
    return (
        f"As one choice for all, each of {_run(winners, labels, unit)}{unit_word} keeps this under {share}; "
        f"no other {noun} does under as many."
    )


def _run(chosen: Sequence[str], labels: Sequence[str], unit: str) -> str:
    """Write labels as a range where they follow one another and are numbers, else one by one."""
    ticks = [tick(label, unit) for label in chosen]
    places = [labels.index(label) for label in chosen]
    numbers = [number_of(label) for label in chosen]
    together = places == list(range(places[0], places[0] + len(places)))
    if len(chosen) > 2 and together and None not in numbers:
        return f"{ticks[0]} to {ticks[-1]}"
    return _and(ticks)


def _number(result: Mapping[str, Any], path: str) -> float | None:
    found = look_up(result, path)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _and(words: Sequence[str]) -> str:
    between, last = ("; ", "; and ") if any(", " in word for word in words) else (", ", " and ")
    return words[0] if len(words) == 1 else between.join(words[:-1]) + last + words[-1]


def _upper(words: str) -> str:
    return words[:1].upper() + words[1:]
