"""Encoding a clip once, and keeping it: H.264 in an MPEG-2 transport stream, by libx264 through PyAV.

One thread codes a stream: with PyAV's default of slice threads libx264 silently makes as many slices as there
are threads, whatever it was asked for, and its output depends on their number. The slices of every picture
are counted. libx264 also chooses among algorithms by what the processor has, and its streams then differ
between machines and even between processes, unless it is told not to (`cpu-independent`). Rate control is
libx264's average bit rate with a buffer (VBV) of one second at that rate.

What is kept is named by what decides it: the clip's content, the coding, the versions of the libraries. It is
the same in every process, and shared between them.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.cache import cache_directory, kept
from sojourn.qoe.media.video import MissingVideo, clips, decoding, library, stream

_RECIPE = "video-2"  # to be changed with anything here that changes the streams


@dataclass(frozen=True)
class Coding:
    """How a clip is coded.

    Attributes
    ----------
    width, height, fps, pictures : int
    kbps : int
        Mean and greatest bit rate, kbit/s.
    slices : int
        Of each picture.
    gop : int
        Most pictures from one intra picture to the next.

    Raises
    ------
    MissingVideo
        If a picture is too small for so many slices: each has a row of macroblocks at least.
    """

    width: int
    height: int
    fps: int
    pictures: int
    kbps: int
    slices: int
    gop: int

    def __post_init__(self) -> None:
        if self.width % 2 or self.height % 2 or min(self.width, self.height) < 16:
            raise MissingVideo(
                f"pictures of {self.width}×{self.height} cannot be coded: expected even numbers from 16 up"
            )
        if -(-self.height // 16) < self.slices:
            raise MissingVideo(
                f"pictures of {self.width}×{self.height} are too small for {self.slices} slices of "
                f"16 rows at least: expected {16 * self.slices - 15} rows or more"
            )


class Encoded:
    """A clip as it is sent.

    Attributes
    ----------
    key : str
        Names it: the same key, the same packets.
    clip : str
    coding : Coding
    """

    def __init__(self, directory: Path, clip: str, coding: Coding) -> None:
        self.directory, self.clip, self.coding = directory, clip, coding
        self.key = directory.name

    @cached_property
    def ts(self) -> bytes:
        """The transport stream."""
        return (self.directory / "stream.ts").read_bytes()

    @cached_property
    def about(self) -> dict[str, Any]:
        """What was written beside it: `digest` of the stream, `slices` of each picture, `pts0`."""
        return json.loads((self.directory / "about.json").read_text(encoding="utf-8"))

    @cached_property
    def sizes(self) -> NDArray[np.uint16]:
        """Bytes at IP of each RTP packet: shape (n,)."""
        return stream.cut(self.ts)

    @cached_property
    def pictures(self) -> NDArray[np.int64]:
        """Picture, in coding order, that ends each RTP packet: shape (n,)."""
        return stream.pictures_of(self.ts)

    def schedule(self, smoothing_ns: int) -> NDArray[np.uint64]:
        """Send times in nanoseconds of each RTP packet: shape (n,); see `stream.schedule`."""
        return stream.schedule(self.pictures, self.coding.fps, smoothing_ns)

    def played(self, lost: NDArray[np.bool_], conceal: bool) -> Any:
        """Iterate over what a decoder makes of the packets that are left; see `decoding.decode`."""
        left = self.ts if not lost.any() else stream.without(self.ts, lost)
        return decoding.decode(left, self.coding.width, self.coding.height, conceal)

    def at(self, pts: int) -> int:
        """Number of the picture, in order of showing, with this time stamp."""
        return round((pts - self.about["pts0"]) * self.coding.fps / 90_000)

    def reference(self, kind: str, every: int) -> NDArray[np.uint8]:
        """Luma of every so many pictures: shape (ceil(pictures / every), height, width), mapped from disk.

        Parameters
        ----------
        kind : "original", "decoded"
            Before coding, or after coding and decoding without loss.
        every : int
        """
        ready = kept(self.directory / f"{kind}-{every}.npy", lambda made: self._keep(made, kind, every))
        return np.load(ready, mmap_mode="r")

    def pictures_of(self, kind: str) -> Iterator[NDArray[np.uint8]]:
        """Iterate over the luma of all pictures of a reference; see `reference`."""
        c = self.coding
        if kind == "original":
            return (
                decoding.luma(frame) for frame in clips.pictures(self.clip, c.width, c.height, c.pictures)
            )
        return (picture for _, picture in self.played(np.zeros(len(self.sizes), bool), True))

    def _keep(self, made: Path, kind: str, every: int) -> None:
        c = self.coding
        count = 0
        out = np.empty((-(-c.pictures // every), c.height, c.width), dtype=np.uint8)
        for count, picture in enumerate(self.pictures_of(kind), 1):
            if (count - 1) % every == 0:
                out[(count - 1) // every] = picture
        if count != c.pictures:
            raise MissingVideo(f"{self.clip}: {count} pictures where {c.pictures} were expected")
        with made.open("wb") as file:
            np.save(file, out)


def key(clip: str, coding: Coding) -> str:
    """The name of a clip's encoding, which need not be made for it."""
    av = library()
    made_of = {
        "recipe": _RECIPE,
        "clip": clips.digest(clip),
        "coding": asdict(coding),
        "av": av.__version__,
        "libraries": {name: list(version) for name, version in sorted(av.library_versions.items())},
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:24]


@lru_cache(maxsize=64)
def encoded(clip: str, coding: Coding, tell: Callable[[str], None] | None = None) -> Encoded:
    """A clip's encoding, made on first use (a second or so for each second of SD).

    Parameters
    ----------
    clip : str
        See `clips.file`.
    coding : Coding
    tell : callable, optional
        Told what is being encoded, if it is.

    Raises
    ------
    MissingVideo
        In one sentence, what is missing.
    """
    ready = cache_directory() / _RECIPE / key(clip, coding)

    def make(made: Path) -> None:
        if tell is not None:
            tell(f"encoding {clip}, {coding.width}×{coding.height}, {coding.kbps} kbit/s")
        _encode(clip, coding, made)

    try:
        kept(ready, make)
    except OSError as error:
        raise MissingVideo(f"encoded video cannot be kept in {ready.parent}: {error}") from error
    return Encoded(ready, clip, coding)


def _parameters(c: Coding) -> str:
    return f"slices={c.slices}:keyint={c.gop}:vbv-maxrate={c.kbps}:vbv-bufsize={c.kbps}:cpu-independent=1"


def _encode(clip: str, c: Coding, made: Path) -> None:
    av = library()
    made.mkdir()
    out = io.BytesIO()
    slices: list[int] = []
    with av.open(out, "w", format="mpegts") as container:
        options = {"preset": "medium", "x264-params": _parameters(c)}
        coder = container.add_stream("libx264", rate=c.fps, options=options)
        coder.width, coder.height, coder.pix_fmt = c.width, c.height, "yuv420p"
        coder.bit_rate = 1000 * c.kbps
        coder.thread_count, coder.thread_type = 1, "NONE"

        def send(packets: Any) -> None:
            for packet in packets:
                slices.append(stream.slices(bytes(packet)))
                container.mux(packet)

        for number, frame in enumerate(clips.pictures(clip, c.width, c.height, c.pictures)):
            frame.pts, frame.time_base = number, Fraction(1, c.fps)
            frame.pict_type = 0  # the encoder decides
            send(coder.encode(frame))
        send(coder.encode(None))
    if slices != [c.slices] * c.pictures:
        raise MissingVideo(
            f"{clip}: the encoder made {len(slices)} pictures of {min(slices)} to {max(slices)} slices; "
            f"expected {c.pictures} of {c.slices}"
        )
    ts = out.getvalue()
    pts0 = next(pts for pts, _ in decoding.decode(ts, c.width, c.height, True))
    about = {
        "clip": clip,
        "shows": clips.shows(clip),
        "coding": asdict(c),
        "digest": hashlib.sha256(ts).hexdigest(),
        "pts0": pts0,
        "slices": c.slices,
        "kbps": round(8 * len(ts) * c.fps / c.pictures / 1000, 1),
        "av": av.__version__,
    }
    (made / "stream.ts").write_bytes(ts)
    (made / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
