"""Video: clips, their encoding into RTP packets, and what a decoder makes of the packets that arrive.

`clips` fetches pictures, `coding` encodes them with libx264 and keeps the result, `stream` cuts the transport
stream into packets and removes the lost ones, `decoding` plays what is left. All of it needs PyAV.
"""

from typing import Any

__all__ = ["MissingVideo", "library"]


class MissingVideo(RuntimeError):
    """A codec or clip is missing or unfit; the message is one sentence that says what."""


def library() -> Any:
    """Return the module `av`.

    Raises
    ------
    MissingVideo
        If PyAV is not installed or its build cannot code H.264.
    """
    try:
        import av
    except ImportError:
        raise MissingVideo("video needs PyAV, which is not installed: pip install 'sojourn[video]'") from None
    if "libx264" not in av.codecs_available or "h264" not in av.codecs_available:
        raise MissingVideo(
            f"video needs a codec that is missing: this build of PyAV ({av.__version__}) is without libx264 "
            "or the H.264 decoder; expected the wheel that pip installs"
        )
    av.logging.set_level(None)  # what damaged streams make a decoder say is of no use here
    return av
