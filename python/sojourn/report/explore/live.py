"""The live part of an explorer: the engine as WebAssembly, and what its controls offer.

`make setup` builds `engine.wasm` beside this file where Rust can build for browsers; the wheel carries it. A
page of a package without it, or whose engine is of other sources than the package's, has no live part and
says why.
"""

import base64
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from sojourn import _core
from sojourn.report.explore.scale import described
from sojourn.report.figures.values import value
from sojourn.results.causes import CAUSES
from sojourn.study.identity import RESULT_FORMAT, engine
from sojourn.study.schema import study_schema

MODULE = "engine.wasm"
_NAMED = re.compile(rb"sojourn-engine([0-9a-f]{32})")
_HOW = "`rustup target add wasm32-unknown-unknown`, then `make setup`"


@dataclass(frozen=True)
class Live:
    """The live part.

    Attributes
    ----------
    module : str
        The engine, compressed and as base64; empty where there is none.
    without : str
        One sentence: why there is none.
    offers : dict
        What the page's scripts read: ``build`` and ``format`` of its results, ``causes`` of drops in words,
        ``queues`` with their parameters, ``transports``, ``codecs``, ``playouts``, and the scale of opinion
        scores.
    """

    module: str = ""
    without: str = ""
    offers: dict[str, Any] = field(default_factory=dict)


def live_part() -> Live:
    """Return the live part of a page made by this package."""
    file = files("sojourn.report.explore").joinpath(MODULE)
    if not file.is_file():
        return Live(
            without=f"The engine does not run in this page: this package was built without it ({_HOW})."
        )
    module = file.read_bytes()
    named = _NAMED.search(module)
    if named is None or named[1].decode() != _core.engine():
        return Live(
            without="The engine does not run in this page: the one that was built for pages is of other "
            "sources than this package (`make setup` builds it again)."
        )
    text = base64.b64encode(gzip.compress(module, 9, mtime=0)).decode()
    return Live(text, offers=offers(study_schema()))


def offers(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what controls offer, from the JSON Schema of study files."""
    kinds = schema["$defs"]
    return {
        "build": engine(),
        "format": RESULT_FORMAT,
        "causes": CAUSES,
        "mos": described(value("voice.talks.mos.median")),
        "transports": [one for one in _constants(kinds["Transport"]) if one != "udp"],
        "codecs": _constants(kinds["Codec"]),
        "playouts": [one["properties"]["kind"]["const"] for one in kinds["Playout"]["oneOf"]],
        "queues": [_queue(one, kinds) for one in kinds["QueueSpec"]["oneOf"]],
    }


def _queue(about: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    keys = {name: key for name, key in about["properties"].items() if name not in ("kind", "limit")}
    return {
        "kind": about["properties"]["kind"]["const"],
        "about": " ".join(about["description"].split()),
        "parameters": [_parameter(name, key, kinds) for name, key in keys.items()],
    }


def _parameter(name: str, key: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    initial = key.get("default")
    found = {
        "name": name,
        "about": " ".join(key.get("description", "").split()),
        "initial": "" if initial is None else initial if isinstance(initial, str) else json.dumps(initial),
    }
    reference = key.get("$ref", "").rpartition("/")[2]
    if key.get("type") == "boolean":
        return found | {"options": ["true", "false"]}
    options = _constants(kinds[reference]) if reference else []
    return found | ({"options": options} if options else {})


def _constants(kind: Mapping[str, Any]) -> list[str]:
    return [one["const"] for one in kind.get("oneOf", ()) if "const" in one]
