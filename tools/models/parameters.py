"""Tables of parameters from the schema of study files."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.study.schema import study_schema

UNITS = {"Time": "time", "Size": "bytes", "Rate": "bit/s", "Limit": "packets, bytes, time or BDP"}


def keys_table(kind: str) -> str:
    """Return the keys of a queue discipline as a Markdown table."""
    for entry in study_schema()["$defs"]["QueueSpec"]["oneOf"]:
        if entry["properties"]["kind"]["const"] == kind:
            required = entry.get("required", [])
            rows = {key: value for key, value in entry["properties"].items() if key != "kind"}
            return _table(rows, required)
    raise ValueError(f"{kind} is no queue discipline")


def mentioned_table(names: Iterable[str]) -> str:
    """Return the keys of a group of flows whose description mentions one of these names, or nothing."""
    words = [re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w+-])", re.IGNORECASE) for name in names]
    found = {
        key: value
        for key, value in study_schema()["$defs"]["Flows"]["properties"].items()
        if any(word.search(key) or word.search(value.get("description", "")) for word in words)
    }
    return _table(found, []) if found else ""


def transports_table(name: str, kin: Iterable[str], others: Iterable[str]) -> str:
    """Return a transport and its kin as a Markdown table: those called `name-…` and not among the others."""
    lines = ["| `transport` | |", "| --- | --- |"]
    for entry in study_schema()["$defs"]["Transport"]["oneOf"]:
        word = entry["const"]
        if word == name or word in kin or (word.startswith(f"{name}-") and word not in others):
            lines.append(f"| `{word}` | {' '.join(entry.get('description', '').split())} |")
    return "\n".join(lines)


def default(key: Mapping[str, Any]) -> str:
    """Return the default of a key: the schema's, or what its description says."""
    if "default" in key and key["default"] is not None:
        return f"`{json.dumps(key['default'], ensure_ascii=False)}`"
    text = _description(key)
    if said := re.search(r"[(;] ?default ([^);]+)\)", text):
        return f"`{said[1]}`"
    if said := re.search(r"by default (.*?)\.?$", text):
        return said[1]
    return "absent"


def _description(key: Mapping[str, Any]) -> str:
    """Return what a key is, on one line."""
    return " ".join(key.get("description", "").split())


def _table(keys: Mapping[str, Any], required: Iterable[str]) -> str:
    lines = ["| key | value | default | |", "| --- | --- | --- | --- |"]
    for name, key in keys.items():
        text = re.sub(r"\s*(\(default [^)]+\)|[;,:]? ?by default .*)", "", _description(key))
        text = re.sub(r"; default [^);]+\)", ")", text).strip()
        text = text if text.endswith((".", "…")) else text + "."
        shown = "required" if name in required else default(key)
        lines.append(f"| `{name}` | {_value(key)} | {shown} | {text} |")
    return "\n".join(lines)


def _value(key: Mapping[str, Any]) -> str:
    """Return what may be written as the value of a key."""
    choices = [choice for choice in key.get("anyOf", [key]) if choice.get("type") != "null"]
    return " or ".join(_one(choice) for choice in choices)


def _one(choice: Mapping[str, Any]) -> str:
    if "$ref" in choice:
        name = choice["$ref"].rsplit("/", 1)[1]
        if name in UNITS:
            return UNITS[name]
        target = study_schema()["$defs"][name]
        words = [entry["const"] for entry in target.get("oneOf", ()) if "const" in entry] or target.get(
            "enum", ()
        )
        return ", ".join(f"`{word}`" for word in words)
    kind = choice.get("type", "")
    kind = next((item for item in kind if item != "null"), "") if isinstance(kind, list) else kind
    return {"integer": "whole number", "number": "number", "boolean": "true or false"}.get(kind, kind)
