"""The rate of an ideal link over time: given, or read from what other tools write."""

import csv
import io
import json
import math
import os
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.parts.clips import read_text


@dataclass(frozen=True)
class Trace:
    """The rate of a link over time: periods of (seconds, kb/s, latency in seconds).

    Seconds are the duration of a period, not its beginning. After the last period the first begins again; the
    last may last for ever (`math.inf`).
    """

    periods: tuple[tuple[float, float, float], ...]


def open_trace(trace: Any, latency: float) -> Trace:
    """Return a trace: the one given, one in a file, or one of kb/s or of (seconds, kb/s).

    Raises
    ------
    SojournError
        One sentence: what is given is none of these, or what is wrong in the file.
    """
    if isinstance(trace, Trace):
        try:
            return Trace(tuple((float(s), float(kbps), float(wait)) for s, kbps, wait in trace.periods))
        except (TypeError, ValueError):
            raise SojournError("trace: expected periods of (seconds, kb/s, latency in seconds)") from None
    if isinstance(trace, str | os.PathLike):
        return read_trace(trace, latency)
    if isinstance(trace, Real) and not isinstance(trace, bool):
        return Trace(((math.inf, float(trace), latency),))
    try:
        return Trace(tuple((float(period[0]), float(period[1]), latency) for period in trace))
    except (TypeError, ValueError, LookupError):
        raise SojournError("trace: expected kb/s, a list of (seconds, kb/s), a file, or a Trace") from None


def read_trace(path: str | os.PathLike[str], latency: float = 0.04) -> Trace:
    """Read a trace of rates.

    Known are: sabre's JSON (``duration_ms``, ``bandwidth_kbps``, ``latency_ms``); CSV with the columns
    ``duration_ms,bandwidth_kbps`` (and ``latency_ms``) or ``from_s,rate_kbps``; Pensieve's lines of seconds
    and Mb/s, each rate up to the next line's time; Mahimahi's lines of a time in milliseconds each, by which
    1504 bytes more may have been sent, as a link of a study reads them.

    Raises
    ------
    SojournError
        One sentence: the file, and what is wrong.
    """
    path = Path(path)
    text = read_text(path, "a trace of rates")
    try:
        periods = _periods(text, latency)
    except _core.StudyError as error:
        raise SojournError(f"{path}: {error}") from None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, csv.Error):
        raise SojournError(
            f"{path} is not a trace: expected sabre's JSON, a CSV of duration_ms,bandwidth_kbps or "
            "from_s,rate_kbps, Pensieve's seconds and Mb/s, or Mahimahi's milliseconds"
        ) from None
    return Trace(tuple(periods))


def _periods(text: str, latency: float) -> list[tuple[float, float, float]]:
    text = text.strip()
    head = text.partition("\n")[0].replace(" ", "").split(",")
    if text.startswith("[") or "bandwidth_kbps" in head:
        rows = json.loads(text) if text.startswith("[") else csv.DictReader(io.StringIO(text))
        return [
            (
                float(row["duration_ms"]) / 1000,
                float(row["bandwidth_kbps"]),
                latency if row.get("latency_ms") in (None, "") else float(row["latency_ms"]) / 1000,
            )
            for row in rows
        ]
    if "rate_kbps" in head:
        rows = list(csv.DictReader(io.StringIO(text)))
        return _steps([(float(row["from_s"]), float(row["rate_kbps"])) for row in rows], latency)
    if text and all(line.strip().isdecimal() for line in text.splitlines()):
        return [(seconds, kbps, latency) for seconds, kbps in _core.mahimahi(text)]
    lines = [[float(word) for word in line.split()] for line in text.splitlines() if line.strip()]
    if lines and all(len(line) == 2 for line in lines):
        if len(lines) < 2:
            raise ValueError
        # Each line's rate holds from the line before it, as Pensieve reads its traces.
        return [(after[0] - before[0], after[1] * 1000, latency) for before, after in pairwise(lines)]
    raise ValueError


def _steps(steps: list[tuple[float, float]], latency: float) -> list[tuple[float, float, float]]:
    if not steps or steps[0][0] != 0:
        raise ValueError
    ends = [*(start for start, _ in steps[1:]), math.inf]
    return [(end - start, rate, latency) for (start, rate), end in zip(steps, ends, strict=True)]
