"""Opus through libopus: speech coded, lost, repaired by in-band FEC, concealed and decoded.

Implements nothing of RFC 6716 itself: the library of its authors is called, that of PyAV's wheel (libopus
1.6) or the system's. Frames of 20 ms, wide band (16 kHz), application VoIP.

Source: RFC 6716, RFC 7587; settings as libwebrtc offers them: in-band FEC on, DTX off, complexity 9, the loss
that is told to the encoder at most 20 %; with DTX on, what it sends (`opus_interface.cc`).

Differences: neither deep redundancy (DRED) nor deep concealment: the libraries are built without. FEC carries
the frame before only (RFC 7587 section 3.3.3), and only where the encoder found room: at 16 kbit/s and below,
and where it is told of no loss, there is none.
"""

import ctypes
from ctypes.util import find_library
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.shared_library import load

RATE_HZ = 16000
#: Samples of a frame of 20 ms.
FRAME = 320

MISSING = "Opus speech needs the library libopus: pip install 'sojourn[video]', or apt-get install libopus0"

_VOIP = 2048
_SET_BITRATE, _SET_COMPLEXITY, _SET_FEC, _SET_LOSS, _SET_DTX = 4002, 4010, 4012, 4014, 4016
_GET_LOOKAHEAD = 4027
_MOST_BYTES = 1500
_MARK_BYTES = 2


def _candidates() -> list[str | None]:
    """Files that may be libopus, PyAV's own first."""
    found: list[str] = []
    try:
        import av

        folder = Path(av.__file__).parent
        for place in (folder.parent / "av.libs", folder / ".dylibs", folder):
            found += sorted(map(str, place.glob("*opus*")))
    except ImportError:
        pass
    return [*found, find_library("opus"), "libopus.so.0"]


@lru_cache
def _library() -> ctypes.CDLL | None:
    return load(_candidates(), ("opus_encoder_create", "opus_decoder_create"))


def available() -> bool:
    """Whether the library is there."""
    return _library() is not None


def _loaded() -> ctypes.CDLL:
    library = _library()
    if library is None:
        raise RuntimeError(MISSING)
    return library


def encode(
    signal: NDArray[np.int16], rate_bps: int, *, loss_pct: int = 0, fec: bool = True, dtx: bool = False
) -> list[bytes]:
    """Code speech.

    Parameters
    ----------
    signal : ndarray of int16, shape (n,)
        At 16 kHz; a part of a frame at the end is left out.
    rate_bps : int
        Mean rate of the packets' payload, variable from packet to packet.
    loss_pct : int
        Loss that the encoder is told to expect: 0 to 20 are used.
    fec, dtx : bool
        In-band FEC; packets of one byte in pauses.

    Returns
    -------
    list of bytes
        A packet for each frame.

    Raises
    ------
    RuntimeError
        If the library is missing or refuses the settings.
    """
    library = _loaded()
    error = ctypes.c_int()
    encoder = ctypes.c_void_p(library.opus_encoder_create(RATE_HZ, 1, _VOIP, ctypes.byref(error)))
    if error.value or not encoder.value:
        raise RuntimeError(f"libopus makes no encoder for 16 kHz mono: error {error.value}")
    try:
        settings = {
            _SET_BITRATE: rate_bps,
            _SET_COMPLEXITY: 9,
            _SET_FEC: int(fec),
            _SET_LOSS: min(max(loss_pct, 0), 20),
            _SET_DTX: int(dtx),
        }
        for request, value in settings.items():
            if library.opus_encoder_ctl(encoder, ctypes.c_int(request), ctypes.c_int(value)):
                raise RuntimeError(f"libopus refuses the setting {request} = {value}")
        frames = np.ascontiguousarray(signal[: signal.size // FRAME * FRAME], dtype=np.int16).reshape(
            -1, FRAME
        )
        room = ctypes.create_string_buffer(_MOST_BYTES)
        packets = []
        for frame in frames:
            size = library.opus_encode(
                encoder, ctypes.c_void_p(frame.ctypes.data), FRAME, room, ctypes.c_int32(_MOST_BYTES)
            )
            if size < 0:
                raise RuntimeError(f"libopus does not code a frame: error {size}")
            packets.append(room.raw[:size])
        return packets
    finally:
        library.opus_encoder_destroy(encoder)


def sent(packets: list[bytes]) -> list[bytes | None]:
    """Of packets coded with DTX, those that libwebrtc sends; None for the others.

    A packet of at most two bytes is the mark of a pause. The first of a pause is sent, so that the decoder
    knows.
    """
    marks = [len(packet) <= _MARK_BYTES for packet in packets]
    return [
        None if mark and before else packet
        for packet, mark, before in zip(packets, marks, [False, *marks], strict=False)
    ]


def has_fec(packet: bytes) -> bool:
    """Whether a packet carries the frame before it, too."""
    return bool(packet) and _loaded().opus_packet_has_lbrr(packet, ctypes.c_int32(len(packet))) > 0


def decode(
    packets: list[bytes],
    erased: NDArray[np.bool_],
    *,
    ahead: NDArray[np.bool_] | None = None,
    conceal: bool = True,
    silent: NDArray[np.bool_] | None = None,
) -> NDArray[np.int16]:
    """Decode speech, repairing and concealing what is missing.

    Parameters
    ----------
    packets : list of bytes
        As `encode` returns them.
    erased : ndarray of bool, shape (n,)
        Frames that were not there when it was their turn.
    ahead : ndarray of bool, shape (n,), optional
        Where the packet after a frame had come when it was that frame's turn: only there FEC can repair. By
        default nowhere.
    conceal : bool
        Conceal what FEC does not repair; else silence is played.
    silent : ndarray of bool, shape (n,), optional
        Frames of pauses that were not sent (DTX): the decoder fills them, as it does where it conceals. By
        default none.

    Returns
    -------
    ndarray of int16, shape (320 n,)
        Speech aligned with what was coded (the encoder's look-ahead taken off).

    Raises
    ------
    RuntimeError
        If the library is missing or cannot decode.
    ValueError
        If the lengths do not agree.
    """
    if len(packets) != erased.size:
        raise ValueError(f"{len(packets)} packets and {erased.size} frames do not agree: expected as many")
    library = _loaded()
    error = ctypes.c_int()
    decoder = ctypes.c_void_p(library.opus_decoder_create(RATE_HZ, 1, ctypes.byref(error)))
    if error.value or not decoder.value:
        raise RuntimeError(f"libopus makes no decoder for 16 kHz mono: error {error.value}")
    out = np.zeros((len(packets) + 1, FRAME), dtype=np.int16)

    def play(row: NDArray[np.int16], packet: bytes | None, fec: int) -> None:
        size = ctypes.c_int32(len(packet) if packet else 0)
        done = library.opus_decode(decoder, packet, size, ctypes.c_void_p(row.ctypes.data), FRAME, fec)
        if done != FRAME:
            raise RuntimeError(f"libopus does not decode a frame: {done}")

    try:
        unsent = np.zeros(erased.size, dtype=bool) if silent is None else silent
        for i, gone in enumerate(erased.tolist()):
            if not gone:
                play(out[i], None if unsent[i] else packets[i], 0)
                continue
            repaired = (
                ahead is not None
                and i + 1 < erased.size
                and bool(ahead[i])
                and not unsent[i + 1]
                and has_fec(packets[i + 1])
            )
            if repaired:
                play(out[i], packets[i + 1], 1)
            elif conceal:
                play(out[i], None, 0)
        look = ctypes.c_int32(0)
        encoder = ctypes.c_void_p(library.opus_encoder_create(RATE_HZ, 1, _VOIP, ctypes.byref(error)))
        library.opus_encoder_ctl(encoder, ctypes.c_int(_GET_LOOKAHEAD), ctypes.byref(look))
        library.opus_encoder_destroy(encoder)
        return out.reshape(-1)[look.value :][: len(packets) * FRAME]
    finally:
        library.opus_decoder_destroy(decoder)
