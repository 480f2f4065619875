"""Which labels of an axis the words of ``--only`` mean: the label itself, or one other spelling of it.

A study file takes ``fq_codel`` for ``fq-codel`` and ``16 pkt`` for ``16pkt``, and results keep the spelling
of the file. Who chooses points need not know it, as long as only one label can be meant.
"""

import shlex
from collections.abc import Collection

from sojourn import _core
from sojourn.errors import SojournError


def chosen(axis: str, value: str, labels: Collection[str], file: str) -> str:
    """Return the label of an axis that a word means.

    Parameters
    ----------
    axis
        Name of the axis, for the sentence.
    value
        What was written.
    labels
        All labels of the axis, as results have them.
    file
        The study's, for the sentence.

    Raises
    ------
    SojournError
        One sentence: none is meant, or several could be.
    """
    if value in labels:
        return value
    alike = [label for label in labels if _meaning(label) == _meaning(value)]
    if len(alike) == 1:
        return alike[0]
    said = f"--only {axis}={value}: "
    if alike:
        raise SojournError(f"{said}{file} has it in several spellings; expected one of {listed(alike)}")
    said += f"no point of {file} has it; expected {listed(labels)}"
    parts = [part.strip() for part in value.split(",")]
    if any(_meaning(part) in map(_meaning, labels) for part in parts):
        words = " ".join(f"--only {shlex.quote(f'{axis}={part}')}" for part in parts)
        said += f"; --only is given once for each label: {words}"
    raise SojournError(said)


def listed(names: Collection[str], at_most: int = 12) -> str:
    """Return names as an enumeration for a sentence."""
    names = list(names)
    text = ", ".join(names[:at_most])
    return text + (f" and {len(names) - at_most} more" if len(names) > at_most else "")


def _meaning(text: str) -> str:
    """Return a label as it is written by the program itself: sizes, rates and times in one unit.

    >>> [_meaning(text) for text in ("FQ_CoDel", "16 pkt", "1bdp", "0.1s", "none", "64")]
    ['fq-codel', '16pkt', '1bdp', '100ms', 'none', '64']
    """
    quantity = None if text.isdecimal() else _core.quantity(text)
    return (quantity or text).lower().replace("_", "-")
