"""What two study documents ask for differently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_NOT_SETTINGS = frozenset({"name", "description", "figures", "sweep", "reproduces", "findings", "goals"})
_ABSENT = "–"


def changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the keys that differ, with what each study says; what a study does not say is a dash.

    >>> changed({"seed": 1, "path": {"rtt": "40ms"}}, {"seed": 2, "path": {"rtt": "40ms"}})
    [('seed', '1', '2')]
    """
    sides = [
        dict(_leaves({k: v for k, v in one.items() if k not in _NOT_SETTINGS})) for one in (first, second)
    ]
    keys = dict.fromkeys([*sides[0], *sides[1]])
    return [
        (key, sides[0].get(key, _ABSENT), sides[1].get(key, _ABSENT))
        for key in keys
        if sides[0].get(key) != sides[1].get(key)
    ]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for place, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{name}[{place}]")
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)
