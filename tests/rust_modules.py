"""Which file of a crate uses which, read from its `use` lines; re-exports are followed to their source."""

from __future__ import annotations

import re
from pathlib import Path

Module = tuple[str, ...]
"""A module by its place in the crate; the crate's root is the empty tuple."""

USE = re.compile(r"^[ \t]*(pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod tests", re.MULTILINE)


def uses(crate: Path) -> dict[Module, set[Module]]:
    """Return for each file of a crate, tests aside, the files that it uses.

    A `pub use` hands a name on and is no use of it. Paths that are written out without a `use` are not seen.
    """
    texts: dict[Module, str] = {}
    for file in (crate / "src").rglob("*.rs"):
        module = file.relative_to(crate / "src").with_suffix("").parts
        if "tests" not in module:
            texts[module[:-1] if module[-1] in ("mod", "lib") else module] = TESTS.split(
                file.read_text("utf-8")
            )[0]
    handed_on: dict[Module, dict[str, Module]] = {module: {} for module in texts}
    used: dict[Module, list[Module]] = {module: [] for module in texts}
    for module, text in texts.items():
        for public, body in USE.findall(text):
            for path in expanded(" ".join(body.split())):
                target, _, alias = path.partition(" as ")
                place = absolute(module, tuple(target.split("::")), texts)
                if place and public:
                    handed_on[module][alias or place[-1]] = place
                elif place:
                    used[module].append(place)

    def declared(place: Module, seen: frozenset[tuple[Module, str]] = frozenset()) -> Module:
        longest = max(length for length in range(len(place) + 1) if place[:length] in texts)
        module, rest = place[:longest], place[longest:]
        if rest and rest[0] in handed_on[module] and (module, rest[0]) not in seen:
            return declared(handed_on[module][rest[0]] + rest[1:], seen | {(module, rest[0])})
        return module

    return {module: {declared(place) for place in places} - {module} for module, places in used.items()}


def expanded(path: str) -> list[str]:
    """Return the plain paths of a `use` with braces."""
    head, brace, rest = path.partition("{")
    if not brace:
        return [path.strip()]
    parts, depth, start = [], 0, 0
    inner = rest[: rest.rindex("}")] + ","
    for place, letter in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(inner[start:place].strip())
            start = place + 1
    return [full for part in parts if part for full in expanded(head.strip() + part)]


def absolute(module: Module, path: Module, modules: dict[Module, str]) -> Module | None:
    """Return a path from the crate's root; None for another crate's."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return module + path[1:]
    if path[0] == "super":
        while path and path[0] == "super":
            module, path = module[:-1], path[1:]
        return module + path
    return module + path if module + path[:1] in modules else None
