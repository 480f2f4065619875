"""Clips: the sizes of an adaptive video's segments at every level, read from what other tools write.

- ``.json``: sabre's ``{"segment_duration_ms", "bitrates_kbps", "segment_sizes_bits"}``;
- ``.csv``: one row a segment, one column a level (``bytes_230kbps``), sizes in bytes;
- ``.txt``: dashc's lists (a line ``level count``, then one size in bytes a line) or a matrix of bytes, one
  row a level, as Pensieve and the ns-3 client of TU Berlin have it;
- ``.mpd``: a DASH manifest, sizes from the byte ranges of its segment lists or, where it has none, what the
  nominal rate comes to.

Readers take files of strangers: whatever is wrong is a :class:`~sojourn.errors.SojournError` of one sentence.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.given import shown

__all__ = ["ENDINGS", "Clip", "open_clip", "read_clip"]

ENDINGS = (".json", ".csv", ".mpd", ".txt")
"""Endings of files that hold sizes; anything else in a study names a clip that ships."""

_MOST_BYTES = 64_000_000
_MOST_SEGMENTS = 100_000
_IN_NAME = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)s(?![a-z0-9])")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:k|kbps|kbit)?")
_DURATION = re.compile(
    r"P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True)
class Clip:
    """A clip at several levels.

    Attributes
    ----------
    segment_s : float
        Seconds of video in a segment.
    rates_kbps : tuple of float
        Nominal rate of each level, lowest first.
    sizes : ndarray of uint64, shape (segments, levels)
        Bytes.
    name : str
    """

    segment_s: float
    rates_kbps: tuple[float, ...]
    sizes: NDArray[np.uint64]
    name: str = ""

    def with_rates(self, rates_kbps: Sequence[float]) -> Clip:
        """Return the same sizes under other nominal rates."""
        try:
            rates = tuple(map(float, rates_kbps))
        except (TypeError, ValueError):
            raise SojournError(f"rates {shown(rates_kbps)}: expected a list of kb/s") from None
        if len(rates) != len(self.rates_kbps):
            raise SojournError(f"{len(rates)} rates for a clip of {len(self.rates_kbps)} levels")
        return replace(self, rates_kbps=rates)

    def first(self, segments: int) -> Clip:
        """Return the first so many segments."""
        return replace(self, sizes=self.sizes[:segments])

    def in_study(self) -> dict[str, Any]:
        """Return the clip as a study document holds it."""
        return {
            "name": self.name,
            "segment-s": self.segment_s,
            "rates-kbps": list(self.rates_kbps),
            "sizes": self.sizes.tolist(),
        }


def open_clip(clip: str | os.PathLike[str] | Clip) -> Clip:
    """Return a clip: one that ships, by name; one in a file, by path; or the one given.

    Raises
    ------
    SojournError
        One sentence: there is no such clip or file, or what is wrong in it.
    """
    if isinstance(clip, Clip):
        return _given(clip)
    if not isinstance(clip, str | os.PathLike):
        raise SojournError(f"{shown(clip)} is not a clip: expected a name, a file, or a Clip")
    name = str(os.fspath(clip))
    if name in _core.clips():
        segment_s, rates, sizes = _core.clip(name)
        return _checked(name, segment_s, rates, sizes)
    if not name.lower().endswith(ENDINGS):
        raise SojournError(
            f"{name!r} is not a clip: expected {', '.join(_core.clips())}, "
            f"or a file that ends in {', '.join(ENDINGS)}"
        )
    return read_clip(name)


def _given(clip: Clip) -> Clip:
    """Return a clip that a caller made, if it is of the right kinds; the engine checks its values."""
    try:
        table = np.asarray(clip.sizes)
        numbers = all(isinstance(number, Real) for number in (clip.segment_s, *clip.rates_kbps))
    except (TypeError, ValueError):
        numbers = False
    if not numbers or table.ndim != 2 or table.dtype.kind not in "iu":
        raise SojournError(
            f"{shown(clip)}: expected seconds, a rate for each level, and whole bytes by segment and level"
        )
    return replace(clip, sizes=table)


def read_clip(
    path: str | os.PathLike[str],
    *,
    segment_s: float | None = None,
    rates_kbps: Sequence[float] | None = None,
) -> Clip:
    """Read the sizes of a clip.

    Parameters
    ----------
    path
        The file; its ending says what is in it.
    segment_s
        Seconds of a segment, where the file does not say; by default from the file's name, as the 4 of
        ``bbb_4s_sizes.csv``.
    rates_kbps
        Nominal rates, in place of the file's; by default the mean rates where it has none.

    Returns
    -------
    Clip
        Its levels in order of their rates.

    Raises
    ------
    SojournError
        One sentence: the file, and what is wrong.
    """
    path = Path(path)
    text = read_text(path, "segment sizes")
    ending = path.suffix.lower()
    readers = {".json": _sabre, ".csv": _csv, ".txt": _list, ".mpd": _mpd}
    if ending not in readers:
        raise SojournError(f"{path}: expected a file that ends in {', '.join(ENDINGS)}")
    try:
        found_s, found_rates, sizes = readers[ending](text)
    except _Wrong as wrong:
        raise SojournError(f"{path}: {wrong}") from None
    named = _IN_NAME.search(path.stem.replace("_", " ").replace("-", " "))
    known = (segment_s, found_s, float(named[1]) if named else None)
    seconds = next((stated for stated in known if stated is not None), None)
    if seconds is None:
        raise SojournError(
            f"{path} does not say how long a segment is: name the file as bbb_4s.csv, or give segment_s"
        )
    if not (math.isfinite(seconds) and 0.1 <= seconds <= 60):
        raise SojournError(f"{path}: a segment of {seconds:g} s; expected 0.1 to 60 s")
    try:
        array = np.array(sizes, dtype=np.float64)
    except (ValueError, OverflowError):
        raise SojournError(f"{path}: the segments do not all have as many levels") from None
    if array.ndim != 2 or array.size == 0:
        raise SojournError(f"{path}: expected a table of segments and levels")
    rates = list(rates_kbps or found_rates or array.mean(axis=0) * 8e-3 / seconds)
    return _checked(str(path), seconds, rates, array)


class _Wrong(Exception):
    """What is wrong in a file, in a sentence without its name."""


def _checked(name: str, segment_s: float, rates: Sequence[float], sizes: Any) -> Clip:
    """Return a clip, levels in order of their rates."""
    table = np.asarray(sizes, dtype=np.float64)
    rates = [float(rate) for rate in rates]
    if len(rates) != table.shape[1]:
        raise SojournError(f"{name}: {len(rates)} rates for {table.shape[1]} levels")
    if not all(math.isfinite(rate) and 0 < rate < 1e9 for rate in rates):
        raise SojournError(f"{name}: nominal rates {rates[:12]}; expected kb/s above 0")
    if not np.isfinite(table).all() or table.min() < 1 or table.max() > 1e9:
        raise SojournError(f"{name}: a size of {table.min():g} to {table.max():g} bytes; expected 1 to 1e9")
    order = sorted(range(len(rates)), key=rates.__getitem__)
    if len(set(rates)) < len(rates):
        raise SojournError(f"{name}: two levels have the same nominal rate")
    ordered = np.ascontiguousarray(np.rint(table[:, order]).astype(np.uint64))
    return Clip(float(segment_s), tuple(rates[i] for i in order), ordered, name)


Found = tuple[float | None, list[float] | None, list[list[float]]]


def _number(text: Any, where: str) -> float:
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise _Wrong(f"{where}: expected a number, found {str(text)[:40]!r}")
    try:
        number = float(text)
    except (ValueError, OverflowError):
        raise _Wrong(f"{where}: expected a number, found {str(text)[:40]!r}") from None
    if not math.isfinite(number):
        raise _Wrong(f"{where}: expected a finite number, found {str(text)[:40]!r}")
    return number


def _sabre(text: str) -> Found:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise _Wrong("this is not JSON") from None
    keys = ("segment_duration_ms", "bitrates_kbps", "segment_sizes_bits")
    if not isinstance(document, dict) or any(key not in document for key in keys):
        raise _Wrong(f"expected an object with {', '.join(keys)}")
    rates, segments = document["bitrates_kbps"], document["segment_sizes_bits"]
    if not isinstance(rates, list) or not isinstance(segments, list):
        raise _Wrong("bitrates_kbps and segment_sizes_bits must be lists")
    if len(segments) > _MOST_SEGMENTS:
        raise _Wrong(f"{len(segments)} segments; expected at most {_MOST_SEGMENTS}")
    sizes = []
    for k, segment in enumerate(segments, 1):
        if not isinstance(segment, list) or len(segment) != len(rates):
            raise _Wrong(f"segment {k}: expected a list of {len(rates)} sizes")
        sizes.append([_number(bits, f"segment {k}") / 8 for bits in segment])
    seconds = _number(document["segment_duration_ms"], "segment_duration_ms") / 1000
    return seconds, [_number(rate, "bitrates_kbps") for rate in rates], sizes


def _csv(text: str) -> Found:
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:
        raise _Wrong(str(error)) from None
    if len(rows) < 2:
        raise _Wrong("expected a line of column names and a row for each segment")
    if len(rows) > _MOST_SEGMENTS:
        raise _Wrong(f"more than {_MOST_SEGMENTS} segments")
    names = [name.strip().lower() for name in rows[0]]
    skip = 1 if names[0] in ("segment", "seg", "index", "number") else 0
    if len(names) == skip:
        raise _Wrong("there is no column of sizes")
    found = [_RATE.fullmatch(name.removeprefix("bytes_")) for name in names[skip:]]
    rates = [float(match[1]) for match in found if match]
    sizes = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise _Wrong(f"row {line} has {len(row)} columns, the first has {len(names)}")
        sizes.append([_number(cell, f"row {line}") for cell in row[skip:]])
    return None, rates if len(rates) == len(found) else None, sizes


def _list(text: str) -> Found:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        raise _Wrong("there is nothing in it")
    if len(lines[0]) > 2:
        # A matrix: one row a level.
        rows = [[_number(cell, f"line {i}") for cell in line] for i, line in enumerate(lines, 1)]
        if len({len(row) for row in rows}) != 1:
            raise _Wrong("the levels do not all have as many segments")
        if len(rows[0]) > _MOST_SEGMENTS:
            raise _Wrong(f"more than {_MOST_SEGMENTS} segments")
        return None, None, [list(segment) for segment in zip(*rows, strict=True)]
    if all(len(line) == 1 for line in lines):
        raise _Wrong('expected a line "level count" before the sizes of each level')
    levels: list[list[float]] = []
    rates: list[float] = []
    left = 0
    for i, line in enumerate(lines, 1):
        numbers = [_number(cell, f"line {i}") for cell in line]
        if len(numbers) == 2 and left == 0:
            left = int(numbers[1])
            if not 1 <= left <= _MOST_SEGMENTS:
                raise _Wrong(f"line {i}: {line[1]} segments; expected 1 to {_MOST_SEGMENTS}")
            rates.append(numbers[0])
            levels.append([])
        elif len(numbers) == 1 and left > 0:
            levels[-1].append(numbers[0])
            left -= 1
        else:
            expected = "a size" if left else '"level count"'
            raise _Wrong(f"line {i}: expected {expected}, found {' '.join(line)[:40]!r}")
    if left:
        raise _Wrong(f"the last level lacks {left} sizes")
    if len({len(level) for level in levels}) != 1:
        raise _Wrong("the levels do not all have as many segments")
    # A level may be called by its rate in kb/s or only be counted.
    counted = rates in ([float(i) for i in range(len(rates))], [float(i + 1) for i in range(len(rates))])
    return None, None if counted else rates, [list(segment) for segment in zip(*levels, strict=True)]


def _mpd(text: str) -> Found:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise _Wrong("a manifest with a document type of its own is not read")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise _Wrong(f"this is not XML: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if root.tag != "MPD":
        raise _Wrong(f"expected the element MPD, found {root.tag[:40]!r}")
    sets = [found for found in root.iter("AdaptationSet") if _is_video(found)]
    if not sets:
        raise _Wrong("there is no adaptation set of video")
    chosen = max(sets, key=lambda found: len(found.findall("Representation")))
    period = next((p for p in root.iter("Period") if chosen in list(p)), None)
    total = _duration((period.get("duration") if period is not None else None) or "")
    total = total or _duration(root.get("mediaPresentationDuration") or "")
    levels, rates, seconds = [], [], set()
    for representation in chosen.findall("Representation"):
        rate = _number(representation.get("bandwidth", ""), "bandwidth") / 1000
        near = [representation, chosen, *([period] if period is not None else [])]
        length, sizes = _segments(near, rate, total)
        levels.append(sizes)
        rates.append(rate)
        seconds.add(length)
    if not levels:
        raise _Wrong("the adaptation set has no representations")
    if len(seconds) != 1 or len({len(level) for level in levels}) != 1:
        raise _Wrong("the representations do not have the same segments")
    return seconds.pop(), rates, [list(segment) for segment in zip(*levels, strict=True)]


def _is_video(found: ElementTree.Element) -> bool:
    kinds = [found.get("contentType", ""), found.get("mimeType", "")]
    kinds += [representation.get("mimeType", "") for representation in found.findall("Representation")]
    stated = [kind for kind in kinds if kind]
    return not stated or any(kind.startswith("video") for kind in stated)


def _duration(text: str) -> float | None:
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _segments(
    near: Sequence[ElementTree.Element], rate_kbps: float, total_s: float | None
) -> tuple[float, list[float]]:
    """Return the length of a segment and the sizes of all of a representation."""
    for place in near:
        found = place.find("SegmentList")
        if found is None:
            found = place.find("SegmentTemplate")
        if found is None:
            continue
        scale = _number(found.get("timescale", "1"), "timescale")
        line = found.find("SegmentTimeline/S")
        stated = found.get("duration") or (line.get("d") if line is not None else None)
        if stated is None or scale <= 0:
            raise _Wrong("a segment list or template does not say how long a segment is")
        seconds = _number(stated, "duration") / scale
        if not 0.1 <= seconds <= 60:
            raise _Wrong(f"a segment of {seconds:g} s; expected 0.1 to 60 s")
        urls = found.findall("SegmentURL")
        if len(urls) > _MOST_SEGMENTS:
            raise _Wrong(f"more than {_MOST_SEGMENTS} segments")
        ranges = [re.fullmatch(r"(\d{1,15})-(\d{1,15})", url.get("mediaRange", "")) for url in urls]
        if urls and all(ranges):
            return seconds, [float(r[2]) - float(r[1]) + 1 for r in ranges if r]
        if not urls and total_s is None:
            raise _Wrong("a template without sizes needs the duration of the presentation")
        count = len(urls) or round((total_s or 0) / seconds)
        if not 1 <= count <= _MOST_SEGMENTS:
            raise _Wrong(f"{count} segments; expected 1 to {_MOST_SEGMENTS}")
        return seconds, [float(round(rate_kbps * seconds * 125))] * count
    raise _Wrong("a representation has neither a segment list nor a template; sizes are not in this manifest")


def read_text(path: Path, what: str) -> str:
    """Return the text of a file that a user names; `what` it should hold is said if it cannot be had.

    Raises
    ------
    SojournError
        The file is missing, too large, not UTF-8, or cannot be read.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SojournError(f"{path} has more than {_MOST_BYTES // 1_000_000} MB; expected {what}")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SojournError(f"{path}: there is no such file; expected {what}") from None
    except UnicodeDecodeError as error:
        raise SojournError(f"{path} is not UTF-8 text (byte {error.start}); expected {what}") from None
    except (OSError, ValueError) as error:
        raise SojournError(f"{path} cannot be read: {error}") from None
