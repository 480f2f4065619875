"""VMAF of shown pictures against those they should be: libvmaf in the FFmpeg that imageio-ffmpeg brings.

PyAV's build is without libvmaf, so a program of its own is fed the pictures, reference above and shown one
below in one tall picture, through a pipe. Model vmaf_v0.6.1, which looks at luma only (Netflix, 2018); chroma
is grey. Motion is that from each picture of the reference to the next whichever are scored, so that what is
scored of every fifth picture is the same numbers as of all of them at a quarter of the time.

The same numbers came out with one thread and with several; one is used. Between the FFmpeg of imageio-ffmpeg
0.6 and 0.8 they differ by 0.001.
"""

import contextlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media.video import MissingVideo

MODEL = "vmaf_v0.6.1"
_GREY = 128


@lru_cache
def program() -> tuple[str, str]:
    """Path of an FFmpeg with libvmaf, and its version.

    Raises
    ------
    MissingVideo
        If there is none.
    """
    try:
        import imageio_ffmpeg
    except ImportError:
        raise MissingVideo(
            "vmaf = true needs imageio-ffmpeg, which is not installed: pip install 'sojourn[vmaf]'"
        ) from None
    try:
        path = imageio_ffmpeg.get_ffmpeg_exe()
        filters = _said(path, "-filters")
        version = re.match(r"ffmpeg version (\S+)", _said(path, "-version"))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise MissingVideo(f"vmaf = true needs an FFmpeg that runs, and this one does not: {error}") from None
    if not re.search(r"\blibvmaf\b", filters):
        raise MissingVideo(
            f"vmaf = true needs an FFmpeg with libvmaf, and {path} is without: "
            "expected the one that imageio-ffmpeg brings"
        )
    return path, version[1] if version else "unknown"


def _said(path: str, about: str) -> str:
    asked = [path, "-hide_banner", "-nostdin", "-loglevel", "error", about]
    done = subprocess.run(asked, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=True)
    return done.stdout.decode(errors="replace")


def measure(
    pairs: Iterable[tuple[NDArray[np.uint8], NDArray[np.uint8]]],
    width: int,
    height: int,
    fps: int,
    every: int,
) -> NDArray[np.float64]:
    """VMAF of pictures 0, every, 2·every, ….

    Parameters
    ----------
    pairs : iterable of two ndarray of uint8, shape (height, width)
        Luma of all pictures in order: as it should be, and as shown.
    width, height, fps, every : int

    Returns
    -------
    ndarray of float, shape (ceil(pairs / every),), from 0 to 100

    Raises
    ------
    MissingVideo
        If there is no FFmpeg with libvmaf, or it fails.
    """
    path, _ = program()
    filters = (
        f"[0:v]split[a][b];[a]crop={width}:{height}:0:0[reference];[b]crop={width}:{height}:0:{height}[shown];"
        f"[shown][reference]libvmaf=model=version={MODEL}:n_threads=1:n_subsample={every}"
        ":log_fmt=json:log_path=scores.json"
    )
    quiet = "-hide_banner -loglevel error -threads 1 -filter_complex_threads 1"
    source = f"-f rawvideo -pix_fmt yuv420p -s {width}x{2 * height} -r {fps} -i -"
    command = [path, *quiet.split(), *source.split(), "-filter_complex", filters, "-f", "null", "-"]
    grey = bytes([_GREY]) * (width * height)
    count = 0
    with tempfile.TemporaryDirectory(prefix="sojourn-vmaf-") as scratch, tempfile.TemporaryFile() as said:
        running = subprocess.Popen(
            command, cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said
        )
        assert running.stdin is not None
        try:
            for pair in pairs:
                for picture in pair:
                    running.stdin.write(np.ascontiguousarray(picture).data)
                running.stdin.write(grey)
                count += 1
        except BrokenPipeError:
            pass  # it says why
        except BaseException:
            running.kill()
            raise
        finally:
            with contextlib.suppress(BrokenPipeError):
                running.stdin.close()
            code = running.wait()
        scores = Path(scratch) / "scores.json"
        if code != 0 or (count and not scores.is_file()):
            said.seek(0)
            last = (said.read().decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise MissingVideo(f"VMAF could not be measured: FFmpeg failed ({last})")
        frames = json.loads(scores.read_text(encoding="utf-8"))["frames"] if count else []
    found = np.array([frame["metrics"]["vmaf"] for frame in frames if frame["frameNum"] % every == 0])
    if len(found) != -(-count // every):
        raise MissingVideo(
            f"VMAF could not be measured: {len(found)} scores for {count} pictures, each {every}th"
        )
    return found
