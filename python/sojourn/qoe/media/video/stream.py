"""MPEG-2 transport streams in RTP packets: which pictures are where, when packets are sent, which are left.

Seven transport packets of 188 bytes go into one RTP packet (RFC 2250), which with RTP (12 bytes), UDP (8) and
IP (20) makes 1356 bytes; the last one may be shorter.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

TS = 188
PER_PACKET = 7
HEADERS = 12 + 8 + 20

_VIDEO = 0x100  # the identifier that FFmpeg's muxer gives the first stream


def cut(ts: bytes) -> NDArray[np.uint16]:
    """Bytes at IP of each RTP packet: shape (n,)."""
    rest = np.full(-(-len(ts) // (TS * PER_PACKET)), TS * PER_PACKET)
    rest[-1] = len(ts) - TS * PER_PACKET * (len(rest) - 1)
    return (rest + HEADERS).astype(np.uint16)


def pictures_of(ts: bytes) -> NDArray[np.int64]:
    """Number, in coding order, of the last picture that each RTP packet has a part of: shape (n,)."""
    packets = np.frombuffer(ts, dtype=np.uint8).reshape(-1, TS)
    if (packets[:, 0] != 0x47).any():
        raise ValueError("this is not a transport stream: a packet does not begin with 0x47")
    pid = (packets[:, 1].astype(np.int64) & 0x1F) << 8 | packets[:, 2]
    begins = (pid == _VIDEO) & (packets[:, 1] & 0x40 != 0)
    number = np.maximum(np.cumsum(begins) - 1, 0)
    last = np.minimum(np.arange(PER_PACKET - 1, len(packets) + PER_PACKET - 1, PER_PACKET), len(packets) - 1)
    return number[last]


def schedule(pictures: NDArray[np.int64], fps: int, smoothing_ns: int) -> NDArray[np.uint64]:
    """When each RTP packet is sent, from the beginning of the showing.

    Parameters
    ----------
    pictures : ndarray of int
        As from `pictures_of`.
    fps : int
        Picture k is there at k / fps.
    smoothing_ns : int
        The packets of each span so long are sent evenly over it; 0 sends those of a picture at once.

    Returns
    -------
    ndarray of uint64, nanoseconds, never falling
    """
    ready = pictures * 1_000_000_000 // fps
    if smoothing_ns <= 0:
        return ready.astype(np.uint64)
    span = ready // smoothing_ns
    _, first, count = np.unique(span, return_index=True, return_counts=True)
    place = np.arange(len(span)) - np.repeat(first, count)
    return (span * smoothing_ns + place * smoothing_ns // np.repeat(count, count)).astype(np.uint64)


def without(ts: bytes, lost: NDArray[np.bool_]) -> bytes:
    """The stream that is left when RTP packets are lost."""
    packets = np.frombuffer(ts, dtype=np.uint8).reshape(-1, TS)
    gone = np.repeat(lost, PER_PACKET)[: len(packets)]
    return packets[~gone].tobytes()


def intact(ts: bytes, lost: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The packets that a player does without who shows no damaged picture, nor any that builds on one.

    From the first lost packet of a group of pictures on, that is up to the next intra picture that decoding
    can start from (the transport stream marks it: random_access_indicator).

    Returns
    -------
    ndarray of bool, shape (packets,)
    """
    packets = np.frombuffer(ts, dtype=np.uint8).reshape(-1, TS)
    adapted = (packets[:, 3] & 0x20 != 0) & (packets[:, 4] > 0)
    begins = (packets[:, 1] & 0x40 != 0) & adapted & (packets[:, 5] & 0x40 != 0)
    gone = lost.copy()
    for first, end in pairwise([0, *(np.flatnonzero(begins) // PER_PACKET).tolist(), len(lost)]):
        if lost[first:end].any():
            gone[first + int(np.argmax(lost[first:end])) : end] = True
    return gone


def slices(coded: bytes) -> int:
    """Number of slices in a coded picture (Annex B byte stream): NAL units of types 1 and 5."""
    data = np.frombuffer(coded, dtype=np.uint8)
    starts = np.flatnonzero((data[:-3] == 0) & (data[1:-2] == 0) & (data[2:-1] == 1))
    kinds = data[starts + 3] & 0x1F
    return int(np.isin(kinds, (1, 5)).sum())
