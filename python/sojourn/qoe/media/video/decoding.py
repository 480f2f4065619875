"""Playing a damaged transport stream: FFmpeg's demultiplexer and H.264 decoder, through PyAV.

One thread, and no other threading, is the only way that is both concealing and reproducible: slice threads
switch error concealment off without a word, and frame threads give other pictures from run to run.
Errors of demultiplexer and decoder never end the playing: what can be decoded afterwards is shown.

With concealment, lost slices are guessed from motion in the pictures before; without it, the decoder shows
what its recycled picture buffer held, which is repeatable (buffers start as zeros) but an artefact.
"""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.video import library


def decode(ts: bytes, width: int, height: int, conceal: bool) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Iterate over the pictures in the order in which they come out.

    Yields
    ------
    pts : int
        Time stamp in units of 1/90000 s.
    luma : ndarray of uint8, shape (height, width)
        A view, which stays valid.
    """
    for frame in frames(ts, width, height, conceal):
        yield frame.pts, luma(frame)


def frames(ts: bytes, width: int, height: int, conceal: bool) -> Iterator[Any]:
    """Iterate over the decoded frames (`av.VideoFrame`) of this size that have a time stamp."""
    av = library()
    try:
        container = av.open(io.BytesIO(ts), format="mpegts")
    except av.FFmpegError:
        return  # so little is left that it is no stream
    with container:
        if not container.streams.video:
            return
        video = container.streams.video[0]
        coder = video.codec_context
        coder.thread_count, coder.thread_type = 1, "NONE"
        if not conceal:
            coder.options = {"ec": "0"}
        packets = container.demux(video)
        while True:
            try:
                packet = next(packets, None)
            except av.FFmpegError:
                continue
            if packet is None:
                return
            try:
                decoded = packet.decode()
            except av.FFmpegError:
                continue
            for frame in decoded:
                if frame.pts is not None and (frame.width, frame.height) == (width, height):
                    yield frame


def luma(frame: Any) -> NDArray[np.uint8]:
    """The luma plane of a frame, a view of its rows: shape (height, width)."""
    plane = frame.planes[0]
    rows = np.frombuffer(plane, dtype=np.uint8)[: plane.line_size * plane.height]
    return rows.reshape(plane.height, plane.line_size)[:, : plane.width]
