"""Axes of a sweep that change nothing: their labels stand beside the same runs, and read as a finding."""

from collections.abc import Iterable

from sojourn.study.grouped import grouped
from sojourn.study.point import Point, label_text


def axes(points: Iterable[Point]) -> list[tuple[str, int]]:
    """Return the axes whose values all make the same runs, whatever the others are; and how many they are.

    An axis of one value is none of these: it names what all runs have.
    """
    points = list(points)
    found = []
    for axis in dict.fromkeys(axis for point in points for axis in point.labels):
        values = len({label_text(point.labels[axis]) for point in points if axis in point.labels})
        runs = grouped((_others(point, axis), point.hash) for point in points)
        if values > 1 and all(len(set(hashes)) == 1 for hashes in runs.values()):
            found.append((axis, values))
    return found


def _others(point: Point, axis: str) -> tuple[object, ...]:
    others = ((name, label_text(label)) for name, label in point.labels.items() if name != axis)
    return (point.replication, *others)


def sentence(axis: str, values: int) -> str:
    """Say that an axis changes nothing, and why where it is known.

    >>> sentence("path.queue", 2)
    'sweep.path.queue: its 2 values make the same runs, since every link has a queue of its own'
    """
    why = ", since every link has a queue of its own" if axis.startswith("path.queue") else ""
    return f"sweep.{axis}: its {values} values make the same runs{why}"
