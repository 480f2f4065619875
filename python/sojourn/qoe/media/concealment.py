"""What a receiver plays for frames that are missing.

Three ways: silence; repetition of the last frame, fading; and waveform substitution after ITU-T G.711
Appendix I: pitch of 5 to 15 ms by normalised cross-correlation over 20 ms, the last one, two, three
periods in the first, second, third 10 ms, overlap-add of a quarter period where they meet, 20 % less
level for every 10 ms after the first, silence from 60 ms on, and an overlap with the first good frame of
a quarter period and 4 ms more for every 10 ms lost, at most 10 ms.

Differences from Appendix I: no 3.75 ms of output delay (the overlap at the start of a gap is inside the
repeated period instead), a full search of the pitch rather than a decimated one, floating point. Not bit
exact.
"""

from typing import Literal, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Method = Literal["plc", "repeat", "zero"]
METHODS: tuple[str, ...] = get_args(Method)

_STEP = 80  # 10 ms at 8 kHz
_PITCH_MIN, _PITCH_MAX = 40, 120
_WINDOW = 160
_HISTORY = 3 * _PITCH_MAX + _PITCH_MAX // 4
_SILENT = 6 * _STEP


def conceal(
    frames: NDArray[np.int16], erased: NDArray[np.bool_], method: Method = "plc"
) -> NDArray[np.int16]:
    """The signal that is played when some frames are missing.

    Parameters
    ----------
    frames : ndarray of int16, shape (n, samples)
        Decoded frames at 8 kHz; the content of erased ones is not looked at.
    erased : ndarray of bool, shape (n,)
        Frames that are not there at their time.
    method : {"plc", "repeat", "zero"}

    Returns
    -------
    ndarray of int16, shape (n * samples,)

    Raises
    ------
    ValueError
        If the shapes do not agree or the method is unknown.
    """
    if frames.ndim != 2 or erased.shape != frames.shape[:1]:
        raise ValueError(
            f"frames {frames.shape} and erased {erased.shape} do not agree: expected (n, samples) and (n,)"
        )
    if method not in METHODS:
        raise ValueError(f"unknown concealment {method!r}: expected one of {', '.join(METHODS)}")
    out = frames.copy()
    out[erased] = 0
    if method != "zero":
        fill = _substitute if method == "plc" else _repeat
        for first, last in _gaps(erased):
            fill(out.reshape(-1), first * frames.shape[1], last * frames.shape[1], frames.shape[1])
    return out.reshape(-1)


def _gaps(erased: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of erased frames as half-open intervals."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], erased.view(np.int8), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _gain(length: int) -> NDArray[np.float64]:
    """Level of the samples of a gap: 1 for 10 ms, then linearly to 0 at 60 ms."""
    return np.clip(1.2 - 0.2 * np.arange(length) / _STEP, 0.0, 1.0)


def _repeat(signal: NDArray[np.int16], start: int, end: int, frame: int) -> None:
    """Fill a gap with the frame before it, fading."""
    if start == 0:
        return
    length = min(end - start, _SILENT)
    times = -(-length // frame)
    last = np.tile(signal[start - frame : start].astype(np.float64), times)[:length]
    signal[start : start + length] = np.rint(last * _gain(length))


def pitch(history: NDArray[np.float64]) -> int:
    """Pitch period in samples (40 to 120) of the end of a signal.

    Parameters
    ----------
    history : ndarray, shape (n,), n >= 280
        Speech at 8 kHz; its last 20 ms are compared with what lies 5 to 15 ms before.

    Returns
    -------
    int
        The lag of greatest normalised cross-correlation.
    """
    late = history[-_WINDOW:]
    early = sliding_window_view(history[-_WINDOW - _PITCH_MAX : -_PITCH_MIN], _WINDOW)
    energy = np.einsum("ij,ij->i", early, early)
    score = early @ late / np.sqrt(np.maximum(energy, 1.0))
    return _PITCH_MAX - int(np.argmax(score))


def _substitute(signal: NDArray[np.int16], start: int, end: int, frame: int) -> None:
    """Fill a gap with pitch periods of what was before it and merge them with what follows."""
    if start == 0:
        return
    history = np.zeros(_HISTORY)
    known = min(start, _HISTORY)
    history[_HISTORY - known :] = signal[start - known : start]
    period = pitch(history)
    quarter = period // 4

    merge = min(quarter + 32 * max(0, (end - start) // _STEP - 1), _STEP, len(signal) - end, frame)
    length = min(end - start + merge, _SILENT)
    made = _periods(history, period, quarter, length) * _gain(length)
    inside = min(length, end - start)
    signal[start : start + inside] = np.rint(made[:inside])

    if merge > 0:
        tail = np.zeros(merge)
        tail[: length - inside] = made[inside:]
        rise = np.arange(1, merge + 1) / (merge + 1)
        signal[end : end + merge] = np.rint(tail * (1.0 - rise) + signal[end : end + merge] * rise)


def _periods(history: NDArray[np.float64], period: int, quarter: int, length: int) -> NDArray[np.float64]:
    """Samples that continue a history by repeating its last one, then two, then three periods."""
    fall = np.arange(quarter, 0, -1) / (quarter + 1)
    rise = 1.0 - fall

    def loop(count: int) -> NDArray[np.float64]:
        """The last `count` periods, their end blended into what came before their start."""
        size = count * period
        body = history[-size:].copy()
        body[size - quarter :] = body[size - quarter :] * fall + history[-size - quarter : -size] * rise
        return body

    made = np.empty(length)
    body, at = loop(1), 0
    for begin in range(0, length, _STEP):
        stop = min(begin + _STEP, length)
        index = at + np.arange(stop - begin)
        if begin in (_STEP, 2 * _STEP):
            old = np.take(body, index[:quarter], mode="wrap")
            body, at = loop(begin // _STEP + 1), at % period
            index = at + np.arange(stop - begin)
            made[begin:stop] = np.take(body, index, mode="wrap")
            blend = min(quarter, stop - begin)
            made[begin : begin + blend] = (
                old[:blend] * fall[:blend] + made[begin : begin + blend] * rise[:blend]
            )
        else:
            made[begin:stop] = np.take(body, index, mode="wrap")
        at = (at + stop - begin) % len(body)
    return made
