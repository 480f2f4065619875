"""What the advice calls users, queues, loads and scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.report.configure import NAMES
from sojourn.study.units import written

About = Mapping[str, Any]

_WHO = {
    "voice": "the caller",
    "voice.talks": "the caller while talking",
    "voice.listens": "the caller while listening",
    "web": "the reader of web pages",
    "browser": "the browsing user",
    "adaptive": "the viewer",
    "video": "the viewer of live video",
    "page": "the reader of pages of today",
    "call": "the video caller",
    "gaming": "the player of an online game",
    "cloud-gaming": "the player of a streamed game",
    "responsiveness": "the test of responsiveness",
}


def who(user: str) -> str:
    """Name a user."""
    return _WHO.get(user, user.replace(".", ", "))


def named(queues: About) -> str:
    """Name a pair of queues in a few words."""
    down, up = queues["down"], queues["up"]
    name = NAMES.get(down["kind"], down["kind"])
    if down["kind"] != "fifo":
        return name
    sizes = [queue["limit"].removesuffix("pkt") for queue in (down, up)]
    both = f"FIFO of {sizes[0]} packet{'' if sizes[0] == '1' else 's'}"
    return both if sizes[0] == sizes[1] else f"{both} down, {sizes[1]} up"


def number(score: float) -> str:
    """Write a score or a difference of scores."""
    return written(score, ".2f")


def between(interval: Sequence[float] | None) -> str:
    """Write an interval, nothing where there is none or it has no width."""
    if interval is None or number(interval[0]) == number(interval[1]):
        return ""
    return f" ({number(interval[0])} to {number(interval[1])})"


def article(name: str) -> str:
    """Put an article before a name that takes one."""
    return f"a {name}" if name.startswith("FIFO") else name


def under(load: str) -> str:
    """Say under which load, with a space in front."""
    return " on the idle line" if load == "idle" else f" under the load “{load}”"
