"""An error about a study is said where its cause is written, which is not always where it was found.

A key that an axis or a tie names is put into the tables that it changes, and missed there: what is wrong is
the name of the axis. A value that is text cannot be a table as well: TOML says so in its own words.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_UNKNOWN = re.compile(r"(unknown field `([^`]+)`.*)")
_TWICE = re.compile(
    r"(.+:\d+:(\d+): )cannot extend value of type (\w+) with a dotted key\n(?:.*\n)\d+ \| (.*)"
)


def located(message: str, texts: Iterable[tuple[str, str]]) -> str:
    """Return a message at the place that is to be changed.

    Parameters
    ----------
    message
        What the engine says of a study: a sentence, and the line that it is about.
    texts
        Each file of the study and its name: the study itself and those that it extends.
    """
    if twice := _TWICE.match(message):
        return _two_things(message, *twice.groups())
    first, *excerpt = message.split("\n")
    unknown = _UNKNOWN.search(first)
    if unknown is None or "--set " in first or any(unknown[2] in line for line in excerpt):
        return message
    for text, name in texts:
        for where, key in _named(text):
            if unknown[2] in key.split(".") and (at := _line_of(key, text)):
                line, column, shown = at
                margin = " " * len(str(line))
                caret = " " * column + "^" * len(key)
                return (
                    f"{name}:{line}:{column + 1}: {where}.{key}: {unknown[1]}\n"
                    f"{margin} |\n{line} | {shown}\n{margin} | {caret}"
                )
    return message


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that a study's axes and ties change, each with where it is named."""
    try:
        document: Mapping[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    yield from (("sweep", key) for key in _keys(document.get("sweep")))
    ties = document.get("tie")
    for place, tie in enumerate(ties if isinstance(ties, list) else ()):
        if isinstance(tie, Mapping):
            yield from ((f"tie.{place}.set", key) for key in _keys(tie.get("set")))


def _keys(table: Any) -> Iterable[str]:
    return table if isinstance(table, Mapping) else ()


def _line_of(key: str, text: str) -> tuple[int, int, str] | None:
    """Return the line, from 1, and the column, from 0, at which a key is given a value, and that line."""
    for line, shown in enumerate(text.splitlines(), start=1):
        if found := re.search(rf"""(?:^|[\s{{,])["']?({re.escape(key)})["']?\s*=""", shown):
            return line, found.start(1), shown
    return None


def _two_things(message: str, place: str, column: str, kind: str, shown: str) -> str:
    """Say what is a value already where a table of it begins."""
    key, _, inner = shown[int(column) - 1 :].rstrip(" ]").partition(".")
    said = f"{place}`{key}` is a {kind} already, and cannot hold `{inner}`"
    if key == "workload":
        said += f'; a study with workloads of its own names them in [sweep], as workload = ["{inner}"]'
    return "\n".join([said, *message.split("\n")[1:]])
