"""What a scenario's user asks for: the options of `[[users]]` entries that the scores read, checked.

Keys are those of the study file (kebab-case); unknown ones belong to the traffic and are not looked at.
Times are values with a unit ("60ms", "8s").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.qoe.media import concealment, playout

__all__ = ["Video", "Voice", "Web", "seconds"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([a-zµ]+)\s*")


def seconds(value: Any, key: str) -> float:
    """A time with its unit, in seconds.

    Parameters
    ----------
    value : str
    key : str
        Name of the option, for the message.

    Raises
    ------
    ValueError
        If it is not a number with a unit of time.
    """
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in _UNITS:
        raise ValueError(f'{key} = {value!r}: expected a time with its unit, such as "60ms"')
    return float(found[1]) * _UNITS[found[2]]


def _choice(user: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    value = user.get(key)
    if value is None:
        return choices[0]
    if value not in choices:
        raise ValueError(f"{key} = {value!r}: expected one of {', '.join(choices)}")
    return value


@dataclass(frozen=True)
class Voice:
    """Options of a voice user; the first of the choices is the default.

    Attributes
    ----------
    codec : "g711a", "g729a"
    playout : "fixed", "adaptive", "none"
    playout_ns : int
        60 ms unless stated.
    delay_model : "half_rtt", "own"
    score : "auto", "pesq", "emodel"
    concealment : "plc", "repeat", "zero"
    recordings : str or None
        Folder of the user's own recordings.
    """

    codec: str = "g711a"
    playout: str = "fixed"
    playout_ns: int = 60_000_000
    delay_model: str = "half_rtt"
    score: str = "auto"
    concealment: str = "plc"
    recordings: str | None = None

    @classmethod
    def read(cls, user: Mapping[str, Any]) -> Voice:
        """Options of one `[[users]]` entry.

        Raises
        ------
        ValueError
            In one sentence: key, what was found, what was expected.
        """
        buffer = user.get("playout") or {}
        if not isinstance(buffer, Mapping):
            raise ValueError(f'playout = {buffer!r}: expected {{ kind = "fixed", delay = "60ms" }} or so')
        delay = buffer.get("delay")
        recordings = user.get("recordings")
        if recordings is not None and not isinstance(recordings, str):
            raise ValueError(f"recordings = {recordings!r}: expected the path of a folder")
        return cls(
            codec=_choice(user, "codec", ("g711a", "g729a")),
            playout=_choice(buffer, "kind", playout.KINDS),
            playout_ns=cls.playout_ns if delay is None else round(seconds(delay, "playout.delay") * 1e9),
            delay_model=_choice(user, "delay-model", ("half_rtt", "own")),
            score=_choice(user, "score", ("auto", "pesq", "emodel")),
            concealment=_choice(user, "concealment", concealment.METHODS),
            recordings=recordings,
        )


@dataclass(frozen=True)
class Video:
    """Options of a video user; the first of the choices is the default.

    Attributes
    ----------
    clips : tuple of str
        Shown in turn.
    resolution : "sd", "hd", "cif"
    profile : "aligned", "paper", "freeze", "evalvid"
    smoothing_ns, playout_ns : int
        1 s unless stated.
    every : int
        Every so many pictures, one is compared; 5 unless stated.
    vmaf : bool
        Measure VMAF too.
    """

    clips: tuple[str, ...] = ("synthetic",)
    resolution: str = "sd"
    profile: str = "aligned"
    smoothing_ns: int = 1_000_000_000
    playout_ns: int = 1_000_000_000
    every: int = 5
    vmaf: bool = False

    @classmethod
    def read(cls, user: Mapping[str, Any]) -> Video:
        """Options of one `[[users]]` entry; raises ValueError as `Voice.read` does."""
        clips, every = user.get("clips") or cls.clips, user.get("every", cls.every)
        if isinstance(clips, str) or not all(isinstance(clip, str) for clip in clips):
            raise ValueError(f"clips = {clips!r}: expected a list of names")
        if not isinstance(every, int) or every < 1:
            raise ValueError(f"every = {every!r}: expected a positive integer")
        times = {}
        for key in ("smoothing", "playout"):
            value = user.get(key)
            default = getattr(cls, f"{key}_ns")
            times[f"{key}_ns"] = default if value is None else round(seconds(value, key) * 1e9)
        return cls(
            clips=tuple(clips),
            resolution=_choice(user, "resolution", ("sd", "hd", "cif")),
            profile=_choice(user, "profile", ("aligned", "paper", "freeze", "evalvid")),
            every=every,
            vmaf=bool(user.get("vmaf", False)),
            **times,
        )


@dataclass(frozen=True)
class Web:
    """Options of a web user.

    Attributes
    ----------
    best_s, worst_s : float
        Page load times that are excellent (5) and bad (1); `plt-min`, 0.56 s (0.85 s in the backbone of
        IMC'14), and `plt-max`, 6 s.
    round_trips : int
        Round trips of one load on an empty path; `round-trips`, 14.
    """

    best_s: float = 0.56
    worst_s: float = 6.0
    round_trips: int = 14

    @classmethod
    def read(cls, user: Mapping[str, Any]) -> Web:
        """Options of one `[[users]]` entry; raises ValueError as `Voice.read` does."""
        best, worst, trips = (user.get(k) for k in ("plt-min", "plt-max", "round-trips"))
        made = cls(
            cls.best_s if best is None else seconds(best, "plt-min"),
            cls.worst_s if worst is None else seconds(worst, "plt-max"),
            cls.round_trips if trips is None else trips,
        )
        if not 0.0 < made.best_s < made.worst_s:
            raise ValueError(f"plt-min = {best!r}, plt-max = {worst!r}: expected 0 < plt-min < plt-max")
        if not isinstance(made.round_trips, int) or made.round_trips < 1:
            raise ValueError(f"round-trips = {trips!r}: expected a positive integer")
        return made
