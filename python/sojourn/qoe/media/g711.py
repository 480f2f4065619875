"""G.711 A-law by table.

Implements ITU-T G.711's A-law by segment arithmetic on 13 bits; both directions are one look-up.

Differences: none in the decoder. The encoder decides at the segments' thresholds as the usual reference C
code does (ones' complement of negative values); nearest-level tables such as libavcodec's decide 964 of
the 65,536 inputs, all of them thresholds, the other way.
"""

import numpy as np
from numpy.typing import NDArray

#: Sampling rate in hertz, and samples of one 20 ms packet.
RATE_HZ = 8000
FRAME = 160


def _encoder() -> NDArray[np.uint8]:
    pcm = np.arange(-32768, 32768) >> 3
    mask = np.where(pcm >= 0, 0xD5, 0x55)
    level = np.where(pcm >= 0, pcm, -pcm - 1)
    segment = np.searchsorted(np.array([0x1F, 0x3F, 0x7F, 0xFF, 0x1FF, 0x3FF, 0x7FF, 0xFFF]), level)
    code = (segment << 4) | ((level >> np.maximum(segment, 1)) & 0x0F)
    return (code ^ mask).astype(np.uint8)


def _decoder() -> NDArray[np.int16]:
    code = np.arange(256) ^ 0x55
    segment = (code >> 4) & 7
    level = ((code & 0x0F) << 4) + np.where(segment > 0, 0x108, 8)
    level <<= np.maximum(segment - 1, 0)
    return np.where(code & 0x80, level, -level).astype(np.int16)


_ENCODE = _encoder()
_DECODE = _decoder()


def encode(pcm: NDArray[np.int16]) -> NDArray[np.uint8]:
    """A-law codes of 16-bit samples, same shape.

    Raises
    ------
    TypeError
        If `pcm` is not int16.
    """
    if pcm.dtype != np.int16:
        raise TypeError(f"A-law encodes int16 samples, found {pcm.dtype}")
    return _ENCODE[pcm.astype(np.int32) + 32768]


def decode(codes: NDArray[np.uint8]) -> NDArray[np.int16]:
    """16-bit samples of A-law codes, same shape.

    Raises
    ------
    TypeError
        If `codes` is not uint8.
    """
    if codes.dtype != np.uint8:
        raise TypeError(f"A-law decodes uint8 codes, found {codes.dtype}")
    return _DECODE[codes]


def code(pcm: NDArray[np.int16]) -> NDArray[np.int16]:
    """What a receiver hears without loss: encoded and decoded again."""
    return decode(encode(pcm))
