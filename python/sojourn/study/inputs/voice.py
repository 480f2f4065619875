"""Which model scores voice: settled before anything runs, so that it is part of what a point is.

A user with ``score = "auto"`` is scored by PESQ where the package and the recordings are at hand and by the
E-model elsewhere. The two give different numbers, so a point must not mean one on this machine and the other
on the next: "auto" is replaced by what it comes to, and the hash of the point says which.

Calls by Opus with DTX send what libopus says of the speech: the speech and the library must be at hand,
however the calls are scored, and what they send is part of what a point is.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sojourn.errors import SojournError


def settle(document: dict[str, Any], auto: str | None = None) -> str | None:
    """Replace every "auto" in a scenario's voice users.

    Parameters
    ----------
    document
        The scenario, changed in place.
    auto
        What "auto" comes to; by default what this machine can do, for which recordings may be fetched.

    Returns
    -------
    str or None
        Why the E-model has to do, if it has.

    Raises
    ------
    SojournError
        PESQ is insisted upon, or DTX asked for, and what it takes is missing.
    """
    note = None
    for place, user in _without_pauses(document):
        if (why := _unspoken(user.get("recordings"))) is not None:
            raise SojournError(f"users.{place}.opus.dtx: what is sent depends on the speech: {why}")
    for user in document.get("users") or ():
        if user.get("kind") != "voice" or user.get("score", "auto") == "emodel":
            continue
        insists = user.get("score") == "pesq" or user.get("recordings") is not None
        if auto is not None:
            user["score"] = auto if user.get("score", "auto") == "auto" else user["score"]
        elif (why := missing(user.get("recordings"), user.get("codec", "g711a"))) is None:
            user["score"] = "pesq"
        elif insists:
            raise SojournError(why)
        else:
            user["score"] = "emodel"
            note = f"voice is scored by the E-model, whose numbers are not those of PESQ: {why}"
    return note


@lru_cache
def missing(recordings: str | None, codec: str = "g711a") -> str | None:
    """Say why PESQ cannot score, or None if it can; recordings are fetched if they are not there yet."""
    from sojourn.qoe import pesq
    from sojourn.qoe.media import g722, g729, opus
    from sojourn.qoe.media.recordings import RATE_HZ, WIDE_HZ
    from sojourn.qoe.media.speech import MissingSpeech, samples

    library = {"g729a": g729, "opus": opus, "g722": g722}.get(codec)
    if library is not None and not library.available():
        return library.MISSING
    if not pesq.available():
        return pesq.MISSING
    try:
        samples(recordings, WIDE_HZ if codec in ("opus", "g722") else RATE_HZ)
    except MissingSpeech as error:
        return str(error)
    return None


def identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the digests of the recordings that a settled scenario is scored with, and of what DTX sends."""
    found: dict[str, Any] = {}
    users = [user for user in document.get("users") or () if user.get("score") == "pesq"]
    folders = {user["recordings"] for user in users if user.get("recordings") is not None}
    if folders:
        from sojourn.qoe.media.speech import samples

        found["recordings"] = [samples(folder).digest for folder in sorted(folders)]
    if speech := packets(document):
        hashed = hashlib.sha256()
        for made in speech.values():
            for column in (column for schedule in made for column in schedule):
                hashed.update(column.tobytes() + b"\0")
        found["speech"] = hashed.hexdigest()
    return found


def packets(document: Mapping[str, Any]) -> dict[int, list[tuple[Any, Any]]]:
    """Return what `_core.run` sends for callers with DTX: by place, send times and sizes of each sample."""
    if not (users := list(_without_pauses(document))):
        return {}
    from sojourn.qoe import spoken

    return {place: spoken.schedules(user) for place, user in users}


def _without_pauses(document: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Iterate over the users who do not send their pauses, with their places."""
    for place, user in enumerate(document.get("users") or ()):
        if user.get("kind") == "voice" and (user.get("opus") or {}).get("dtx"):
            yield place, user


@lru_cache
def _unspoken(recordings: str | None) -> str | None:
    """Say why libopus cannot code the speech, or None if it can."""
    from sojourn.qoe.media import opus
    from sojourn.qoe.media.speech import MissingSpeech, samples

    if not opus.available():
        return opus.MISSING
    try:
        samples(recordings, opus.RATE_HZ)
    except MissingSpeech as error:
        return str(error)
    return None
