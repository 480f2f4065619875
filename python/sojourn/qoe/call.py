"""Scores of video calls: the rate, the pictures' delay, freezes, and SSIM at the rates used.

Freezes are those that libwebrtc counts (the engine marks them). The share of time frozen is that of the
gaps that are freezes, and of the time from the last picture to the end of the run if that is longer than
any freeze need be; before a call's first picture there is nothing to freeze. Of a call that begins after the
warm-up the time from its beginning counts. One that never comes as far as media counts as frozen throughout.
SSIM is that of pictures that are shown, by their lines and the rate of the last second, as it was measured
once with real pictures (see `media.video.talking_head`): it says how well pictures are coded, not whether
they come.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.columns import require
from sojourn.qoe.media.video.talking_head import MOST_LINES, ssim
from sojourn.qoe.quantiles import statistics

Table = Mapping[str, NDArray[Any]]

DIRECTIONS = {"sends": 0, "receives": 1}
"""What the user sends goes up, and what the user receives comes down."""
LEAST_FREEZE_S = 0.2
"""No gap at 30 pictures a second is a freeze below this: 33 ms and 150 ms more, or three times the mean."""
_CALL = ("user", "direction", "captured_ns", "delay_ns", "bytes", "height", "gap_ns", "frozen")
_RATES = ("user", "direction", "time_ns", "received_bytes")
_BIN_S = 0.2


def score_call(call: Table, rates: Table, warmup_s: float, end_s: float) -> dict[str, Any]:
    """Score video calls.

    Parameters
    ----------
    call : mapping of str to ndarray
        One row per frame: `user`, `direction` (0 up, 1 down), `captured_ns`, `delay_ns` (from its capture to
        its showing, -1 if it was not shown), `bytes`, `height`, `gap_ns` (since the frame shown before),
        `frozen`.
    rates : mapping of str to ndarray
        One row per 200 ms: `user`, `direction`, `time_ns`, `received_bytes`.
    warmup_s, end_s : float
        The measured time.

    Returns
    -------
    dict
        "sends" and "receives" as far as calls go that way, each with `rate_kbps` (of seconds, all bytes at
        IP, forward error correction and repeats too), `delay_ms` (of pictures), `ssim` and `height` (of
        pictures that are shown) as {"median", "mean", "p5", …}; `picture_kbps` (coded bytes of the pictures
        that are shown, over the measured time, mean over calls); `frozen` (share of the time, mean over
        calls), `freezes_per_min`, `fps` (means over calls), `not_shown` (share of frames), `calls`. What no
        picture gives is None. Empty without calls.

    Raises
    ------
    ValueError
        A column is missing.
    """
    require(call, _CALL, "call")
    require(rates, _RATES, "call_rates")
    out: dict[str, Any] = {}
    for name, direction in DIRECTIONS.items():
        measured = np.asarray(rates["time_ns"]) > warmup_s * 1e9
        chosen = measured & (np.asarray(rates["direction"]) == direction)
        users = np.unique(np.asarray(rates["user"])[chosen])
        if users.size:
            out[name] = _direction(call, rates, chosen, direction, (warmup_s, end_s))
    return out


def _direction(
    call: Table, rates: Table, chosen: NDArray[np.bool_], direction: int, measured: tuple[float, float]
) -> dict[str, Any]:
    users = np.unique(np.asarray(rates["user"])[chosen])
    mine = np.asarray(call["direction"]) == direction
    seconds, smooth, quality, pictures = [], [], [], []
    for user in users:
        own = (np.asarray(rates["user"]) == user) & (np.asarray(rates["direction"]) == direction)
        bins = chosen & own
        received = np.asarray(rates["received_bytes"])[bins].astype(np.float64)
        whole = received[: received.size // 5 * 5].reshape(-1, 5).sum(axis=1)
        seconds.append(whole * 8 / 1e3 / (5 * _BIN_S))
        frames = mine & (np.asarray(call["user"]) == user)
        table = {name: np.asarray(call[name])[frames] for name in _CALL}
        began = float(np.asarray(rates["time_ns"])[own].min()) / 1e9 - _BIN_S
        during = (max(measured[0], began), measured[1])
        smooth.append(_smoothness(table, during))
        quality.append(_quality(table))
        shown = table["bytes"][table["delay_ns"] >= 0]
        pictures.append(shown.sum(dtype=np.float64) * 8 / 1e3 / (during[1] - during[0]))
    of_frames = {name: np.asarray(call[name])[mine] for name in ("delay_ns", "height")}
    shown = of_frames["delay_ns"] >= 0
    frozen, freezes, fps = (float(np.mean(values)) for values in zip(*smooth, strict=True))
    nothing = np.empty(0)
    return {
        "rate_kbps": statistics(np.concatenate([*seconds, nothing]), 1),
        "picture_kbps": round(float(np.mean(pictures)), 1),
        "delay_ms": statistics(of_frames["delay_ns"][shown] / 1e6, 2),
        "frozen": round(frozen, 6),
        "freezes_per_min": round(freezes, 4),
        "fps": round(fps, 3),
        "not_shown": round(float((~shown).mean()), 6) if shown.size else None,
        "ssim": statistics(np.concatenate([*quality, nothing]), 4),
        "height": statistics(of_frames["height"][shown].astype(np.float64), 1),
        "calls": int(users.size),
    }


def _smoothness(table: Table, measured: tuple[float, float]) -> tuple[float, float, float]:
    """Return the share of time frozen, freezes a minute and pictures a second of one call."""
    begin, end = measured
    length = end - begin
    shown = table["delay_ns"] >= 0
    at = (table["captured_ns"][shown] + table["delay_ns"][shown]) / 1e9
    if not at.size:
        return 1.0, 0.0, 0.0
    gaps = table["gap_ns"][shown] / 1e9
    frozen = table["frozen"][shown].astype(bool)
    from_, to = np.maximum(at - gaps, begin)[frozen], np.minimum(at, end)[frozen]
    time = float(np.maximum(to - from_, 0).sum())
    freezes = int(frozen.sum())
    rest = end - float(at.max())
    if rest > max(LEAST_FREEZE_S, 3 * float(np.median(gaps))):
        time, freezes = time + rest, freezes + 1
    return min(time / length, 1.0), 60 * freezes / length, at.size / length


def _quality(table: Table) -> NDArray[np.float64]:
    """Return the SSIM of the pictures that are shown: by the rate of the last second up to each."""
    if not table["height"].size or table["height"].max() > MOST_LINES:
        return np.empty(0)
    captured = table["captured_ns"] / 1e9
    total = np.concatenate(([0.0], np.cumsum(table["bytes"], dtype=np.float64)))
    first = np.searchsorted(captured, captured - 1.0, side="right")
    # The last second begins with the first picture at the earliest.
    count = np.arange(captured.size) + 1 - first
    spacing = np.median(np.diff(captured)) if captured.size > 1 else 1 / 30
    kbps = (total[1:] - total[first]) * 8 / 1e3 / (count * spacing)
    shown = table["delay_ns"] >= 0
    return ssim(table["height"][shown], kbps[shown] * spacing * 30)
