"""The call of a result that sounded worst, made again from what the result says of it.

The result names the sample, the missing packets, the codec and how losses were concealed; with the same
recordings the same sound is made. What cannot be made again is said in one sentence, never guessed.
"""

from collections.abc import Mapping
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media import g711, recordings, speech
from sojourn.qoe.media.speech import MissingSpeech
from sojourn.qoe.runs import unpacked
from sojourn.qoe.spoken import LIBRARIES, WIDE, heard, method

PACKETS_A_SECOND = 50


def rate_hz(about: Mapping[str, Any]) -> int:
    """Return the samples a second of an entry of `voice.worst`: 8000, or 16 000 of a wide-band codec."""
    return recordings.WIDE_HZ if about.get("codec") in WIDE else recordings.RATE_HZ


def again(about: Mapping[str, Any]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return what was said and what was heard, from an entry of `voice.worst`.

    Returns
    -------
    ndarray of int16, shape (n × packets,), twice
        Mono, of :func:`rate_hz`; n is 160 or 320.

    Raises
    ------
    MissingSpeech
        The recordings, or the codec, are missing or are not those that the call was scored with.
    """
    sound = speech.samples(about.get("recordings"), rate_hz(about))
    if sound.digest != about["digest"]:
        raise MissingSpeech("the recordings here are not those that the calls were scored with")
    if (library := LIBRARIES.get(about["codec"])) is not None and not library.available():
        raise MissingSpeech(library.MISSING)
    packets, settings = about["packets"], about.get("opus", {"told": 0})
    told = {"erased": "missing", "ahead": "repairable", "silent": "silent"}
    piece = {name: unpacked(about.get(key, ()), packets) for name, key in told.items()}
    piece["carried"] = (about["from"] + np.arange(packets)) % sound.talk[about["sample"]].size
    coded = {**about, "opus": {**settings, "dtx": "silent" in about}}
    return heard(sound, about["sample"], piece, method(coded, settings["told"] / 100))


def worst_part(about: Mapping[str, Any], seconds: float) -> slice:
    """Return the samples of the first stretch of at most so many seconds that has most missing packets."""
    packets = about["packets"]
    long = min(packets, int(seconds * PACKETS_A_SECOND))
    gone = np.concatenate(([0], np.cumsum(unpacked(about["missing"], packets))))
    first = int(np.argmax(gone[long:] - gone[: packets - long + 1]))
    frame = rate_hz(about) // PACKETS_A_SECOND
    return slice(first * frame, (first + long) * frame)


def wav(signal: NDArray[np.int16], rate: int = g711.RATE_HZ) -> bytes:
    """Return speech as a WAV file of A-law: mono, one byte a sample, as telephones have it."""
    codes = g711.encode(np.ascontiguousarray(signal, dtype=np.int16)).tobytes()
    # WAVE_FORMAT_ALAW is 6; formats other than PCM have the size of an extension and a `fact`.
    head = pack("<HHIIHHH", 6, 1, rate, rate, 1, 8, 0)
    chunks = ((b"fmt ", head), (b"fact", pack("<I", len(codes))), (b"data", codes + bytes(len(codes) % 2)))
    sizes = {b"data": len(codes)}
    body = b"WAVE" + b"".join(name + pack("<I", sizes.get(name, len(part))) + part for name, part in chunks)
    return b"RIFF" + pack("<I", len(body)) + body
