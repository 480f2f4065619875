"""Players of adaptive video on an ideal link, and players of one's own.

>>> import sojourn
>>> segments = sojourn.play("bba2", "bbb-x264-4s", 3000, 60)          # doctest: +SKIP
>>> [segment.level for segment in segments[:5]]                       # doctest: +SKIP
[1, 2, 3, 3, 6]

The rules are those that drive the `adaptive` users of a simulation. Levels and segments count from 1, the
lowest and the first. A player of one's own is a class with ``segment_done`` and ``choose``; see
docs/players.md.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import math
import operator
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sojourn import _core
from sojourn.errors import SojournError, quoted
from sojourn.parts.arguments import ArgumentError, as_json, mapping, number, shown, whole
from sojourn.parts.clips import Clip, open_clip
from sojourn.parts.ideal_link import Trace, open_trace

_VIEWING = ("initial", "resume", "latency", "draws", "seed", "rates_kbps")


class Segment(NamedTuple):
    """A segment that was fetched; times in seconds since the session began."""

    segment: int
    """Its number, from 1."""
    level: int
    """Its level, from 1."""
    rate_kbps: float
    """Nominal rate of the level."""
    bytes: int
    """Its size at that level."""
    decide_s: float
    """When the previous segment had arrived."""
    request_s: float
    """When it was asked for."""
    first_byte_s: float
    """When its first byte arrived."""
    arrive_s: float
    """When its last byte arrived."""
    buffer_before_s: float
    """Seconds of video in the buffer when the request left."""
    buffer_after_s: float
    """The same when the segment had arrived, with it."""
    stall_s: float
    """Seconds of stalling meanwhile."""
    estimate_kbps: float | None
    """The throughput that the choice went by, if it did."""

    @property
    def wait_s(self) -> float:
        """Seconds from the previous arrival to the request."""
        return self.request_s - self.decide_s

    @property
    def download_s(self) -> float:
        """Seconds from the request to the last byte."""
        return self.arrive_s - self.request_s

    @property
    def throughput_kbps(self) -> float:
        """Throughput from the request to the last byte."""
        return self.bytes * 8e-3 / self.download_s


class Arrival(NamedTuple):
    """What ``segment_done`` of a player is told: as of :class:`Segment`, and the buffer."""

    segment: int
    level: int
    bytes: int
    request_s: float
    first_byte_s: float
    arrive_s: float
    buffer_s: float
    """Seconds of video in the buffer, this segment included."""

    @property
    def throughput_kbps(self) -> float:
        """Throughput from the request to the last byte."""
        return self.bytes * 8e-3 / (self.arrive_s - self.request_s)


class State(NamedTuple):
    """What ``choose`` of a player is asked with."""

    clip: Clip
    """Rates and sizes; ``clip.sizes[segment - 1]`` are those of the segment to ask for."""
    segment: int
    """Number of the segment to ask for, from 1."""
    now_s: float
    arrived_s: float
    """When the previous segment arrived; 0 for the first."""
    waited_s: float
    """How long the full buffer has been waited for since then."""
    buffer_s: float
    limit_s: float
    """Seconds of video that the buffer holds."""
    last: int | None
    """Level of the previous segment; None for the first."""


class Choice(NamedTuple):
    """What ``choose`` of a player answers; a level alone will do."""

    level: int
    """From 1, the lowest."""
    wait_s: float = 0.0
    """Seconds to wait before the segment is asked for."""


class Player(Protocol):
    """A player: what a class of one's own has to have."""

    def segment_done(self, segment: Arrival) -> None:
        """Hear of a segment that has arrived."""

    def choose(self, state: State) -> Choice | int:
        """Return the level of the next segment, and how long to wait before it is asked for."""


def play(
    algorithm: str | Mapping[str, Any] | type[Player] | Player,
    sizes: str | os.PathLike[str] | Clip,
    trace: float | str | os.PathLike[str] | Trace | Sequence[tuple[float, float]],
    buffer: float,
    options: Mapping[str, Any] | None = None,
) -> list[Segment]:
    """Play a clip over an ideal link: a rate over time, a latency once a request, no TCP.

    Parameters
    ----------
    algorithm
        Name of an algorithm (docs/players.md lists them with their sources); a table as in study files
        (``{"kind": "festive", "p": 0.7}``);
        ``"module:Class"``; or a class or object with `segment_done` and `choose`.
    sizes
        Name of a clip that ships, a file of segment sizes (:mod:`sojourn.parts.clip_files`), or a clip.
    trace
        Kb/s; a list of (seconds, kb/s), each the duration of a rate, which starts over at its end; a file
        (:func:`sojourn.parts.ideal_link.read_trace`); or a trace.
    buffer
        Seconds of video that the player holds.
    options
        - of the viewing: `initial`, seconds of video before playing starts, and `resume`, after a stall (by
          default one segment for the rules of sabre: throughput, bola-*, bolae, dynamic, dynamicdash; else
          12 and 4 s); `latency` in seconds (0.04, where the trace has none); `rates_kbps` in place of the
          clip's; `draws`, one number in (0, 1] for each segment, for FESTIVE's scheduling, or `seed`;
        - any other is the algorithm's, as in study files (``p_mode`` or ``p-mode``).

    Returns
    -------
    list of Segment
        One for each segment of the clip.

    Raises
    ------
    SojournError, StudyError
        One sentence on what is wrong with an argument or a file.
    """
    options = dict(mapping(options or {}, "options", '{"p": 0.7}'))
    viewing = {key: options.pop(key) for key in _VIEWING if key in options}
    clip = open_clip(sizes)
    if viewing.get("rates_kbps") is not None:
        clip = clip.with_rates(viewing["rates_kbps"])
    held = number(buffer, "buffer", "seconds")
    columns = _core.play(
        _algorithm(algorithm, options, clip, held),
        (clip.segment_s, list(clip.rates_kbps), clip.sizes.tolist()),
        list(open_trace(trace, number(viewing.get("latency", 0.04), "latency", "seconds")).periods),
        held,
        initial=_seconds(viewing, "initial"),
        resume=_seconds(viewing, "resume"),
        draws=_draws(viewing.get("draws")),
        seed=whole(viewing.get("seed", 1), "seed"),
    )
    names = ("bytes", "decide_s", "request_s", "first_byte_s", "arrive_s", "before_s", "after_s", "stall_s")
    told = zip(*(columns[name].tolist() for name in ("level", *names, "estimate_kbps")), strict=True)
    return [
        Segment(k, level, clip.rates_kbps[level - 1], *numbers, None if math.isnan(estimate) else estimate)
        for k, (level, *numbers, estimate) in enumerate(told, start=1)
    ]


def _seconds(viewing: Mapping[str, Any], name: str) -> float | None:
    return None if viewing.get(name) is None else number(viewing[name], name, "seconds")


def _draws(draws: Any) -> list[float] | None:
    try:
        return None if draws is None else [number(u, "a draw") for u in draws]
    except TypeError:
        raise ArgumentError(f"draws = {shown(draws)}: expected a list of numbers") from None


def _algorithm(algorithm: Any, options: dict[str, Any], clip: Clip, limit_s: float) -> str | Bridge:
    """Return what the engine takes: JSON of a rule of its own, or a bridge."""
    options = {str(key).replace("_", "-"): value for key, value in options.items()}
    if isinstance(algorithm, str) and ":" not in algorithm:
        return as_json({"kind": algorithm, **options}, "the algorithm")
    if isinstance(algorithm, Mapping):
        table = {**algorithm, **options}
        if table.get("kind") != "python":
            return as_json(table, "the algorithm")
        algorithm = table.get("class", "")
        options = dict(mapping(table.get("options") or {}, "options", '{"levels": 3}'))
    keywords = {str(key).replace("-", "_"): value for key, value in options.items()}
    if isinstance(algorithm, str):
        algorithm = find_player(algorithm)
    return Bridge(_made(algorithm, keywords), clip, limit_s)


def find_player(name: str) -> type[Player]:
    """Return the class that ``module:Class`` names; modules of the working directory are found too.

    Raises
    ------
    SojournError
        There is no such module or class, or the module cannot be imported.
    """
    module, attribute = module_of(name), name.partition(":")[2]
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise SojournError(f"the player {name}: {error}") from None
    except Exception as error:
        # Chained, so that whoever calls from Python sees where in the module it is.
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise SojournError(f"the player {name}: {module} cannot be imported ({why})") from error
    made = getattr(found, attribute, None)
    if not isinstance(made, type):
        raise SojournError(f"the player {name}: {module} has no class {quoted(attribute)}")
    return made


def module_of(name: str) -> str:
    """Return the module in ``module:Class``, which is not imported; SojournError if it is not so written."""
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise SojournError(f"the player {quoted(name)}: expected module:Class")
    return module


def bridge(
    name: str, options: str, clip: tuple[float, list[float], list[list[int]]], limit_s: float
) -> Bridge:
    """Return the bridge to a player that a study names; this is what the engine calls."""
    import numpy as np

    segment_s, rates, sizes = clip
    table = Clip(segment_s, tuple(rates), np.array(sizes, dtype=np.uint64))
    keywords = {key.replace("-", "_"): value for key, value in json.loads(options).items()}
    return Bridge(_made(find_player(name), keywords), table, limit_s)


def _made(player: Any, keywords: dict[str, Any]) -> Any:
    made = player
    if isinstance(player, type):
        # Asked first, so that a TypeError from within the class keeps its traceback.
        with contextlib.suppress(ValueError):
            try:
                inspect.signature(player).bind(**keywords)
            except TypeError as error:
                raise SojournError(f"the player {player.__name__}: {error}") from None
        made = player(**keywords)
    for name in ("segment_done", "choose"):
        if not callable(getattr(made, name, None)):
            raise SojournError(f"the player {type(made).__name__} has no method {name}")
    return made


class Bridge:
    """Between the engine, which speaks plain numbers, and a player in Python."""

    def __init__(self, player: Player, clip: Clip, limit_s: float) -> None:
        self.player, self.clip, self.limit_s = player, clip, limit_s

    def segment_done(self, *numbers: Any) -> None:
        """Pass on a segment that has arrived."""
        self.player.segment_done(Arrival(*numbers))

    def choose(
        self, segment: int, now_s: float, arrived_s: float, waited_s: float, buffer_s: float, last: int | None
    ) -> tuple[int, float]:
        """Ask the player, and check its answer."""
        answer = self.player.choose(
            State(self.clip, segment, now_s, arrived_s, waited_s, buffer_s, self.limit_s, last)
        )
        level, wait_s = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, 0.0)
        levels, who = len(self.clip.rates_kbps), type(self.player).__name__
        try:
            level, wait_s = operator.index(level), float(wait_s)
        except (TypeError, ValueError):
            raise SojournError(
                f"{who}.choose answered {shown(answer)}: expected a Choice or a level, a whole number"
            ) from None
        if not 1 <= level <= levels:
            raise SojournError(f"{who}.choose answered level {level}: expected 1 to {levels}")
        if not 0 <= wait_s < 1e6:
            raise SojournError(f"{who}.choose answered a wait of {wait_s} s: expected 0 or more")
        return level, wait_s
