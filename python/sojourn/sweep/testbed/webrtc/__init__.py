"""A page that holds a video call by the browser's own WebRTC, and what its camera sees."""

from pathlib import Path

from sojourn.errors import SojournError

CLIP = "interview"
"""What the camera sees: the clip that SSIM of simulated calls was measured with."""

PAGE = Path(__file__).with_name("call.html")

_PICTURES = 30


def camera(height: int, fps: float) -> bytes:
    """Return what a camera sees as a file that Chromium takes for one, YUV4MPEG2.

    The clip goes to and fro, so that there is no cut where the browser begins the file again.

    Raises
    ------
    SojournError
        The clip cannot be had.
    """
    from sojourn.qoe.media.video import MissingVideo
    from sojourn.qoe.media.video.clips import pictures

    width = width_of(height)
    try:
        seen = [bytes(picture.to_ndarray()) for picture in pictures(CLIP, width, height, _PICTURES)]
    except MissingVideo as error:
        raise SojournError(f"the camera of a call shows the clip {CLIP}: {error}") from None
    rate = f"{round(fps * 1000)}:1000"
    head = f"YUV4MPEG2 W{width} H{height} F{rate} Ip A1:1 C420jpeg\n".encode()
    return head + b"".join(b"FRAME\n" + picture for picture in [*seen, *seen[-2:0:-1]])


def width_of(height: int) -> int:
    """Return the width of a camera's pictures, 16:9."""
    return round(height * 16 / 9 / 2) * 2
