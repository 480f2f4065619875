"""Files that a command is told to write."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sojourn.errors import StoreError
from sojourn.results import atomic


@contextmanager
def output(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears whole when the block ends without an error, and not otherwise.

    A device or a FIFO, such as ``/dev/stdout``, is written to as it is: it must not be replaced by a file.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    try:
        with atomic.writing(path):
            if path.is_dir():
                raise IsADirectoryError(None, "it is a directory")
            in_place = path.exists() and not path.is_file()
            with path.open("wb") if in_place else atomic.opened(path) as file:
                yield file
    except Exception as error:
        # What Polars says when its own writer failed; loading it takes as long as many a capture.
        polars = sys.modules.get("polars")
        if polars is None or not isinstance(error, polars.exceptions.ComputeError):
            raise
        raise StoreError(f"{path} cannot be written: {str(error).splitlines()[0]}") from None


def printable(path: str | os.PathLike[str]) -> str:
    """Return a path as text for a page; bytes that are no text are replaced."""
    return os.fsencode(path).decode(errors="replace")
