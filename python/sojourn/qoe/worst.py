"""The worst showing of a result, made again from what the result says of it: which packets were missing.

The result names clip, picture size and profile; with the same libraries the same stream is encoded, and
what is left of it can be kept as a file that any player shows, or decoded for pictures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.video import MissingVideo, clips, decoding, stream
from sojourn.qoe.media.video.coding import Encoded, encoded
from sojourn.qoe.runs import unpacked
from sojourn.qoe.video import PROFILES, coding


@dataclass(frozen=True)
class Worst:
    """A damaged showing.

    Attributes
    ----------
    clip : Encoded
    profile : str
    missing : ndarray of bool, shape (packets,)
    """

    clip: Encoded
    profile: str
    missing: NDArray[np.bool_]

    @property
    def ts(self) -> bytes:
        """The transport stream that arrived: playable."""
        return stream.without(self.clip.ts, self.missing)

    def pictures(self, wanted: list[int]) -> list[tuple[Any, Any]]:
        """Pairs of original and shown picture in the order wanted: RGB, shape (height, width, 3).

        A shown picture is what is on the screen at the original's time; None before there is any.
        """
        profile = PROFILES[self.profile]
        how = self.clip.coding
        originals: dict[int, Any] = {}
        source = clips.pictures(self.clip.clip, how.width, how.height, max(wanted) + 1)
        for number, frame in enumerate(source):
            if number in wanted:
                originals[number] = frame.to_ndarray(format="rgb24")
        gone = stream.intact(self.clip.ts, self.missing) if profile.discard else self.missing
        left = stream.without(self.clip.ts, gone)
        shown: dict[int, Any] = {}
        before: Any = None
        for frame in decoding.frames(left, how.width, how.height, profile.conceal):
            at = self.clip.at(frame.pts)
            for number in wanted:
                if number < at and number not in shown:
                    shown[number] = before
            before = frame
            if len(shown) == len(wanted):
                break
        rgb = {number: frame and frame.to_ndarray(format="rgb24") for number, frame in shown.items()}
        last = before and before.to_ndarray(format="rgb24")
        return [(originals[number], rgb.get(number, last)) for number in wanted]


def again(about: Mapping[str, Any]) -> Worst:
    """Return the worst showing of a result, from the entry `video.worst` of it.

    Raises
    ------
    MissingVideo
        If the clip or the codec is missing, or the encoding is not the one that the result was scored with.
    """
    clip = encoded(about["clip"], coding(about["resolution"], about["profile"]))
    if clip.key != about["encoding"]:
        raise MissingVideo(
            f"the clip {about['clip']} is encoded with other libraries here than when the result was made"
        )
    return Worst(clip, about["profile"], unpacked(about["missing"], len(clip.sizes)))
