"""The call of a result that sounded worst, made again from what the result says of it.

The result names the sample, the missing packets, the codec and how losses were concealed; with the same
recordings the same sound is made. What cannot be made again is said in one sentence, never guessed.
"""

from collections.abc import Mapping
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media import concealment, g711, g722, g729, opus, recordings, speech
from sojourn.qoe.media.speech import MissingSpeech
from sojourn.qoe.runs import unpacked
from sojourn.study.units import bits_per_second

PACKETS_A_SECOND = 50
_LIBRARIES = {"g729a": g729, "g722": g722, "opus": opus}
_WIDE = ("opus", "g722")


def rate_hz(about: Mapping[str, Any]) -> int:
    """Return the samples a second of an entry of `voice.worst`: 8000, or 16 000 of a wide-band codec."""
    return recordings.WIDE_HZ if about.get("codec") in _WIDE else recordings.RATE_HZ


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
    if (library := _LIBRARIES.get(about["codec"])) is not None and not library.available():
        raise MissingSpeech(library.MISSING)
    packets = about["packets"]
    erased = unpacked(about["missing"], packets)
    frames = sound.signals[about["sample"]].reshape(-1, rate_hz(about) // PACKETS_A_SECOND)
    content = (about["from"] + np.arange(packets)) % len(frames)
    said = frames[content].reshape(-1)
    if about["codec"] == "g729a":
        heard = g729.decode(g729.encode(said), np.repeat(erased, g711.FRAME // g729.FRAME))
    elif about["codec"] == "g722":
        heard = g722.decode(g722.encode(said), erased)
    elif about["codec"] == "opus":
        settings = about["opus"]
        rate, fec = bits_per_second(settings["bitrate"]), settings["fec"]
        dtx = "silent" in about
        coded = opus.encode(said, rate, loss_pct=settings["told"], fec=fec, dtx=dtx)
        ahead = unpacked(about["repairable"], packets) if fec else None
        silent = unpacked(about["silent"], packets) if dtx else None
        heard = opus.decode(coded, erased, ahead=ahead, conceal=about["concealment"] != "zero", silent=silent)
    else:
        heard = concealment.conceal(sound.coded[about["sample"]][content], erased, about["concealment"])
    return said, heard


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
