"""Reading and levelling recordings, at 8 kHz (narrow band) or 16 kHz (wide band).

WAV of that rate in mono PCM16 by the standard library; other rates and channel numbers through SciPy's
polyphase resampler, other formats through PyAV, where those are installed. The active level is the power
of the 20 ms frames within 35 dB of the loudest one, in dB relative to overload (a full-scale square
wave).

Differences: a frame threshold stands in for ITU-T P.56's envelope method; on clean recordings without
background noise both find the same speech.
"""

import wave
from math import gcd
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 8000
WIDE_HZ = 16000
LEVEL_DBOV = -26.0
SUFFIXES = frozenset({".g722", ".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".m4a", ".aiff"})

_PAUSE = 10  # frames: shorter pauses belong to the talkspurt around them


class MissingSpeech(RuntimeError):
    """There is no recorded speech to score; the message is one sentence that says why."""


def read(path: Path, rate_hz: int = RATE_HZ) -> NDArray[np.int16]:
    """A recording as mono sound.

    Parameters
    ----------
    path : Path
        `.g722` is raw G.722 of 64 kbit/s, as Asterisk keeps it.
    rate_hz : int
        Of the result: 8000 or 16000.

    Returns
    -------
    ndarray of int16, shape (n,)

    Raises
    ------
    MissingSpeech
        If it cannot be read, with the reason.
    """
    try:
        with wave.open(str(path), "rb") as file:
            if file.getsampwidth() == 2:
                rate, channels = file.getframerate(), file.getnchannels()
                data = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
                return _mono(
                    path, data[: data.size // channels * channels].reshape(-1, channels), rate, rate_hz
                )
    except (wave.Error, EOFError, OSError):
        pass
    return _with_av(path, rate_hz)


def _mono(path: Path, data: NDArray[np.int16], rate: int, wanted: int) -> NDArray[np.int16]:
    if rate == wanted and data.shape[1] == 1:
        return data[:, 0].astype(np.int16)
    signal = data.mean(axis=1)
    if rate != wanted:
        try:
            from scipy.signal import resample_poly
        except ImportError:
            raise MissingSpeech(
                f"{path} has {rate} Hz: expected {wanted} Hz mono PCM16 (other rates need SciPy)"
            ) from None
        common = gcd(wanted, rate)
        signal = resample_poly(signal, wanted // common, rate // common)
    return np.clip(np.rint(signal), -32768, 32767).astype(np.int16)


def _with_av(path: Path, rate_hz: int) -> NDArray[np.int16]:
    try:
        import av
    except ImportError:
        raise MissingSpeech(
            f"{path} is not an {rate_hz} Hz mono PCM16 WAV file (other formats need PyAV)"
        ) from None
    try:
        raw = "g722" if path.suffix.lower() == ".g722" else None
        with av.open(str(path), format=raw) as container:
            if not container.streams.audio:
                raise MissingSpeech(f"{path} has no sound in it")
            change = av.AudioResampler(format="s16", layout="mono", rate=rate_hz)
            parts = [f.to_ndarray()[0] for frame in container.decode(audio=0) for f in change.resample(frame)]
            parts += [f.to_ndarray()[0] for f in change.resample(None)]
    except (av.FFmpegError, OSError) as error:
        raise MissingSpeech(f"{path} cannot be read: {error}") from error
    return np.concatenate(parts).astype(np.int16) if parts else np.zeros(0, dtype=np.int16)


def _powers(signal: NDArray[np.int16], rate_hz: int) -> NDArray[np.float64]:
    """Mean square of every full 20 ms frame."""
    size = rate_hz // 50
    count = signal.size // size
    frames = signal[: count * size].reshape(count, size).astype(np.float64)
    return np.einsum("ij,ij->i", frames, frames) / size


def active(signal: NDArray[np.int16], below_db: float = 35.0, rate_hz: int = RATE_HZ) -> NDArray[np.bool_]:
    """Frames of 20 ms within `below_db` of the loudest one: shape (n // 160,) at 8 kHz."""
    power = _powers(signal, rate_hz)
    return power > max(power.max(initial=0.0) * 10.0 ** (-below_db / 10.0), 0.0)


def talkspurts(signal: NDArray[np.int16], rate_hz: int = RATE_HZ) -> NDArray[np.bool_]:
    """Active frames of 20 ms with pauses under 200 ms filled: shape (n // 160,) at 8 kHz."""
    talk = active(signal, rate_hz=rate_hz).copy()
    at = np.flatnonzero(talk)
    for a, b in zip(at[:-1].tolist(), at[1:].tolist(), strict=True):
        if 1 < b - a <= _PAUSE:
            talk[a:b] = True
    return talk


def trim(signal: NDArray[np.int16], rate_hz: int = RATE_HZ) -> NDArray[np.int16]:
    """Without leading and trailing frames below −40 dB of the loudest one."""
    loud, frame = np.flatnonzero(active(signal, 40.0, rate_hz)), rate_hz // 50
    return signal[loud[0] * frame : (loud[-1] + 1) * frame] if loud.size else signal[:0]


def level(signal: NDArray[np.int16], dbov: float = LEVEL_DBOV, rate_hz: int = RATE_HZ) -> NDArray[np.int16]:
    """The signal with its active level set to `dbov`; peaks beyond full scale are clipped."""
    heard = active(signal, rate_hz=rate_hz)
    if not heard.any():
        return signal
    rms = float(np.sqrt(_powers(signal, rate_hz)[heard].mean()))
    gain = 32768.0 * 10.0 ** (dbov / 20.0) / rms
    return np.clip(np.rint(signal * gain), -32768, 32767).astype(np.int16)
