"""The small segment that all of a clip's segments are made from: grey pictures in fragmented MP4."""

import io
import struct
from collections.abc import Iterator
from fractions import Fraction

from sojourn.sweep.testbed.programs.segments import FPS, HEIGHT, WIDTH

_BOX = 8


def coded(segment_s: float) -> tuple[bytes, bytes, int]:
    """Code a segment of so many seconds.

    Returns
    -------
    beginning, fragment, timescale
        The initialisation segment, the first segment, and the ticks a second of its times.

    Raises
    ------
    ImportError
        PyAV is missing.
    """
    import av
    import numpy as np

    pictures = max(1, round(segment_s * FPS))
    rate = Fraction(pictures) / Fraction(segment_s).limit_denominator(1000)
    written = io.BytesIO()
    flags = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    with av.open(written, "w", format="mp4", options=flags) as container:
        options = {"profile": "baseline", "g": str(pictures), "sc_threshold": "0", "level": "1", "crf": "40"}
        coder = container.add_stream("libx264", rate=rate, options=options)
        coder.width, coder.height, coder.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        grey = np.full((HEIGHT, WIDTH, 3), 128, dtype=np.uint8)
        for _ in range(pictures):
            container.mux(coder.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(coder.encode(None))
    parts = dict.fromkeys((b"ftyp", b"moov", b"moof", b"mdat"), b"")
    for kind, box in _boxes(written.getvalue()):
        if kind in parts:
            parts[kind] += box
    moov = parts[b"moov"]
    at = moov.index(b"mdhd") + 4
    timescale = struct.unpack_from(">I", moov, at + (12 if moov[at] == 0 else 20))[0]
    return parts[b"ftyp"] + moov, parts[b"moof"] + parts[b"mdat"], timescale


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + _BOX <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at : at + size]
        at += max(size, _BOX)
