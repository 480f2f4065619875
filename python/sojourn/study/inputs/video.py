"""Which clips are shown to video users: settled before anything runs, as part of what a point is.

A user whose study names no clips is shown the three built-in ones where they can be had, and synthetic
pictures elsewhere. What decides the packets of a clip (its content, the coding, the libraries) enters the
hash of the point; the packets themselves are made when they are needed, once for all processes.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sojourn.errors import SojournError
from sojourn.study.units import nanoseconds

Needs = tuple[str, Any]
"""A clip's name and its coding."""


def settle(document: dict[str, Any]) -> str | None:
    """Name the clips of every video user, and check that they can be had.

    Parameters
    ----------
    document
        The scenario, changed in place.

    Returns
    -------
    str or None
        Why synthetic pictures have to do, if they have.

    Raises
    ------
    SojournError
        In one sentence, what is missing.
    """
    note = None
    for user in _users(document):
        from sojourn.qoe.media.video import clips

        if not user.get("clips"):
            why = next((why for name in clips.DEFAULT if (why := missing(name))), None)
            user["clips"] = list(clips.DEFAULT) if why is None else [clips.SYNTHETIC]
            if why is not None:
                note = f"video shows synthetic pictures, whose scores are not those of real clips: {why}"
        for name in user["clips"]:
            if (why := missing(name)) is not None:
                raise SojournError(why)
        if user.get("vmaf"):
            _vmaf()
    return note


@lru_cache
def _vmaf() -> str:
    """Name what measures VMAF."""
    from sojourn.qoe.media.video import MissingVideo, vmaf

    try:
        return f"{vmaf.MODEL} of FFmpeg {vmaf.program()[1]}"
    except MissingVideo as error:
        raise SojournError(str(error)) from None


@lru_cache
def missing(name: str) -> str | None:
    """Say why a clip cannot be had, or None if it can; built-in ones are fetched first."""
    from sojourn.qoe.media.video import MissingVideo, clips, library

    try:
        library()
    except MissingVideo as error:
        raise SojournError(str(error)) from None
    try:
        clips.check(name)
    except MissingVideo as error:
        return str(error)
    return None


def needs(document: Mapping[str, Any]) -> list[Needs]:
    """Return the clips that a settled scenario shows, each with its coding."""
    return [need for user in _users(document) for need in _of(user)]


def _of(user: Mapping[str, Any]) -> list[Needs]:
    from sojourn.qoe import video

    how = video.coding(user["resolution"], user["profile"])
    return [(name, how) for name in user["clips"]]


@lru_cache
def _key(name: str, how: Any) -> str:
    from sojourn.qoe.media.video import coding

    return coding.key(name, how)


def identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of the encodings that a settled scenario shows, and of what measures their VMAF."""
    made = [_key(*need) for need in needs(document)]
    if any(user.get("vmaf") for user in _users(document)):
        made.append(_vmaf())
    return {"clips": made} if made else {}


def unmade(documents: Iterable[Mapping[str, Any]]) -> list[Needs]:
    """Return the encodings that scenarios need and that are not kept yet."""
    from sojourn.qoe.media.cache import cache_directory

    wanted = dict.fromkeys(need for document in documents for need in needs(document))
    kept = {path.name for path in cache_directory().glob("video-*/*")}
    return [need for need in wanted if _key(*need) not in kept]


def encode(name: str, how: Any) -> str | None:
    """Make one encoding; this is what workers do. Return what went wrong, if anything did."""
    from sojourn.qoe.media.video import MissingVideo, coding

    try:
        coding.encoded(name, how)
    except MissingVideo as error:
        return str(error)
    return None


def packets(document: Mapping[str, Any]) -> dict[int, list[tuple[Any, Any]]]:
    """Return what `_core.run` sends: for each video user's place, its clips' send times and sizes."""
    from sojourn.qoe.media.video import coding

    sent = {}
    for place, user in enumerate(document.get("users") or ()):
        if user.get("kind") == "video":
            smoothing_ns = nanoseconds(user["smoothing"])
            made = [coding.encoded(*need) for need in _of(user)]
            sent[place] = [(clip.schedule(smoothing_ns), clip.sizes) for clip in made]
    return sent


def arrived(worst: Mapping[str, Any]) -> bytes:
    """Return the transport stream that a result's worst showing left, which any player shows."""
    from sojourn.qoe.media.video import MissingVideo
    from sojourn.qoe.worst import again

    try:
        return again(worst).ts
    except MissingVideo as error:
        raise SojournError(str(error)) from None


def _users(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [user for user in document.get("users") or () if user.get("kind") == "video"]
