"""The line that a queue is wanted for, and what is asked of it: rates, round-trip time, users, loads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, inf
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError, quoted
from sojourn.study.links import WAYS
from sojourn.study.schema import study_schema
from sojourn.study.units import FULL_PACKET_BYTES, bits_per_second, seconds

FULL_BITS = 8 * FULL_PACKET_BYTES
_MOST_PACKETS = 100_000_000
"""Full packets that a round trip may hold: of buffers that are several of it, no study file takes more."""
_LINK = {"rate": "1Mbit", "queue": {"kind": "fifo", "limit": "1pkt"}}


@dataclass(frozen=True)
class Line:
    """A bottleneck without its queues.

    Attributes
    ----------
    down, up : str
        Rates as study files write them, in the shortest form: ``16Mbit``.
    rtt : str
        Base round-trip time: ``40ms``.
    """

    down: str
    up: str
    rtt: str

    @classmethod
    def read(cls, down: str, up: str, rtt: str) -> Line:
        """Read the options `--down`, `--up` and `--rtt`.

        Raises
        ------
        SojournError
            One of them is no rate, or no time, that a link can have.
        """
        rates = [
            point(f"--{way}", {"down": {**_LINK, "rate": rate}, "up": _LINK, "rtt": "10ms"})["path"]["down"][
                "rate"
            ]
            for way, rate in (("down", down), ("up", up))
        ]
        for way, rate in zip(WAYS, rates, strict=True):
            if rate == "unlimited":
                raise SojournError(
                    f"--{way} unlimited: a link without a rate has no queue; write its rate, as 16Mbit"
                )
        path = point("--rtt", {"down": _LINK, "up": _LINK, "rtt": rtt})["path"]
        if seconds(path["client-delay"]) + seconds(path["server-delay"]) <= 0:
            raise SojournError(f"--rtt {rtt}: a round trip takes time; write one above zero, as 40ms")
        line = cls(*rates, re.sub(r"\s", "", rtt))
        for way in WAYS:
            if line.packets(way, line.rtt_s) > _MOST_PACKETS:
                raise SojournError(
                    f"--{way} {getattr(line, way)} at --rtt {line.rtt}: a round trip holds more than "
                    f"{_MOST_PACKETS} packets, and no queue does; write a slower line or a shorter time"
                )
        return line

    @property
    def rtt_s(self) -> float:
        """Base round-trip time in seconds."""
        return seconds(self.rtt)

    def rate_bps(self, way: str) -> int:
        """Return the rate ``down`` or ``up``."""
        return bits_per_second(self.down if way == "down" else self.up)

    def packets(self, way: str, time_s: float) -> float:
        """Return how many full packets a link sends in a time."""
        return self.rate_bps(way) * time_s / FULL_BITS

    @property
    def words(self) -> str:
        """The line in words."""
        return f"{self.down}/s down, {self.up}/s up, {self.rtt} round trip"


def point(option: str, path: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the scenario around a path, with everything filled in; an error names the option."""
    try:
        made = _core.points(json.dumps({"name": "advice", "duration": "1s", "path": path, **more}))
    except _core.StudyError as error:
        raise SojournError(f"{option}: {error}") from None
    return json.loads(made[0])["document"]


@cache
def user_kinds() -> tuple[str, ...]:
    """Return the kinds of users that studies know."""
    users = study_schema()["$defs"]["Users"]
    return tuple(one["properties"]["kind"]["const"] for one in users["oneOf"])


def read_users(text: str) -> dict[str, int]:
    """Read ``voice=1,web=2``: how many users there are of each kind; one where no number is written.

    Raises
    ------
    SojournError
        A kind that nobody knows, twice the same, or no number.
    """
    found: dict[str, int] = {}
    for word in text.split(","):
        kind, equals, count = (part.strip() for part in word.partition("="))
        known = ", ".join(user_kinds())
        if kind not in user_kinds():
            raise SojournError(
                f"--users {quoted(text)}: there are no users of the kind {quoted(kind)}; expected {known}"
            )
        if kind in found:
            raise SojournError(f"--users {quoted(text)}: {kind} is there twice; write {kind}=NUMBER once")
        if equals and not (count.isascii() and count.isdigit() and 0 < int(count) <= 1000):
            raise SojournError(
                f"--users {quoted(text)}: {quoted(count)} is no number of users; expected 1 to 1000"
            )
        found[kind] = int(count) if equals else 1
    return found


@dataclass(frozen=True)
class Times:
    """How long a point lasts: long enough for several calls, short enough that the fastest line can be paid.

    A run of both directions at full rate is about :data:`PACKETS` full packets, and measures 4 to 40 s, but
    no less than its users need (:data:`OWN_TIMES_S`).
    """

    warmup_s: int
    measured_s: int
    call_s: int

    @classmethod
    def of(cls, line: Line, longest_s: float = inf, users: Iterable[str] = ()) -> Times:
        """Choose the times of a line and of its users; a recording is not run on after its end."""
        pace = line.packets("down", 1) + line.packets("up", 1)
        shortest = max((OWN_TIMES_S.get(kind, _SHORTEST_S) for kind in users), default=_SHORTEST_S)
        measured = min(max(PACKETS / pace, shortest), _LONGEST_S)
        # CUBIC's slow start and its first sawtooth take tens of round trips.
        warmup = min(max(ceil(60 * line.rtt_s), 1), 10)
        measured = max(min(measured, longest_s - warmup), _SHORTEST_S)
        return cls(warmup, ceil(measured), int(min(max(measured / 4, 2), 8)))


PACKETS = 600_000
_SHORTEST_S, _LONGEST_S = 4.0, 40.0
OWN_TIMES_S = {"household": 24.0, "page": 24.0, "video": 40.0}
"""Of users who take their own time, how long a run measures at least.

In a shorter one nobody opens a page (a household's reader comes back after 10 s), ends a call, or sees a
clip of 16 s that began after the warm-up.
"""
