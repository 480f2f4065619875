"""Segments of video that a browser plays and that have the sizes of a study's clip.

A segment is one small fragment of fragmented MP4 (ISO/IEC 14496-12), with its own number (`mfhd`) and time
(`tfdt`), filled up to its size with a `free` box, which players skip: what is played costs little, and what
is sent has the bytes of the study.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

CODEC = "avc1.42c00a"
"""H.264, constrained baseline, level 1: what the small picture needs."""

WIDTH, HEIGHT, FPS = 64, 36, 5
_BOX = 8


@dataclass(frozen=True)
class Fragment:
    """What all segments of a duration are made from.

    Attributes
    ----------
    segment_s : float
    data : bytes
        The first segment, not filled up.
    timescale : int
        Ticks a second of `tfdt`.
    """

    segment_s: float
    data: bytes
    timescale: int

    def segment(self, number: int, size: int) -> bytes:
        """Return a segment, counted from 1, of so many bytes; of more if it cannot be as small."""
        made = bytearray(self.data)
        struct.pack_into(">I", made, made.index(b"mfhd") + 8, number)
        at = made.index(b"tfdt") + 4
        ticks = round((number - 1) * self.segment_s * self.timescale)
        struct.pack_into(">Q" if made[at] == 1 else ">I", made, at + 4, ticks)
        if (fill := size - len(made)) >= _BOX:
            made += struct.pack(">I4s", fill, b"free") + bytes(fill - _BOX)
        return bytes(made)


def manifest(segment_s: float, segments: int, rates_kbps: Sequence[float]) -> str:
    """Return the manifest (MPD) of a clip, with segments in `LEVEL/NUMBER`, both from 1."""
    levels = "".join(
        f'<Representation id="{level}" bandwidth="{round(rate * 1000)}" codecs="{CODEC}"'
        f' width="{WIDTH}" height="{HEIGHT}" frameRate="{FPS}"/>'
        for level, rate in enumerate(rates_kbps, start=1)
    )
    return (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT1S"'
        f' mediaPresentationDuration="PT{segment_s * segments:.3f}S"'
        ' profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period>'
        '<AdaptationSet mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">'
        f'<SegmentTemplate duration="{round(segment_s * 1000)}" timescale="1000" startNumber="1"'
        ' initialization="beginning.mp4" media="$RepresentationID$/$Number$"/>'
        f"{levels}</AdaptationSet></Period></MPD>"
    )


def playlist(rates_kbps: Sequence[float]) -> str:
    """Return the multivariant playlist (RFC 8216) of a clip, with media playlists in `LEVEL.m3u8`, from 1."""
    levels = "".join(
        f'#EXT-X-STREAM-INF:BANDWIDTH={round(rate * 1000)},CODECS="{CODEC}",RESOLUTION={WIDTH}x{HEIGHT}\n'
        f"{level}.m3u8\n"
        for level, rate in enumerate(rates_kbps, start=1)
    )
    return f"#EXTM3U\n#EXT-X-VERSION:7\n{levels}"


def media_playlist(segment_s: float, segments: int, level: int) -> str:
    """Return the playlist of one level, with segments in `LEVEL/NUMBER`, both from 1."""
    named = "".join(f"#EXTINF:{segment_s:.3f},\n{level}/{number}\n" for number in range(1, segments + 1))
    return (
        f"#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{math.ceil(segment_s)}\n#EXT-X-PLAYLIST-TYPE:VOD\n"
        f'#EXT-X-MAP:URI="beginning.mp4"\n{named}#EXT-X-ENDLIST\n'
    )
