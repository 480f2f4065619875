"""G.729 Annex A through the library bcg729, where it is installed.

Frames of 10 ms in 10 bytes, two to a packet; the decoder conceals erased frames itself (ITU-T G.729 §4.4).
The library is GPL-3.0-or-later and no part of this project; Debian's package is libbcg729-0.

Differences: none known; the library is bit-exact with the recommendation's test vectors by its authors' word,
which is not checked here. Comfort noise (Annex B) is not used.
"""

import ctypes
from ctypes.util import find_library
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.shared_library import load

#: Samples of a frame at 8 kHz, and bytes that it is coded in.
FRAME = 80
BYTES = 10

MISSING = "G.729A speech needs the library bcg729, which is not installed: apt-get install libbcg729-0"


@lru_cache
def _library() -> ctypes.CDLL | None:
    names = ("libbcg729.so.0", find_library("bcg729"))
    return load(names, ("initBcg729EncoderChannel", "initBcg729DecoderChannel"))


def available() -> bool:
    """Whether the library is installed."""
    return _library() is not None


def _loaded() -> ctypes.CDLL:
    library = _library()
    if library is None:
        raise RuntimeError(MISSING)
    return library


def encode(signal: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Code speech; a part of a frame at the end is left out.

    Parameters
    ----------
    signal : ndarray of int16, shape (n,)
        At 8 kHz.

    Returns
    -------
    ndarray of uint8, shape (n // 80, 10)

    Raises
    ------
    RuntimeError
        If the library is not installed.
    """
    library = _loaded()
    frames = np.ascontiguousarray(signal[: signal.size // FRAME * FRAME], dtype=np.int16).reshape(-1, FRAME)
    out = np.zeros((len(frames), BYTES), dtype=np.uint8)
    channel = ctypes.c_void_p(library.initBcg729EncoderChannel(ctypes.c_uint8(0)))
    length = ctypes.c_uint8()
    room = (ctypes.c_uint8 * 16)()
    try:
        for row, frame in zip(out, frames, strict=True):
            library.bcg729Encoder(channel, ctypes.c_void_p(frame.ctypes.data), room, ctypes.byref(length))
            row[:] = room[:BYTES]
    finally:
        library.closeBcg729EncoderChannel(channel)
    return out


def decode(coded: NDArray[np.uint8], erased: NDArray[np.bool_]) -> NDArray[np.int16]:
    """Decode speech, concealing erased frames.

    Parameters
    ----------
    coded : ndarray of uint8, shape (n, 10)
    erased : ndarray of bool, shape (n,)
        Frames that did not arrive; their bytes are not looked at.

    Returns
    -------
    ndarray of int16, shape (80 n,)

    Raises
    ------
    RuntimeError
        If the library is not installed.
    """
    library = _loaded()
    coded = np.ascontiguousarray(np.where(erased[:, None], 0, coded), dtype=np.uint8)
    out = np.zeros((len(coded), FRAME), dtype=np.int16)
    channel = ctypes.c_void_p(library.initBcg729DecoderChannel())
    byte = ctypes.c_uint8
    try:
        for row, frame, gone in zip(out, coded, erased.tolist(), strict=True):
            arguments = (ctypes.c_void_p(frame.ctypes.data), byte(BYTES), byte(gone), byte(0), byte(0))
            library.bcg729Decoder(channel, *arguments, ctypes.c_void_p(row.ctypes.data))
    finally:
        library.closeBcg729DecoderChannel(channel)
    return out.reshape(-1)
