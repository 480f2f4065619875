"""The speech of a call: which frames of a sample it sends, how they are coded, and how they score as heard.

With discontinuous transmission (DTX) a call by Opus sends no pauses: libopus says of each frame whether it
is more than the mark of a pause, and libwebrtc (`opus_interface.cc`) sends those that are, about one in 400
ms while a pause lasts, and the first mark of each pause, by which the decoder goes over to comfort noise.
What is sent is decided before the call, by an encoder that is told of no loss.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.qoe import pesq
from sojourn.qoe.media import concealment, g722, g729, opus, speech
from sojourn.qoe.media.speech import Speech
from sojourn.qoe.score_cache import Key, Score
from sojourn.study.units import bits_per_second, nanoseconds

FRAME_NS = 20_000_000
LIBRARIES = {"g729a": g729, "opus": opus, "g722": g722}
WIDE = ("opus", "g722")
_HEADERS = 40
"""Of RTP, UDP and IP."""


class ScoreCache(Protocol):
    """Scores of sound already heard; a dict is one."""

    def get(self, key: Key, /) -> Score | None: ...

    def __setitem__(self, key: Key, score: Score, /) -> None: ...


def pauses(user: Mapping[str, Any]) -> bool:
    """Whether a voice user's calls leave out their pauses."""
    return user["codec"] == "opus" and bool(user["opus"].get("dtx"))


def frames(user: Mapping[str, Any]) -> int:
    """Return the frames of a call, those of pauses counted."""
    return max(1, nanoseconds(user["call"]) // FRAME_NS)


def schedules(user: Mapping[str, Any]) -> list[tuple[NDArray[np.uint64], NDArray[np.uint16]]]:
    """Return what a call with DTX sends of each sample: times in ns from its beginning, and bytes at IP.

    Raises
    ------
    MissingSpeech
        The speech is missing.
    RuntimeError
        libopus is missing.
    """
    settings = user["opus"]
    return _schedules(
        user.get("recordings"), frames(user), bits_per_second(settings["bitrate"]), settings["fec"]
    )


@lru_cache(maxsize=8)
def _schedules(
    recordings: str | None, count: int, rate_bps: int, fec: bool
) -> list[tuple[NDArray[np.uint64], NDArray[np.uint16]]]:
    sound = speech.samples(recordings, opus.RATE_HZ)
    made = []
    for signal, talk in zip(sound.signals, sound.talk, strict=True):
        carried, pieces = _core.carried(count, talk)
        sizes: list[int] = []
        for a, b in pieces:
            said = signal.reshape(-1, opus.FRAME)[carried[a:b]].reshape(-1)
            packets = opus.sent(opus.encode(said, rate_bps, fec=fec, dtx=True))
            sizes += [len(packet or b"") for packet in packets]
        places = np.flatnonzero(sizes)
        made.append(
            ((places * FRAME_NS).astype(np.uint64), (np.array(sizes)[places] + _HEADERS).astype(np.uint16))
        )
    return made


def method(user: Mapping[str, Any], lost: float) -> tuple[str, ...]:
    """Say how sound is coded and what is missing of it made good, in words that name it in the cache.

    `lost` is the share of the packets that the network lost.
    """
    codec, conceal = user["codec"], user["concealment"]
    if codec != "opus":
        return (conceal,) if codec == "g711a" else (codec,)
    settings = user["opus"]
    # libwebrtc tells the encoder what the receiver reports, at most 20 %.
    told = min(round(100.0 * lost), 20)
    how = (codec, settings["bitrate"], str(told), "fec" if settings["fec"] else "", conceal)
    return (*how, "dtx") if pauses(user) else how


def whole(sound: Speech, sample: int) -> dict[str, NDArray[Any]]:
    """Return a sample of which every frame is there, as a piece to listen to."""
    count = sound.talk[sample].size
    none = np.zeros(count, dtype=bool)
    return {"carried": np.arange(count), "erased": none, "ahead": none, "silent": none}


def listen(
    sound: Speech, sample: int, piece: Mapping[str, Any], how: Sequence[str], cache: ScoreCache
) -> tuple[float, bool]:
    """PESQ of one piece of a call, remembered by what was erased and, with FEC, what could be repaired.

    Parameters
    ----------
    sound, sample
        The speech.
    piece
        Columns of one value a frame: `carried`, the frames of the sample; `erased`, those that were sent and
        not there in time; `ahead`, those whose successor was; `silent`, those that were not sent.
    how
        See :func:`method`.
    cache
        Scores of sound already heard.
    """
    carried, erased, ahead, silent = (piece[name] for name in ("carried", "erased", "ahead", "silent"))
    repairs = np.packbits(erased & ahead).tobytes() if "fec" in how else b""
    pattern = np.packbits(erased).tobytes() + repairs if erased.any() else b""
    pattern += np.packbits(silent).tobytes() if silent.any() else b""
    key = (sound.digest, sample, int(carried[0]), carried.size, " ".join(how), pattern)
    if (known := cache.get(key)) is not None:
        return known
    score = pesq.mos_lqo(*heard(sound, sample, piece, how), sound.rate_hz)
    cache[key] = score
    return score


def heard(
    sound: Speech, sample: int, piece: Mapping[str, Any], how: Sequence[str]
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return a piece of a call as it was said and as it is heard; for the parameters see :func:`listen`."""
    carried, erased = piece["carried"], piece["erased"]
    said = sound.signals[sample].reshape(-1, sound.rate_hz // 50)[carried].reshape(-1)
    if how[0] == "g729a":
        halves = said.size // g729.FRAME // erased.size
        return said, g729.decode(g729.encode(said), np.repeat(erased, halves))
    if how[0] == "g722":
        return said, g722.decode(g722.encode(said), erased)
    if how[0] != "opus":
        return said, concealment.conceal(sound.coded[sample][carried], erased, how[0])
    _, rate, told, fec, conceal, *dtx = how
    packets = opus.encode(said, bits_per_second(rate), loss_pct=int(told), fec=bool(fec), dtx=bool(dtx))
    ahead = piece["ahead"] if fec else None
    received = opus.decode(packets, erased, ahead=ahead, conceal=conceal != "zero", silent=piece["silent"])
    return said[: received.size], received
