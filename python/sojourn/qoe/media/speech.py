"""Recorded speech to send through the network: twenty samples of 8 s, or the user's own.

The built-in samples are made from telephone prompts read by four speakers, taken from Debian's packages
of recordings for Asterisk: 10 female (4 en, 3 fr, 3 it) and 10 male (it; the only long male voice there).
Per voice, prompts of 2.0 to 4.2 s in an order fixed by their names; leading and trailing silence trimmed;
two prompts that last 4.2 to 6.8 s together, up to 1 s between them, equal silence before and after,
exactly 8 s (400 packets of 20 ms); active level −26 dBov. Wide-band samples, for codecs of 16 kHz, are
made the same way of the same speakers' prompts in G.722 (4 en and 3 fr female, 5 it male; up to 7 kHz).

The packages are fetched by name into a cache directory (`$SOJOURN_CACHE`, else `$XDG_CACHE_HOME/sojourn`,
else `~/.cache/sojourn`), checked by SHA-256 and never become part of this project. Any number of
processes may ask at once: samples are built in a temporary directory and renamed into place.

Differences from the published study: its samples (Dutch, unpublished) are not available. Speakers of the
recordings: Allison Smith, June Wallack, Paola Dal Zot, Carlo Flora; CC-BY-SA 3.0 and CC-BY 3.0.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.media import g711, recordings
from sojourn.qoe.media.cache import alone, cache_directory, sha256
from sojourn.qoe.media.recordings import MissingSpeech

#: Samples of one recording: 8 s at 8 kHz.
SAMPLES = 64_000


@dataclass(frozen=True)
class _Voice:
    label: str
    sex: str
    count: int
    package: str
    version: str
    sha256: str


_VOICES = (
    _Voice("en", "female", 4, "asterisk-core-sounds-en-wav", "1.6.1-1",
           "2be3ea287d83299d143815fa804f11179a75b7affd4a758b98b55f5afc18a35d"),
    _Voice("fr", "female", 3, "asterisk-core-sounds-fr-wav", "1.6.1-1",
           "8d4e1bc32ed5ba7fbda40841ca1825ed20cc6232724a473c90f8bb0e53e6073e"),
    _Voice("it", "female", 3, "asterisk-prompt-it-menardi-wav", "1:1.4.22+mm20110907-3.1",
           "3094530d98f8758ac275572d59624c41f60969fef883f34f4886d144f3dfeb21"),
    _Voice("it", "male", 10, "asterisk-core-sounds-it-wav", "1.6.1-1",
           "5a26638089e134b8ac39363fe249c5c93c50cd8bfdc9b2499ae61ec4a35e2fcb"),
)  # fmt: skip


_WIDE_VOICES = (
    _Voice("en", "female", 4, "asterisk-core-sounds-en-g722", "1.6.1-1",
           "38c5261820b406dcb0ecb37675720da2b0864850690690352ca52707eb623806"),
    _Voice("fr", "female", 3, "asterisk-core-sounds-fr-g722", "1.6.1-1",
           "7add61d5e42279ecff1bbdf842a5a946ac3644fac9a0fe44384731aa7270c8e0"),
    _Voice("it", "male", 5, "asterisk-core-sounds-it-g722", "1.6.1-1",
           "46b4cf7afc508a5fcfc051b7ea233251c0d195dd4ef83cc4b7facb4c6429b016"),
)  # fmt: skip


@dataclass(frozen=True)
class _Recipe:
    """How samples of one rate are made; its name is that of the cached result, to be changed with it."""

    name: str
    voices: tuple[_Voice, ...]
    suffix: str
    source: str


_RECIPES = {
    recordings.RATE_HZ: _Recipe(
        "speech-1",
        _VOICES,
        ".wav",
        "20 recorded samples (10 female en/fr/it, 10 male it; Debian's Asterisk prompts)",
    ),
    recordings.WIDE_HZ: _Recipe(
        "speech-wide-1",
        _WIDE_VOICES,
        ".g722",
        "12 recorded wide-band samples (7 female en/fr, 5 male it; Debian's Asterisk prompts in G.722)",
    ),
}


@dataclass(frozen=True, eq=False)
class Speech:
    """Speech samples of 8 s.

    Attributes
    ----------
    names, sexes : tuple of str, length n
        ``"female"``, ``"male"`` or ``"unknown"``.
    signals : ndarray of int16, shape (n, 8 · rate_hz)
    source : str
        One line for reports that says whose speech this is.
    rate_hz : int
        8000 or 16000.
    """

    names: tuple[str, ...]
    sexes: tuple[str, ...]
    signals: NDArray[np.int16]
    source: str
    rate_hz: int = recordings.RATE_HZ

    @cached_property
    def coded(self) -> NDArray[np.int16]:
        """Narrow-band samples after A-law, as frames of 20 ms: shape (n, 400, 160)."""
        return g711.code(self.signals).reshape(len(self.signals), -1, g711.FRAME)

    @cached_property
    def talk(self) -> NDArray[np.bool_]:
        """Frames within talkspurts (pauses under 200 ms belong to them): shape (n, 400)."""
        return np.stack([recordings.talkspurts(s, self.rate_hz) for s in self.signals])

    @cached_property
    def digest(self) -> str:
        """Names these samples: the same digest, the same samples."""
        return hashlib.sha256(self.signals.tobytes()).hexdigest()[:16]


@lru_cache(maxsize=8)
def samples(folder: str | Path | None = None, rate_hz: int = recordings.RATE_HZ) -> Speech:
    """The speech samples, fetched and built on first use.

    Parameters
    ----------
    folder : path, optional
        The user's own recordings instead of the built-in ones: WAV files (8 kHz mono PCM16; other rates
        with SciPy, other formats with PyAV), in the order of their names. Longer ones are cut to 8 s,
        shorter ones centred in silence, all set to −26 dBov.
    rate_hz : int
        8000, or 16000 for codecs of wide-band speech.

    Returns
    -------
    Speech

    Raises
    ------
    MissingSpeech
        In one sentence, why there is none.
    """
    if folder is not None:
        return _own(Path(folder), rate_hz)
    ready = cache_directory() / _RECIPES[rate_hz].name
    if (speech := _load(ready, rate_hz)) is None:
        _build(ready, rate_hz)
        if (speech := _load(ready, rate_hz)) is None:
            raise MissingSpeech(f"the speech samples in {ready} are damaged: remove that directory")
    return speech


def _own(folder: Path, rate_hz: int) -> Speech:
    if not folder.is_dir():
        raise MissingSpeech(f"no recordings: {folder} is not a directory")
    files = sorted(p for p in folder.iterdir() if p.suffix.lower() in recordings.SUFFIXES)
    if not files:
        raise MissingSpeech(
            f"no recordings in {folder}: expected files ending in {', '.join(sorted(recordings.SUFFIXES))}"
        )
    signals, whole = [], 8 * rate_hz
    for path in files:
        signal = recordings.read(path, rate_hz)[:whole]
        if not signal.any():
            raise MissingSpeech(f"{path} is silent: expected speech")
        lead = (whole - signal.size) // 2
        padded = np.pad(signal, (lead, whole - signal.size - lead))
        signals.append(recordings.level(padded, rate_hz=rate_hz))
    unnamed = Speech(tuple(p.stem for p in files), ("unknown",) * len(files), np.stack(signals), "", rate_hz)
    return replace(unnamed, source=f"{len(files)} own recordings ({unnamed.digest})")


def _load(directory: Path, rate_hz: int) -> Speech | None:
    """Cached samples, or none if they are absent or not what their manifest says."""
    try:
        manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        signals = np.load(directory / "samples.npy")
        speech = Speech(
            tuple(s["name"] for s in manifest["samples"]),
            tuple(s["sex"] for s in manifest["samples"]),
            signals,
            _RECIPES[rate_hz].source,
            rate_hz,
        )
        good = signals.dtype == np.int16 and signals.shape == (len(speech.names), 8 * rate_hz)
        return speech if good and speech.digest == manifest["digest"] else None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def _build(ready: Path, rate_hz: int) -> None:
    """Fetch, extract and join; afterwards `ready` exists."""
    try:
        ready.parent.mkdir(parents=True, exist_ok=True)
        scratched = tempfile.TemporaryDirectory(dir=ready.parent, prefix=".speech-")
        with scratched as scratch, alone(ready.parent / ".lock"):
            if _load(ready, rate_hz) is not None:
                return
            made = Path(scratch) / "made"
            made.mkdir()
            names, entries, signals = [], [], []
            for voice in _RECIPES[rate_hz].voices:
                root = _fetch(voice, ready.parent / "packages", Path(scratch))
                for number, (signal, parts) in enumerate(_join(root, voice.count, rate_hz), 1):
                    names.append(f"{voice.label}-{voice.sex}-{number}")
                    entry = {"name": names[-1], "sex": voice.sex, "package": voice.package}
                    entries.append(entry | {"version": voice.version, "sha256": voice.sha256, "parts": parts})
                    signals.append(signal)
            stack = np.stack(signals)
            digest = Speech(tuple(names), (), stack, "").digest
            np.save(made / "samples.npy", stack)
            text = json.dumps({"digest": digest, "samples": entries}, indent=1)
            (made / "manifest.json").write_text(text + "\n", encoding="utf-8")
            if ready.exists():
                ready.rename(Path(scratch) / "damaged")
            made.rename(ready)
    except OSError as error:
        raise MissingSpeech(f"recorded speech cannot be kept in {ready.parent}: {error}") from error


def _fetch(voice: _Voice, packages: Path, scratch: Path) -> Path:
    """The extracted package of a voice, downloaded unless an intact copy is kept."""
    kept = packages / f"{voice.sha256[:16]}.deb"
    if not (kept.is_file() and sha256(kept) == voice.sha256):
        packages.mkdir(parents=True, exist_ok=True)
        _download(voice, scratch).rename(kept)
    root = scratch / voice.package
    _tool(["dpkg-deb", "-x", str(kept), str(root)], scratch)
    return root


def _download(voice: _Voice, scratch: Path) -> Path:
    """The package file, checked."""
    ask = ["apt-get", "download", f"{voice.package}={voice.version}"]
    try:
        _tool(ask, scratch)
    except MissingSpeech:
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            raise
        _tool(["apt-get", "update"], scratch)
        _tool(ask, scratch)
    found = sorted(scratch.glob(f"{voice.package}_*.deb"))
    if not found or sha256(found[0]) != voice.sha256:
        raise MissingSpeech(
            f"Debian's package {voice.package} {voice.version} is not the one expected (SHA-256 differs)"
        )
    return found[0]


def _tool(command: list[str], directory: Path) -> None:
    if shutil.which(command[0]) is None:
        raise MissingSpeech(
            f"recorded speech comes from Debian packages and {command[0]} is not installed: "
            "name a folder of your own recordings instead"
        )
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise MissingSpeech(f"recorded speech cannot be fetched: {' '.join(command)} hangs") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise MissingSpeech(
            f"recorded speech cannot be fetched: {' '.join(command)} failed ({last}); "
            "run apt-get update as root, or name a folder of your own recordings"
        )


def _join(root: Path, count: int, rate_hz: int) -> list[tuple[NDArray[np.int16], list[str]]]:
    """Samples of two prompts each from one voice."""
    sounds = [d for d in (root / "usr/share/asterisk/sounds").iterdir() if d.is_dir() and not d.is_symlink()]
    recipe, whole = _RECIPES[rate_hz], 8 * rate_hz
    files = [p for d in sounds for p in d.glob(f"*{recipe.suffix}")]
    files.sort(key=lambda p: hashlib.sha256(f"{recipe.name}:{p.name}".encode()).digest())
    made: list[tuple[NDArray[np.int16], list[str]]] = []
    waiting: list[tuple[str, NDArray[np.int16]]] = []
    for path in files:
        signal = recordings.read(path, rate_hz)
        if not 2.0 * rate_hz <= signal.size <= 4.2 * rate_hz:
            continue
        signal = recordings.trim(signal, rate_hz)
        partner = next((w for w in waiting if 4.2 <= (w[1].size + signal.size) / rate_hz <= 6.8), None)
        if partner is None:
            waiting.append((path.name, signal))
            continue
        waiting.remove(partner)
        rest = whole - partner[1].size - signal.size
        gap = min(rate_hz, rest // 3)
        lead = (rest - gap) // 2
        joined = np.zeros(whole, dtype=np.int16)
        joined[lead : lead + partner[1].size] = partner[1]
        joined[lead + partner[1].size + gap :][: signal.size] = signal
        made.append((recordings.level(joined, rate_hz=rate_hz), [partner[0], path.name]))
        if len(made) == count:
            return made
    raise MissingSpeech(f"only {len(made)} of {count} samples could be made from {root.name}")
