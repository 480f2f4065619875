"""What the advice says of the candidates that cannot be told from it: which, their scores, what decided."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sojourn.report.advice.names import About, article, named, number
from sojourn.report.answer.cells import listed
from sojourn.report.answer.scores import MATTERS, NEAR
from sojourn.study.links import WAYS

_DECIDED = {
    "best": "the best mean under the worst load decided",
    "mean": "the mean over all loads of what the worst-off user gets decided",
    "delay": "the mean queueing delay decided",
    "order": "simplicity decided, as neither the mean over loads nor the queueing delay tells them apart",
}
SIZES = 6
"""Candidates that one sentence names."""

Queues = Mapping[str, Any]


def not_told(about: About) -> str:
    """Say which candidates cannot be told from the advice, what decided, and which has a better score."""
    near, lower = _apart(about, about["alike"], None if about["goals"] else about["scores"]["worst"])
    by = _DECIDED.get(about["decided_by"], "nothing decided")
    said = []
    if near:
        said.append(
            f"It cannot be told from {many(map(named, near))}: among these {by}.{_better(about, near)}"
        )
    if lower:
        names = many(_with_score(about, one) for one in lower)
        also = "also " if near else ""
        said.append(f"It is {also}not better for certain than {names}{'' if near else f': {by}'}.")
    return " ".join(said)


def many(names: Iterable[str]) -> str:
    """Name the first few of some candidates, each once, and how many more there are."""
    found = list(dict.fromkeys(names))
    return listed([*found[:SIZES], *([f"{len(found) - SIZES} more"] if len(found) > SIZES else [])])


def _apart(about: About, alike: Sequence[Queues], score: float | None) -> tuple[list[Queues], list[Queues]]:
    """Part candidates into those with such a score, and those with a lower one that may be chance."""
    near: list[Queues] = []
    lower: list[Queues] = []
    for one in alike:
        worst = _score(about, one)
        (near if None in (worst, score) or worst >= score - NEAR - 1e-9 else lower).append(one)
    return near, lower


def _score(about: About, queues: Queues) -> float | None:
    found = (one["worst"] for one in about["tried"] if all(one[way] == queues[way] for way in WAYS))
    return next(found, None)


def _with_score(about: About, queues: Queues) -> str:
    """Name a candidate, and what its worst-off user gets: few replications do not tell much apart."""
    worst = _score(about, queues)
    return named(queues) if worst is None else f"{named(queues)} ({number(worst)})"


def _better(about: About, near: Sequence[Queues]) -> str:
    """Say which of those that cannot be told from the advice has a better score than it."""
    scores = [(worst, one) for one in near if (worst := _score(about, one)) is not None]
    worst, best = max(scores, key=lambda found: found[0], default=(0.0, None))
    if about["goals"] or best is None or worst - about["scores"]["worst"] < MATTERS:
        return ""
    return (
        f" The best score of them is that of {article(named(best))}, {number(worst)}: that it is better "
        "is not certain."
    )


def other_sizes(about: About) -> str:
    """Say which sizes of a FIFO cannot be told from the best, and which are lower but not for certain."""
    near, lower = _apart(
        about, about.get("fifos_alike", ()), None if about["goals"] else about["fifo_only"]["worst"]
    )
    of = "Of other sizes of a FIFO these"
    said = ""
    if near:
        by = about.get("fifos_decided_by", "")
        decided = f" Among these sizes {_DECIDED[by]}." if by in ("best", "mean", "delay") else ""
        if by == "order":
            decided = " Neither the mean over loads nor the queueing delay tells these sizes apart."
        said = f" {of} cannot be told from it: {_sizes(about, near)}.{decided}"
    if lower:
        who = "Others" if near else of
        said += f" {who} have lower scores, but are not worse for certain: {_sizes(about, lower)}."
    return said


def not_worse(about: About) -> str:
    """Say than which other sizes of a FIFO a discipline is not better for certain."""
    fifos = about.get("fifos_not_worse", ())
    return f" Than other sizes of a FIFO it is not for certain: {_sizes(about, fifos)}." if fifos else ""


def _sizes(about: About, fifos: Sequence[Queues]) -> str:
    names = list(dict.fromkeys(_with_score(about, one).removeprefix("FIFO of ") for one in fifos))
    return "; ".join(names[:SIZES]) + (f"; and {len(names) - SIZES} more" if len(names) > SIZES else "")
