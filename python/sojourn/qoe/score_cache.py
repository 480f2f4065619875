"""Scores of sound that was heard before, kept on disk: across runs, shared by all processes of a machine.

What PESQ makes of a call depends on the sample, the codec, which packets were missing, and what was played in
their place: not on the study. The key is a hash of these and of the code that scores, so that other code
finds nothing.

The cache is one SQLite database in `$SOJOURN_CACHE` (see :mod:`sojourn.qoe.media.cache`), of at most
:data:`MOST` scores; the oldest go first. SQLite's write-ahead log makes it whole after a kill at any
time. It is only ever a help: where it cannot be opened, read or written, scores are computed, and a
damaged one is thrown away.
"""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable
from functools import cache
from importlib import metadata, util
from pathlib import Path

from sojourn.qoe.media.cache import cache_directory

Key = tuple[str | int | bytes, ...]
"""All that decides a score: digest of samples, which of them, first frame, frames, codec, erased frames."""
Score = tuple[float, bool]
"""MOS-LQO, and whether PESQ could score it."""

MOST = 2_000_000
"""Scores that are kept: about 200 MB."""
_IN_MEMORY = 200_000
_LOOK_EVERY = 1000
_SCORING = ("pesq.py", "spoken.py", "media/*.py")
_TABLE = """CREATE TABLE IF NOT EXISTS scores
    (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, lqo REAL NOT NULL, scored INTEGER NOT NULL)"""


@cache
def code() -> bytes:
    """Return a hash of the code that scores: this package's, and the build of the package `pesq`."""
    hashed = hashlib.sha256()
    here = Path(__file__).parent
    for file in sorted(file for pattern in _SCORING for file in here.glob(pattern)):
        hashed.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r", b"") + b"\0")
    for package in ("numpy", "pesq", "av"):  # PyAV brings libopus.
        with contextlib.suppress(metadata.PackageNotFoundError):
            hashed.update(f"{package} {metadata.version(package)} ".encode())
    found = util.find_spec("pesq")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for built in sorted(Path(folder).glob("*.so")):
            hashed.update(built.read_bytes())
    return hashed.digest()


class DiskCache:
    """Scores by what was heard: looked for in memory first, then on disk.

    Parameters
    ----------
    file
        The database; by default ``scores.sqlite`` among the cached media.
    most
        Scores that are kept on disk.
    """

    def __init__(self, file: Path | None = None, most: int = MOST) -> None:
        self._file, self._most = file, most
        self._memory: dict[Key, Score] = {}
        self._database: sqlite3.Connection | None = None
        self._opened_by: int | None = None
        self._written = 0

    def get(self, key: Key) -> Score | None:
        """Return the score of what was heard, None where it is not known."""
        if (known := self._memory.get(key)) is not None:
            return known
        row = self._try(
            lambda database: database.execute(
                "SELECT lqo, scored FROM scores WHERE key = ?", (_digest(key),)
            ).fetchone()
        )
        # Scores that cannot be, as of a damaged page, are no scores.
        if row is None or not isinstance(row[0], float) or not 1.0 <= row[0] <= 5.0:
            return None
        self._remember(key, (row[0], bool(row[1])))
        return self._memory[key]

    def __setitem__(self, key: Key, score: Score) -> None:
        self._remember(key, score)
        row = (_digest(key), float(score[0]), int(score[1]))
        self._try(
            lambda database: database.execute(
                "INSERT OR REPLACE INTO scores (key, lqo, scored) VALUES (?, ?, ?)", row
            )
        )
        self._written += 1
        if self._written % min(_LOOK_EVERY, self._most) == 0:
            self._try(
                lambda database: database.execute(
                    "DELETE FROM scores WHERE id <= (SELECT max(id) FROM scores) - ?", (self._most,)
                )
            )

    def _remember(self, key: Key, score: Score) -> None:
        if len(self._memory) >= _IN_MEMORY:
            self._memory.clear()
        self._memory[key] = score

    def _try(self, work: Callable[[sqlite3.Connection], object]) -> tuple | None:
        """Do something with the database; nothing where that is not possible."""
        try:
            database = self._open()
            return work(database) if database is not None else None  # type: ignore[return-value]
        except sqlite3.OperationalError:  # locked for long, a full disk, no permission
            return None
        except sqlite3.DatabaseError:
            self._throw_away()
            return None

    def _open(self) -> sqlite3.Connection | None:
        if self._opened_by == os.getpid():  # a connection does not survive a fork
            return self._database
        self._opened_by, self._database = os.getpid(), None
        file = self._file or cache_directory() / "scores.sqlite"
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            file.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(file, timeout=5.0, isolation_level=None)
            self._database = database
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute(_TABLE)
        return self._database

    def _throw_away(self) -> None:
        """Remove a database that is none; the next process begins a new one."""
        if self._database is not None:
            self._database.close()
        self._database = None
        file = self._file or cache_directory() / "scores.sqlite"
        for name in (file, file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")):
            with contextlib.suppress(OSError):
                name.unlink()


def _digest(key: Key) -> bytes:
    return hashlib.blake2b(code() + repr(key).encode(), digest_size=16).digest()
