"""Cloud gaming: what bit rate, frame rate, picture size, delay and loss make of a game that is streamed.

Implements ITU-T G.1072 (01/2020) with Corrigendum 1 (10/2020): R = 100 less five weighted impairments, by
coding, by transmission, of the video's temporal quality, of the input quality by frame rate and by delay.

Source: the formulas and coefficients as the Recommendation's authors coded them, held against a second
transcription (whose coefficients agree, but which takes log10 for ln and another MOS curve: the clips at
61.29 and 68.98 are reached with ln only). Corrigendum 1's typo: a coefficient of 1.425e-4 goes with Mbit/s.

Differences: coding impairs by at most 65, as in the authors' code (the formula's own bound of 78.78 is out of
reach then); a version of that code bounds R at 78.49, which its test (MOS 4.58) does not allow, nor does
this. There is no input for jitter: frames that come too late are counted as lost by the caller. That
the network's delay is meant as a round trip is from memory (`REMEMBERED`). Frame-rate impairments are not
monotone; that is the model's. The model ends at 50 Mbit/s, 60 frames a second, 1080p, 400 ms and 5 %: what is
beyond is taken at the bound, and `Stream.within` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log
from typing import Literal

Class = Literal["low", "medium", "high"]

#: What has no source that was read.
REMEMBERED = "that G.1072's delay is that of the network there and back"

_W_COD, _W_TRANS, _W_TVQ, _W_FR, _W_DEL = 0.788, 0.896, 0.227, 0.625, 0.848


@dataclass(frozen=True)
class _Complexity:
    """Coefficients of coding and transmission for one class of video complexity."""

    a: tuple[float, float, float, float]
    a3: tuple[float, float, float]
    c: tuple[float, float, float, float]
    q: tuple[float, float]


_COMPLEXITY: dict[Class, _Complexity] = {
    "low": _Complexity(
        (52.5052380, -28.0170325, -2.68405109, 5.46647668),
        (12.4214486, -28.0191642, 0.215799183),
        (19.7091683, 3358.30546, 28.3699150, 0.0234972977),
        (0.00164739513, 0.0895913579),
    ),
    "medium": _Complexity(
        (37.9882097, -13.7207634, 8.57836656, 3.26581290),
        (6.83275916, -127.997288, 0.479594798),
        (0.612878511, 0.00139396166, 56.2892863, 0.00475669545),
        (0.0581327058, 2.38014343),
    ),
    "high": _Complexity(
        (47.7463038, -12.0699723, 9.05167501, 3.41919377),
        (7.62306351, -167.837954, 0.0760332685),
        (1.57176227, 3.68595885, 74.0570804, 0.00406000335),
        (2.58892015e-8, 0.868406685),
    ),
}


@dataclass(frozen=True)
class _Interaction:
    """Coefficients of temporal quality (d), frame rate (e) and delay (f) for one class of interaction."""

    d: tuple[float, float, float, float]
    e: tuple[float, float, float, float]
    f: tuple[float, float, float, float]


_FAST = _Interaction(
    (47.03, 0.01747, -1.823, 10.7), (54.71, 0.02589, -2.485, 9.306), (90.0, 1.191, 0.009775, -18.73)
)
_INTERACTION: dict[Class, _Interaction] = {
    "low": _Interaction(
        (29.13, 0.01344, -1.283, 6.724), (23.43, 0.008574, -0.9253, 5.855), (47.97, 2.097, 0.01073, -4.567)
    ),
    "medium": _FAST,
    "high": _FAST,
}
_RANGES: dict[str, tuple[float, float]] = {
    "rate_mbps": (0.0003, 50.0),
    "frame_rate": (10.0, 60.0),
    "pixels": (640 * 480, 1920 * 1080),
    "delay_ms": (0.0, 400.0),
    "frozen_pct": (0.0, 5.0),
    "sliced_pct": (0.0, 2.0),
}


@dataclass(frozen=True)
class Stream:
    """A game's stream as it was received.

    Attributes
    ----------
    rate_mbps : float
        Bit rate of the video in Mbit/s, up to 50.
    frame_rate : float
        Coded frames a second, 10 to 60.
    pixels : int
        Of a picture: 640·480 to 1920·1080.
    delay_ms : float
        Of the network, there and back: 0 to 400.
    frozen_pct : float
        Packet loss in percent where a damaged picture is not shown: 0 to 5.
    sliced_pct : float
        Packet loss in percent where damaged pictures are shown: 0 to 2. One of the two is 0.
    complexity, interaction : "low", "medium" or "high"
        Classes of the game's video, and of how much its player depends on timing.
    """

    rate_mbps: float
    frame_rate: float
    pixels: int
    delay_ms: float = 0.0
    frozen_pct: float = 0.0
    sliced_pct: float = 0.0
    complexity: Class = "high"
    interaction: Class = "high"

    @property
    def within(self) -> bool:
        """Whether the model is made for this."""
        return all(least <= getattr(self, name) <= most for name, (least, most) in _RANGES.items())

    def bounded(self) -> Stream:
        """The stream with what is beyond the model's range at its bound."""
        ranges = _RANGES.items()
        return replace(
            self, **{name: min(max(getattr(self, name), least), most) for name, (least, most) in ranges}
        )


def _clip(value: float, most: float) -> float:
    return min(max(value, 0.0), most)


def rating(stream: Stream) -> float:
    """Return R of a stream, 0 to 100.

    Raises
    ------
    ValueError
        If both kinds of loss are given.
    """
    if stream.frozen_pct and stream.sliced_pct:
        raise ValueError("a stream shows damaged pictures or freezes: expected one kind of loss, found both")
    s, c, i = stream.bounded(), _COMPLEXITY[stream.complexity], _INTERACTION[stream.interaction]
    per_pixel = s.rate_mbps * 1e6 / (s.pixels * s.frame_rate)
    content = c.a3[0] * exp(c.a3[1] * per_pixel) + c.a3[2]
    coding = _clip(c.a[0] * exp(c.a[1] * per_pixel) + c.a[2] * content + c.a[3], 65.0)

    sliced = 0.0
    if s.sliced_pct > 0:
        n = (c.c[2] - coding) * s.sliced_pct / (c.c[3] * coding + s.sliced_pct)
        sliced = c.c[0] * log(c.c[1] * c.q[0] * (exp(c.q[1] * n) - 1.0) + 1.0)

    left = s.frame_rate
    if s.delay_ms >= 16:
        decay = 0.08526 + 0.00073 * s.frame_rate + 1.425e-4 * s.rate_mbps * s.frame_rate
        left *= exp(-decay * (0.09656 * s.delay_ms - 1.5) * s.frozen_pct)
    lost = log(100.0 * (s.frame_rate - left) / s.frame_rate + 1.0)

    def frames(k: tuple[float, float, float, float], most: float) -> float:
        return _clip(k[0] + k[1] * s.frame_rate**2 + k[2] * s.frame_rate + k[3] * lost, most)

    temporal, by_frames = frames(i.d, 61.29), frames(i.e, 68.98)
    by_delay = _clip(i.f[0] / (1.0 + exp(i.f[1] - i.f[2] * s.delay_ms)) + i.f[3], 68.98)
    weighted = _W_COD * coding + _W_TRANS * sliced + _W_TVQ * temporal + _W_FR * by_frames + _W_DEL * by_delay
    return _clip(100.0 - weighted, 100.0)


def mos(stream: Stream) -> float:
    """Return the opinion score of a stream, 1.3 to 4.64; errors as `rating`."""
    r = rating(stream)
    return min(max(1.3 + 3.34 * r / 100.0 + r * (r - 60.0) * (100.0 - r) * 7e-6, 1.3), 4.64)
