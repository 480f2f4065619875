"""Plain values as TOML, for study documents that are made and not written.

>>> print(toml({"name": "a study", "path": {"rtt": "40ms", "queue": {"limit": ["1pkt", "2pkt"]}}}), end="")
name = "a study"
path = { rtt = "40ms", queue = { limit = ["1pkt", "2pkt"] } }
"""

import json
import re
from collections.abc import Mapping
from typing import Any


def toml(document: Mapping[str, Any]) -> str:
    """Return a document as TOML, one top-level key a line."""
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in document.items())


def toml_key(key: str) -> str:
    """Return a key as it stands in TOML."""
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key)


def toml_value(value: Any) -> str:
    """Return a value in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    # TOML's basic strings, numbers and booleans are JSON's.
    return json.dumps(value, ensure_ascii=False)
