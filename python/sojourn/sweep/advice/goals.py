"""Goals of the user's own: ``voice.mos.p5>=3.6``, or a threshold that operators quote: ``bufferbloat-a``."""

import re
from collections.abc import Iterable
from math import isfinite

from sojourn.errors import SojournError, quoted
from sojourn.qoe.network import PLAYERS
from sojourn.qoe.voice import DIRECTIONS
from sojourn.report.answer.goals import Goal, named
from sojourn.report.figures.values import lower, value
from sojourn.study.bounds import beyond
from sojourn.study.links import WAYS
from sojourn.study.thresholds import Threshold, thresholds

_GOAL = re.compile(r"\s*([a-z][a-z0-9_.-]*)\s*(>=|<=)\s*([0-9.eE+-]+)\s*")


def read_goal(text: str, users: Iterable[str]) -> list[Goal]:
    """Read a goal; one of ``voice`` that names no direction is two, for talking and for listening.

    Raises
    ------
    SojournError
        It is no goal, or one about users that are not there.
    """
    users = list(users)
    if (threshold := thresholds().get(text.strip())) is not None:
        return _threshold(threshold, users)
    found = _GOAL.fullmatch(text)
    expected = (
        "expected VALUE>=NUMBER or VALUE<=NUMBER, as voice.mos.p5>=3.6 or links.up.queue_delay_ms.p95<=50, "
        f"or one of {_families(thresholds())}"
    )
    if found is None:
        raise SojournError(f"--goal {quoted(text)} is no goal; {expected}")
    path, sign, written = found.groups()
    try:
        limit = float(written)
    except ValueError:
        limit = float("nan")
    if not isfinite(limit):
        raise SojournError(f"--goal {quoted(text)}: {quoted(written)} is no number; {expected}")
    if wrong := beyond(path, limit):
        raise SojournError(f"--goal {quoted(text)}: {path} keeps this always or never, for {wrong}")
    root, _, rest = path.partition(".")
    known = [*users, "links", "flows", *(["network"] if set(users) & set(PLAYERS) else [])]
    if root not in known or not rest:
        raise SojournError(
            f"--goal {quoted(text)} names nothing that is measured; "
            f"a value begins with one of {', '.join(known)}"
        )
    paths = [path]
    if root == "voice" and rest.split(".")[0] not in DIRECTIONS:
        paths = [f"voice.{way}.{rest}" for way in DIRECTIONS]
    return [Goal(each, limit, sign == ">=", _named(each), "the user") for each in paths]


def _families(names: Iterable[str]) -> str:
    """List names by their beginnings, so that all have room in a message.

    >>> _families(["rpm-high", "rpm-medium", "web-vitals"])
    'rpm-high, -medium; web-vitals'
    """
    ends: dict[str, list[str]] = {}
    for name in names:
        family, _, rest = name.partition("-")
        ends.setdefault(family, []).append(f"-{rest}")
    return "; ".join(family + ", ".join(rests) for family, rests in ends.items())


def _threshold(threshold: Threshold, users: list[str]) -> list[Goal]:
    heads = {*users, "links", *(["network"] if set(users) & set(PLAYERS) else [])}
    limits = threshold.judged(lambda path: path.partition(".")[0] in heads, WAYS)
    for limit in limits:
        if (head := limit.value.partition(".")[0]) not in heads:
            needed = " or ".join(PLAYERS) if head == "network" else head
            raise SojournError(
                f"--goal {threshold.name} is about users who are not there; expected some of kind {needed} "
                f"in --users {','.join(users)}"
            )
    return named(threshold, limits)


def _named(path: str) -> str:
    phrase = value(path).phrase
    return lower(phrase) if phrase else path
