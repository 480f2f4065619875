"""Where fetched and prepared media are kept: shared by any number of processes, safe to delete at any time.

Each thing is built in a temporary directory and renamed into place, by one process at a time where the
platform can lock files; two at once would be waste, not damage.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """Where media are kept: `$SOJOURN_CACHE`, `$XDG_CACHE_HOME/sojourn`, or `~/.cache/sojourn`."""
    if own := os.environ.get("SOJOURN_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "sojourn"
    return Path.home() / ".cache" / "sojourn"


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Hold a lock file: one process at a time."""
    with lock.open("w") as held:
        try:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        yield


def kept(ready: Path, make: Callable[[Path], None]) -> Path:
    """Return a file or directory, made first if it is not there.

    Parameters
    ----------
    ready : Path
        Where it is kept.
    make : callable
        Makes it at the path given, which is renamed to `ready` afterwards.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    if ready.exists():
        return ready
    ready.parent.mkdir(parents=True, exist_ok=True)
    with alone(ready.parent / f".{ready.name}.lock"):
        if not ready.exists():
            with tempfile.TemporaryDirectory(dir=ready.parent, prefix=f".{ready.name}-") as scratch:
                made = Path(scratch) / "made"
                make(made)
                made.rename(ready)
    return ready


def sha256(path: Path) -> str:
    """Digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
