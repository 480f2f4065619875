"""Files of segment sizes, as other tools write them.

- ``.json``: sabre's ``{"segment_duration_ms", "bitrates_kbps", "segment_sizes_bits"}``;
- ``.csv``: one row a segment, one column a level (``bytes_230kbps``), sizes in bytes;
- ``.txt``: dashc's lists (a line ``level count``, then one size in bytes a line) or a matrix of bytes, one
  row a level, as Pensieve and the ns-3 client of TU Berlin have it;
- ``.mpd``: a DASH manifest, sizes from the byte ranges of its segment lists or, where it has none, what the
  nominal rate comes to.

These are files of strangers: whatever is wrong in one is said in a sentence (:class:`Wrong`).
"""

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from sojourn.errors import quoted

Found = tuple[float | None, list[float] | None, list[list[float]]]
"""Seconds of a segment, kb/s of each level, and bytes by segment and level; None: the file does not say."""

_MOST_SEGMENTS = 100_000
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:k|kbps|kbit)?")
_DURATION = re.compile(
    r"P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)


class Wrong(Exception):
    """What is wrong in a file, in a sentence without its name."""


def _number(text: Any, where: str) -> float:
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise Wrong(f"{where}: expected a number, found {quoted(text)}")
    try:
        number = float(text)
    except (ValueError, OverflowError):
        raise Wrong(f"{where}: expected a number, found {quoted(text)}") from None
    if not math.isfinite(number):
        raise Wrong(f"{where}: expected a finite number, found {quoted(text)}")
    return number


def _sabre(text: str) -> Found:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Wrong("this is not JSON") from None
    keys = ("segment_duration_ms", "bitrates_kbps", "segment_sizes_bits")
    if not isinstance(document, dict) or any(key not in document for key in keys):
        raise Wrong(f"expected an object with {', '.join(keys)}")
    rates, segments = document["bitrates_kbps"], document["segment_sizes_bits"]
    if not isinstance(rates, list) or not isinstance(segments, list):
        raise Wrong("bitrates_kbps and segment_sizes_bits must be lists")
    if len(segments) > _MOST_SEGMENTS:
        raise Wrong(f"{len(segments)} segments; expected at most {_MOST_SEGMENTS}")
    sizes = []
    for k, segment in enumerate(segments, 1):
        if not isinstance(segment, list) or len(segment) != len(rates):
            raise Wrong(f"segment {k}: expected a list of {len(rates)} sizes")
        sizes.append([_number(bits, f"segment {k}") / 8 for bits in segment])
    seconds = _number(document["segment_duration_ms"], "segment_duration_ms") / 1000
    return seconds, [_number(rate, "bitrates_kbps") for rate in rates], sizes


def _csv(text: str) -> Found:
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:
        raise Wrong(str(error)) from None
    if len(rows) < 2:
        raise Wrong("expected a line of column names and a row for each segment")
    _allowed(len(rows) - 1)
    names = [name.strip().lower() for name in rows[0]]
    skip = 1 if names[0] in ("segment", "seg", "index", "number") else 0
    if len(names) == skip:
        raise Wrong("there is no column of sizes")
    found = [_RATE.fullmatch(name.removeprefix("bytes_")) for name in names[skip:]]
    rates = [float(match[1]) for match in found if match]
    sizes = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise Wrong(f"row {line} has {len(row)} columns, the first has {len(names)}")
        sizes.append([_number(cell, f"row {line}") for cell in row[skip:]])
    return None, rates if len(rates) == len(found) else None, sizes


def _list(text: str) -> Found:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        raise Wrong("there is nothing in it")
    if len(lines[0]) > 2:
        # A matrix: one row a level.
        rows = [[_number(cell, f"line {i}") for cell in line] for i, line in enumerate(lines, 1)]
        return None, None, _by_segment(rows)
    if all(len(line) == 1 for line in lines):
        raise Wrong('expected a line "level count" before the sizes of each level')
    levels: list[list[float]] = []
    rates: list[float] = []
    left = 0
    for i, line in enumerate(lines, 1):
        numbers = [_number(cell, f"line {i}") for cell in line]
        if len(numbers) == 2 and left == 0:
            left = int(numbers[1])
            if not 1 <= left <= _MOST_SEGMENTS:
                raise Wrong(f"line {i}: {quoted(line[1])} segments; expected 1 to {_MOST_SEGMENTS}")
            rates.append(numbers[0])
            levels.append([])
        elif len(numbers) == 1 and left > 0:
            levels[-1].append(numbers[0])
            left -= 1
        else:
            expected = "a size" if left else '"level count"'
            raise Wrong(f"line {i}: expected {expected}, found {quoted(' '.join(line))}")
    if left:
        raise Wrong(f"the last level lacks {left} sizes")
    # A level may be called by its rate in kb/s or only be counted.
    counted = rates in ([float(i) for i in range(len(rates))], [float(i + 1) for i in range(len(rates))])
    return None, None if counted else rates, _by_segment(levels)


def _by_segment(levels: list[list[float]]) -> list[list[float]]:
    """Return sizes by segment and level, which are given by level and segment."""
    if len({len(level) for level in levels}) != 1:
        raise Wrong("the levels do not all have as many segments")
    _allowed(len(levels[0]))
    return [list(segment) for segment in zip(*levels, strict=True)]


def _allowed(segments: int) -> None:
    if segments > _MOST_SEGMENTS:
        raise Wrong(f"more than {_MOST_SEGMENTS} segments")


def _mpd(text: str) -> Found:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Wrong("a manifest with a document type of its own is not read")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise Wrong(f"this is not XML: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if root.tag != "MPD":
        raise Wrong(f"expected the element MPD, found {quoted(root.tag)}")
    sets = [found for found in root.iter("AdaptationSet") if _is_video(found)]
    if not sets:
        raise Wrong("there is no adaptation set of video")
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
        raise Wrong("the adaptation set has no representations")
    if len(seconds) != 1 or len({len(level) for level in levels}) != 1:
        raise Wrong("the representations do not have the same segments")
    return seconds.pop(), rates, _by_segment(levels)


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
            raise Wrong("a segment list or template does not say how long a segment is")
        seconds = _number(stated, "duration") / scale
        if not 0.1 <= seconds <= 60:
            raise Wrong(f"a segment of {seconds:g} s; expected 0.1 to 60 s")
        urls = found.findall("SegmentURL")
        _allowed(len(urls))
        ranges = [re.fullmatch(r"(\d{1,15})-(\d{1,15})", url.get("mediaRange", "")) for url in urls]
        if urls and all(ranges):
            return seconds, [float(r[2]) - float(r[1]) + 1 for r in ranges if r]
        if not urls and total_s is None:
            raise Wrong("a template without sizes needs the duration of the presentation")
        count = len(urls) or round((total_s or 0) / seconds)
        if not 1 <= count <= _MOST_SEGMENTS:
            raise Wrong(f"{count} segments; expected 1 to {_MOST_SEGMENTS}")
        return seconds, [float(round(rate_kbps * seconds * 125))] * count
    raise Wrong("a representation has neither a segment list nor a template; sizes are not in this manifest")


READERS = {".json": _sabre, ".csv": _csv, ".mpd": _mpd, ".txt": _list}
"""What reads a file, by its ending: from its text `Found`, or `Wrong`."""
