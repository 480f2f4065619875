"""What two study documents ask for differently."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sojourn import _core
from sojourn.study.schema import study_schema

_NOT_SETTINGS = frozenset(
    {"name", "description", "figures", "sweep", "reproduces", "findings", "goals", "measured"}
)
_ABSENT = "not given"
_LONGEST = 90


def changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the keys that differ, with what each study says, or has by default.

    >>> changed({"seed": 1, "path": {"rtt": "40ms"}}, {"seed": 2, "path": {"rtt": "40ms"}})
    [('seed', '1', '2')]
    """
    sides = [{key: item for key, item in one.items() if key not in _NOT_SETTINGS} for one in (first, second)]
    return list(_differing(*sides, ""))


@cache
def _by_default() -> dict[str, Any]:
    """Return the plain values that a study has where it does not say them."""
    keys = study_schema()["properties"]
    return {
        key: of["default"] for key, of in keys.items() if isinstance(of.get("default"), str | int | float)
    }


def _differing(first: Any, second: Any, name: str) -> Iterator[tuple[str, str, str]]:
    default = _by_default().get(name)
    sides = [default if side is None else side for side in (first, second)]
    if sides[0] == sides[1] or (None not in sides and _settled(sides[0], name) == _settled(sides[1], name)):
        return
    if _table(first) and _table(second):
        ours, theirs = _named(first, name), _named(second, name)
        for key in dict.fromkeys([*ours, *theirs]):
            yield from _differing(ours.get(key), theirs.get(key), key)
    else:
        yield name, _said(first, name), _said(second, name)


def _settled(value: Any, name: str) -> Any:
    """Return what a value means, however it is written: ``1min`` is ``60s``, ``fq_codel`` is ``fq-codel``."""
    if isinstance(value, Mapping):
        queue = _core.queue(json.dumps(value)) if "kind" in value else None
        return value if queue is None else json.loads(queue)
    if not isinstance(value, str):
        return value
    if name.endswith("queue.kind"):
        queue = _core.queue(json.dumps({"kind": value, "limit": "unlimited"}))
        return value if queue is None else json.loads(queue)["kind"]
    return _core.quantity(value) or value


def _table(value: Any) -> bool:
    """Whether a value has keys of its own: a table, or an array of tables."""
    return isinstance(value, Mapping) or (
        isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
    )


def _named(value: Any, name: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {f"{name}.{key}" if name else key: inner for key, inner in value.items()}
    # As axes and `--set` name them.
    return {f"{name}.{place}": inner for place, inner in enumerate(value)}


def _said(value: Any, name: str) -> str:
    """Write what a study says at a key, cut where it is long."""
    if value is None:
        default = _by_default().get(name)
        return _ABSENT if default is None else f"{default} (by default)"
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
