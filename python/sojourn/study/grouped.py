"""Things put together by what they have in common: results by their cell, rows by their scenario.

>>> grouped((len(word), word) for word in ("up", "down", "at"))
{2: ['up', 'at'], 4: ['down']}
"""

from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Return the items of each key; keys and items in the order in which they came."""
    found: dict[Key, list[Item]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found
