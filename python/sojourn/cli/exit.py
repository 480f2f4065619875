"""How a command ends: its exit code, and its sentence on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from sojourn.errors import printable


class Exit(IntEnum):
    """What the exit code of a command says."""

    DONE = 0
    FAILED = 1
    """It ran, but something failed or a stated check did not hold."""
    INPUT = 2
    """Usage or input error; nothing was written."""
    INTERRUPTED = 130
    """Stopped by the user; the same command goes on from there."""


INTERRUPTED = "interrupted: what it was to write is not all there; run the same command again"
"""Said of commands that do all at once. No file is written by halves."""


class Interrupted(KeyboardInterrupt):
    """An interrupt that says how far the command came."""


@contextmanager
def resumable(done: Callable[[], str]) -> Iterator[None]:
    """Say of an interrupt how much is done, and that the same command goes on from there."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: {done()} are done and on disk; run the same command again to go on from there"
        ) from None


def warn(text: str) -> None:
    """Write a sentence to standard error, after the name of the program; lines of a file may follow it."""
    print("sojourn: " + "\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)
