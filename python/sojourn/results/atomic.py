"""Files that appear whole or not at all: written under a temporary name, flushed to the disk, then renamed.

A writer holds a lock on its temporary file, so that another process can tell a file that is being written
from one that a killed process left behind. What was left behind is removed by whoever writes that file
next, and where a folder is tidied.
"""

import contextlib
import fcntl
import glob
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
_OF_THE_SYSTEM = re.compile(r"underlying IO error: (.+) \(os error \d+\)")


def write(path: Path, writer: Callable[[BinaryIO], object], *, tidied: bool = False) -> None:
    """Write a file in place of the one before: `writer` is given the open file; the directory must exist.

    Raises
    ------
    OSError
        The file cannot be written; the one before is left as it was.
    """
    with opened(path, tidied=tidied) as file:
        writer(file)


@contextlib.contextmanager
def opened(path: Path, *, keep: bool = True, tidied: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`, which takes its place when the block ends without an error.

    Its `name` may be given to whoever writes by path. With ``keep=False`` it is removed at the end. What a
    killed process left of the same file is removed first, unless the folder is `tidied`: looking through one
    with very many files takes long.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    if not tidied:
        remove_abandoned(path.parent, path.name)
    with _created(path) as file:
        temporary = Path(file.name)
        try:
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


def _created(path: Path) -> BinaryIO:
    """Create a temporary file for `path` and lock it."""
    while True:
        file = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_TEMPORARY}").open("xb")
        # Before it was locked, it looked abandoned to any other process, which may remove it, or be about to.
        if _lock(file.fileno()) is not False and Path(file.name).exists():
            return file
        file.close()


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


def remove_abandoned(directory: Path, name: str = "") -> None:
    """Remove temporary files, all or those for one file, whose writer is gone; others may be writing here."""
    beginning = f".{glob.escape(name)}." if name else "."
    for file in directory.glob(f"{beginning}*{_TEMPORARY}"):
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
