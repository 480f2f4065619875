"""Errors that are one sentence: what was found, what was expected, what to do; and words of sentences."""

import re
import reprlib
from collections.abc import Callable

_QUOTED = 60
_MESSAGE = 380


def quoted(text: object) -> str:
    """Return foreign text as a message repeats it: in quotation marks, cut to 60 characters, escaped."""
    text = str(text)
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")


def counted(count: int, noun: str, form: Callable[[int], str] = str) -> str:
    """Write a number of things; `form` writes the number.

    >>> counted(1, "point"), counted(2, "point"), counted(12345, "packet", spaced)
    ('1 point', '2 points', '12 345 packets')
    """
    return f"{form(count)} {noun}" if count == 1 else f"{form(count)} {noun}s"


def spaced(number: float) -> str:
    """Write a whole number with a space between thousands.

    >>> spaced(999), spaced(1234567.8)
    ('999', '1 234 568')
    """
    return f"{number:,.0f}".replace(",", " ")


def shown(value: object) -> str:
    """Return any value as a message repeats it: in one line, shortened, without places in memory."""
    return printable(re.sub(r" at 0x[0-9a-f]+", "", " ".join(reprlib.repr(value).split())))


def printable(message: str) -> str:
    """Return a message in one line that a terminal prints as it stands, whatever it repeats.

    What cannot be printed is escaped, a word of more than 160 characters is cut in its middle, and what
    follows 380 characters is left out.
    """
    words = (word if len(word) <= 160 else f"{word[:80]}…{word[-80:]}" for word in message.split(" "))
    line = " ".join(words)[: 2 * _MESSAGE]
    if not line.isprintable():
        line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)
    return line if len(line) <= _MESSAGE else line[:_MESSAGE] + "…"


class SojournError(Exception):
    """Something the user can put right; its text is shown as it is, without a traceback."""

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


class StoreError(SojournError):
    """A results directory cannot be written, or holds something that it should not."""
