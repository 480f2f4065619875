"""What a study file lacks is said with what may stand there: the choices, or what it is and an example."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from sojourn.study.schema import study_schema
from sojourn.study.toml import toml, toml_value

_LACKS = re.compile(r"missing field `([^`]+)`(?=$|\n)")
_OF_FLOWS = ("source", "transport", "direction")
"""What groups of flows must have, by themselves or by `[defaults.flows]`: the schema does not ask for it."""
_EXAMPLES = {
    "name": "mine",
    "duration": "60s",
    "path": {
        "rtt": "40ms",
        "queue": {"kind": "fifo", "limit": "64pkt"},
        "down": {"rate": "16Mbit"},
        "up": {"rate": "1Mbit"},
    },
    "down": {"rate": "16Mbit"},
    "up": {"rate": "1Mbit"},
    "with": "path.down.queue.limit",
    "set": {"path.up.queue.limit": ["8pkt", "64pkt"]},
    "links": ["down"],
    "size": "200B",
    "from": "10s",
    "to": "20s",
}
"""Of keys whose schema has none, or one that is refused: all sizes that must be given are of IP packets."""
_MOST = 13


def explained(message: str, text: str, sets: Iterable[tuple[str, str]] = ()) -> str:
    """Return a message about a study's text and replaced keys, with what is expected where one is missing."""
    found = _LACKS.search(message)
    if found is None:
        return message
    key = found[1]
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        document = {}
    lacking = chain(
        _lacking_in_sets(sets, key),
        _lacking(study_schema(), document, key),
        _lacking_in_sweep(document.get("sweep"), key),
    )
    # It may be nowhere in what was read: then wherever the schema asks for such a key.
    wanted = next(lacking, None) or _of_one_kind(key)
    return message if wanted is None else message.replace(found[0], found[0] + _expected(key, wanted), 1)


def explained_of_queue(message: str, queue: Mapping[str, Any]) -> str:
    """Return a message about one queue alone, with what is expected where a key of it is missing.

    >>> explained_of_queue("queue: missing field `limit`", {"kind": "fifo"})
    'queue: missing field `limit`: how much it holds, all flows together, as in limit = "64pkt"'
    """
    found = _LACKS.search(message)
    if found is None:
        return message
    here = _lacking({"$ref": "#/$defs/QueueSpec"}, queue, found[1])
    wanted = next(here, None) or _of_one_kind(found[1])  # it may be written by another of its names
    return message if wanted is None else message.replace(found[0], found[0] + _expected(found[1], wanted), 1)


def _lacking(schema: Mapping[str, Any], value: Any, key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rule of a key for each table of a document that must have it and does not."""
    flows = schema.get("$ref") == "#/$defs/Flows"
    schema = _resolved(schema)
    options = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    if isinstance(value, Mapping):
        if kinds := _kinds(schema):
            if key == "kind" and "kind" not in value:
                yield {"enum": kinds}
            options = [one for one in options if _kind(one) == value.get("kind")]
        properties = schema.get("properties") or {}
        needed = _OF_FLOWS if flows else schema.get("required", ())
        if key in needed and key not in value and key in properties:
            yield properties[key]
        for name, item in value.items():
            inner = properties.get(name, schema.get("additionalProperties"))
            if isinstance(inner, Mapping):
                yield from _lacking(inner, item, key)
        options = [{"properties": properties, **_resolved(one)} for one in options]
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for item in value:
            yield from _lacking(schema["items"], item, key)
    for one in options:
        yield from _lacking(one, value, key)


def _lacking_in_sweep(sweep: Any, key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rule of a key for each value of a sweep that must have it and does not."""
    for axis, values in sweep.items() if isinstance(sweep, Mapping) else ():
        for rule in _at(study_schema(), axis.split(".")):
            for value in values if isinstance(values, list) else ():
                yield from _lacking(rule, value, key)


def _lacking_in_sets(sets: Iterable[tuple[str, str]], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rule of a key for each replaced value that must have it and does not."""
    for name, text in sets:
        try:
            value = tomllib.loads(f"value = {text}").get("value")
        except tomllib.TOMLDecodeError:
            continue
        first, _, axis = name.partition(".")
        if first == "sweep" and axis:
            yield from _lacking_in_sweep({axis.replace('"', ""): value}, key)
        for rule in _at(study_schema(), name.split(".")):
            yield from _lacking(rule, value, key)


def _at(schema: Mapping[str, Any], names: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rules of what lies at some names of a study; of an array a name says which of its tables."""
    if not names:
        yield schema
        return
    schema = _resolved(schema)
    inner = (schema.get("properties") or {}).get(names[0], schema.get("additionalProperties"))
    for one in (inner, schema.get("items")):
        if isinstance(one, Mapping):
            yield from _at(one, names[1:])
    for one in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _at(one, names)


def _of_one_kind(key: str) -> Mapping[str, Any] | None:
    """Return the rule of a key if all tables that must have it have one rule for it."""
    rules = list(_required(study_schema(), key))
    return (
        rules[0] if rules and all(_expected(key, one) == _expected(key, rules[0]) for one in rules) else None
    )


def _required(schema: Any, key: str) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        if key in schema.get("required", ()) and key in (schema.get("properties") or {}):
            yield schema["properties"][key]
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        yield from _required(inner, key)


def _expected(key: str, rule: Mapping[str, Any]) -> str:
    """Say what a key may hold, as the end of a sentence."""
    whole = _resolved(rule)
    if choices := whole.get("enum") or [one["const"] for one in whole.get("oneOf", ()) if "const" in one]:
        return f", expected {_one_of(choices)}"
    if kinds := _kinds(whole):
        return (
            f", expected a table such as {toml_value(_example(key, whole))}, where kind is {_one_of(kinds)}"
        )
    what = (rule.get("description") or whole.get("description") or "").replace("\n", " ")
    what = what.partition(". ")[0].rstrip(".")
    what = f": {what[:1].lower()}{what[1:]}" if what else ""
    example = _example(key, whole)
    return what if example is None else f"{what}, as in {toml({key: example})}".rstrip()


def _example(key: str, schema: Mapping[str, Any]) -> Any:
    """Return what a key may hold, or None where neither the schema nor this module has an example."""
    if key in _EXAMPLES:
        return _EXAMPLES[key]
    whole = _resolved(schema)
    if "const" in whole or "examples" in whole:
        return whole.get("const") or whole["examples"][0]
    if _kinds(whole):
        one = whole["oneOf"][0]
        return {needed: _example(needed, one["properties"][needed]) for needed in one["required"]}
    return next(filter(None, (_example("", one) for one in whole.get("anyOf", ()))), None)


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref")
    return schema if name is None else study_schema()["$defs"][name.rpartition("/")[2]]


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """Return the kinds of tables that tell themselves apart by their `kind`."""
    return [kind for one in schema.get("oneOf", ()) if (kind := _kind(one)) is not None]


def _kind(schema: Mapping[str, Any]) -> str | None:
    return (schema.get("properties") or {}).get("kind", {}).get("const")


def _one_of(choices: list[str]) -> str:
    shown = [f"`{choice}`" for choice in choices[:_MOST]]
    if len(choices) == 2:
        return " or ".join(shown)
    more = f" and {len(choices) - _MOST} more" if len(choices) > _MOST else ""
    return (f"one of {', '.join(shown)}" if len(shown) > 1 else shown[0]) + more
