"""Axes of a sweep that change nothing: their labels stand beside the same runs, and read as a finding."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.study.grouped import grouped
from sojourn.study.point import label_text


def said(points: Iterable[tuple[Mapping[str, Any], int, str]]) -> list[str]:
    """Return a sentence, without its full stop, for each axis whose values all make the same runs.

    That is so whatever the other axes are. One value of an axis names what all runs have.

    Parameters
    ----------
    points
        Labels, replication and hash of each point of a study.
    """
    points = list(points)
    found = []
    for axis in dict.fromkeys(axis for labels, *_ in points for axis in labels):
        values = len({label_text(labels[axis]) for labels, *_ in points if axis in labels})
        runs = grouped(((number, *_others(labels, axis)), run) for labels, number, run in points)
        if values > 1 and all(len(set(hashes)) == 1 for hashes in runs.values()):
            found.append(sentence(axis, values))
    return found


def unread(labels: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    """Return a sentence, without its full stop, where times of reading are swept and nothing waits for them.

    Their runs have hashes of their own, so :func:`said` does not see that they are the same.

    Parameters
    ----------
    labels
        The axes of the sweep.
    document
        The study; a load that it names may ship with such a stack, so then nothing is said.
    """
    if "path.reading" not in labels or '"workload' in json.dumps(document) or _may_wait(document):
        return []
    return ['sweep.path.reading: its values make the same runs, since no flow or user has stack = "linux"']


def _may_wait(value: Any, key: str = "") -> bool:
    """Whether a stack anywhere in a part of a document, or swept by it, may be Linux's."""
    if isinstance(value, Mapping):
        return any(_may_wait(each, name) for name, each in value.items())
    if isinstance(value, list):
        return any(_may_wait(each, key) for each in value)
    return value == "linux" and key.rpartition(".")[2] == "stack"


def _others(labels: Mapping[str, Any], axis: str) -> Iterable[tuple[str, str]]:
    return ((name, label_text(label)) for name, label in labels.items() if name != axis)


def sentence(axis: str, values: int) -> str:
    """Say that an axis changes nothing, and why where it is known.

    >>> sentence("path.queue", 2)
    'sweep.path.queue: its 2 values make the same runs, since every link has a queue of its own'
    """
    why = ", since every link has a queue of its own" if axis.startswith("path.queue") else ""
    return f"sweep.{axis}: its {values} values make the same runs{why}"
