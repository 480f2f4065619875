"""dash.js of one version, fetched once by npm and kept; it is not part of sojourn."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from sojourn.errors import SojournError
from sojourn.qoe.media.cache import alone, cache_directory, sha256

__all__ = ["VERSION", "dash_js", "missing"]

VERSION = "5.2.1"
_FILE = "package/dist/modern/umd/dash.all.min.js"
_SHA256 = "3a22b1f4576ab294f41e56f156cec7972a5f83edda379416778293ff22d2eb49"
_LIMIT_S = 300


def missing() -> str | None:
    """Say why dash.js cannot be had; None if it can, or perhaps can be fetched."""
    if not _kept().is_file() and shutil.which("npm") is None:
        return f"dash.js {VERSION} is fetched by npm, which is not installed"
    return None


def dash_js() -> Path:
    """Return the file of dash.js, which is fetched if it was not before.

    Raises
    ------
    SojournError
        It cannot be fetched, or what was fetched is not what is known.
    """
    kept = _kept()
    if kept.is_file():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with alone(kept.parent / ".lock"), tempfile.TemporaryDirectory(dir=kept.parent) as made:
        if kept.is_file():
            return kept
        words = ["npm", "pack", "--silent", f"dashjs@{VERSION}"]
        try:
            subprocess.run(words, cwd=made, check=True, capture_output=True, timeout=_LIMIT_S)
            with tarfile.open(next(Path(made).glob("*.tgz"))) as archive:
                held = archive.extractfile(_FILE)
                text = held.read() if held else b""
        except (OSError, subprocess.SubprocessError, StopIteration, tarfile.TarError, KeyError) as error:
            raise SojournError(f"dash.js {VERSION} cannot be fetched by npm ({error})") from None
        taken = Path(made) / "dash.js"
        taken.write_bytes(text)
        if sha256(taken) != _SHA256:
            raise SojournError(f"dash.js {VERSION} as fetched is not the file that is known; it was not kept")
        taken.replace(kept)
    return kept


def _kept() -> Path:
    return cache_directory() / f"dashjs-{VERSION}" / "dash.all.min.js"
