"""Files that appear whole or not at all: written under a temporary name, flushed to the disk, then renamed.

A writer holds a lock on its temporary file, so that another process can tell a file that is being written
from one that a killed process left behind.
"""

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from sojourn.errors import StoreError

_ABANDONED_S = 24 * 3600
_TEMPORARY = ".tmp"
_ATTEMPTS = 3
_OF_THE_SYSTEM = re.compile(r"underlying IO error: (.+) \(os error \d+\)")


def write(path: Path, writer: Callable[[BinaryIO], object]) -> None:
    """Write a file in place of the one before.

    Parameters
    ----------
    path
        The file; its directory must exist.
    writer
        Is given the open file. It may be called again if another process removes the temporary file.

    Raises
    ------
    OSError
        The file cannot be written; the one before is left as it was.
    """
    for attempt in range(_ATTEMPTS):
        try:
            with opened(path) as file:
                writer(file)
            return
        except FileNotFoundError:
            # Another process may have removed the file as abandoned before it was locked.
            if attempt == _ATTEMPTS - 1 or not path.parent.is_dir():
                raise


@contextlib.contextmanager
def opened(path: Path, *, keep: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`, which takes its place when the block ends without an error.

    Its `name` may be given to whoever writes by path. With ``keep=False`` it is removed at the end.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            _lock(file.fileno())
            yield file
            if keep:
                file.flush()
                os.fsync(file.fileno())
                temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    if keep:
        _flush_directory(path.parent)


@contextlib.contextmanager
def writing(place: Path, hint: str = "") -> Iterator[None]:
    """Turn the OSError of a block into a StoreError: the place cannot be written, and why.

    Polars has an error of its own where a table cannot be written, with the system's words in it.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError):
            why = error.strerror or str(error)
        elif told := _OF_THE_SYSTEM.search(str(error)):
            why = told[1]
        else:
            raise
        raise StoreError(f"{place} cannot be written: {why}{hint}") from None


def probe(directory: Path) -> None:
    """Raise OSError if no file can be written into a directory."""
    file = directory / f".probe.{secrets.token_hex(8)}{_TEMPORARY}"
    file.touch()
    file.unlink(missing_ok=True)


def remove_abandoned(directory: Path) -> None:
    """Remove temporary files whose writer is gone; other processes may be writing here at this moment."""
    for file in directory.glob(f".*{_TEMPORARY}"):
        with contextlib.suppress(OSError):
            with file.open("rb") as held:
                abandoned = _lock(held.fileno())
            if abandoned is None:  # a file system without locks
                abandoned = time.time() - file.stat().st_mtime > _ABANDONED_S
            if abandoned:
                file.unlink()


def _lock(fd: int) -> bool | None:
    """Lock a file until it is closed, or its process dies; None where files cannot be locked."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _flush_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
