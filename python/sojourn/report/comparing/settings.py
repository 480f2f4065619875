"""What two study documents ask for differently."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_NOT_SETTINGS = frozenset(
    {"name", "description", "figures", "sweep", "reproduces", "findings", "goals", "measured"}
)
_ABSENT = "–"
_LONGEST = 90


def changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the keys that differ, with what each study says; what a study does not say is a dash.

    >>> changed({"seed": 1, "path": {"rtt": "40ms"}}, {"seed": 2, "path": {"rtt": "40ms"}})
    [('seed', '1', '2')]
    """
    sides = [{key: item for key, item in one.items() if key not in _NOT_SETTINGS} for one in (first, second)]
    return list(_differing(*sides, ""))


def _differing(first: Any, second: Any, name: str) -> Iterator[tuple[str, str, str]]:
    if first == second:
        return
    if _table(first) and _table(second):
        ours, theirs = _named(first, name), _named(second, name)
        for key in dict.fromkeys([*ours, *theirs]):
            yield from _differing(ours.get(key), theirs.get(key), key)
    else:
        yield name, _said(first), _said(second)


def _table(value: Any) -> bool:
    """Whether a value has keys of its own: a table, or an array of tables."""
    return isinstance(value, Mapping) or (
        isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
    )


def _named(value: Any, name: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {f"{name}.{key}" if name else key: inner for key, inner in value.items()}
    return {f"{name}[{place}]": inner for place, inner in enumerate(value, start=1)}


def _said(value: Any) -> str:
    """Write what a study says at a key, cut where it is long."""
    if value is None:
        return _ABSENT
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
