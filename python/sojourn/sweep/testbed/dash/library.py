"""Players of the web, of one version each, fetched once by npm and kept; they are not part of sojourn."""

import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sojourn.errors import SojournError
from sojourn.qoe.media.cache import alone, cache_directory, sha256

_LIMIT_S = 300


@dataclass(frozen=True)
class Library:
    """A player's library: its name, its package of npm, the file that a page needs of it, and its SHA-256."""

    name: str
    package: str
    version: str
    file: str
    sha256: str

    def missing(self) -> str | None:
        """Say why it cannot be had; None if it can, or perhaps can be fetched."""
        if not self._kept.is_file() and shutil.which("npm") is None:
            return f"{self.name} {self.version} is fetched by npm, which is not installed"
        return None

    def script(self) -> Path:
        """Return its file, which is fetched if it was not before.

        Raises
        ------
        SojournError
            It cannot be fetched, or what was fetched is not what is known.
        """
        kept, who = self._kept, f"{self.name} {self.version}"
        if kept.is_file():
            return kept
        kept.parent.mkdir(parents=True, exist_ok=True)
        with alone(kept.parent / ".lock"), tempfile.TemporaryDirectory(dir=kept.parent) as made:
            if kept.is_file():
                return kept
            words = ["npm", "pack", "--silent", f"{self.package}@{self.version}"]
            try:
                subprocess.run(words, cwd=made, check=True, capture_output=True, timeout=_LIMIT_S)
                with tarfile.open(next(Path(made).glob("*.tgz"))) as archive:
                    held = archive.extractfile(f"package/{self.file}")
                    text = held.read() if held else b""
            except (OSError, subprocess.SubprocessError, StopIteration, tarfile.TarError, KeyError) as error:
                raise SojournError(f"{who} cannot be fetched by npm ({error})") from None
            taken = Path(made) / kept.name
            taken.write_bytes(text)
            if sha256(taken) != self.sha256:
                raise SojournError(f"{who} as fetched is not the file that is known; it was not kept")
            taken.replace(kept)
        return kept

    @property
    def _kept(self) -> Path:
        return cache_directory() / f"{self.package}-{self.version}" / Path(self.file).name


DASH_JS = Library(
    "dash.js",
    "dashjs",
    "5.2.1",
    "dist/modern/umd/dash.all.min.js",
    "3a22b1f4576ab294f41e56f156cec7972a5f83edda379416778293ff22d2eb49",
)
HLS_JS = Library(
    "hls.js",
    "hls.js",
    "1.7.4",
    "dist/hls.min.js",
    "cfc70cc9e9fc63d071919e087670abc760c8fd1bc889b88588026e4d22193bbe",
)
SHAKA = Library(
    "Shaka Player",
    "shaka-player",
    "5.2.12",
    "dist/shaka-player.compiled.js",
    "b22dfdba631104c48a654cb623b08b0f79e2d52c83c0e9b4b7cff54730b55894",
)
