"""Clips: the sizes of an adaptive video's segments at every level; those that ship, and those in files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.errors import SojournError, quoted, shown
from sojourn.parts.clip_files import READERS, Wrong

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENDINGS = tuple(READERS)
"""Endings of files that hold sizes; anything else in a study names a clip that ships."""

_MOST_BYTES = 64_000_000
_IN_NAME = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)s(?![a-z0-9])")


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
        """Return the same sizes under other nominal rates, kb/s; SojournError if they do not fit."""
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
            f"{quoted(name)} is not a clip: expected {', '.join(_core.clips())}, "
            f"or a file that ends in {', '.join(ENDINGS)}"
        )
    return read_clip(name)


def _given(clip: Clip) -> Clip:
    """Return a clip that a caller made, if it is of the right kinds; the engine checks its values."""
    import numpy as np  # slow to import, and most studies have no clip

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
    import numpy as np  # slow to import, and most studies have no clip

    path = Path(path)
    text = read_text(path, "segment sizes")
    ending = path.suffix.lower()
    if ending not in READERS:
        raise SojournError(f"{path}: expected a file that ends in {', '.join(ENDINGS)}")
    try:
        found_s, found_rates, sizes = READERS[ending](text)
    except Wrong as wrong:
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


def _checked(name: str, segment_s: float, rates: Sequence[float], sizes: Any) -> Clip:
    """Return a clip, levels in order of their rates."""
    import numpy as np  # slow to import, and most studies have no clip

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
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except FileNotFoundError:
        raise SojournError(f"{path}: there is no such file; expected {what}") from None
    except UnicodeDecodeError as error:
        raise SojournError(f"{path} is not UTF-8 text (byte {error.start}); expected {what}") from None
    except (OSError, ValueError) as error:
        raise SojournError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
