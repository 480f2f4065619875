"""Command lines of plain words, read without the parser.

Loading the parser (cyclopts, attrs) takes as long as half a million packets take to be measured. Where all
words are names of files, and options of a verb with numbers, texts and files as their values, the verb's own
signature says how to read them. Everything else is the parser's: help, lists, choices, `--option=value`,
mistakes. The parser reads plain words the same: tests/test_cli_plain.py holds one against the other.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

NUMBER = frozenset("0123456789")
DECIMAL = NUMBER | {"."}


def plain(verb: Callable[..., Any], words: Sequence[str]) -> tuple[list[Path], dict[str, Any]] | None:
    """Return what to call a verb with, or None where the words are the parser's to read."""
    code, kinds = verb.__code__, verb.__annotations__
    named = code.co_argcount + code.co_kwonlyargcount
    options = {f"--{name.strip('_').replace('_', '-')}": name for name in code.co_varnames[:named]}
    # Only `*files: Path` takes words without an option.
    takes_files = kinds.get(code.co_varnames[named]) == "Path"
    files: list[Path] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name = options.get(word)
        if name is None:
            if word.startswith("-") or not word or not takes_files:
                return None
            files.append(Path(word))
            continue
        kind = kinds[name].removesuffix(" | None")
        value = True if kind == "Flag" else _value(kind, next(rest, ""))
        if value is None or name in given:
            return None
        given[name] = value
    return files, given


def _value(kind: str, word: str) -> Any:
    """Return the value that a word is, or None where that is not plain."""
    # The parser has a meaning of its own for some of these.
    if not word or word.startswith("-") or word.casefold() in ("none", "null"):
        return None
    if kind == "Path":
        return Path(word)
    if kind == "str":
        return word
    if kind == "int" and NUMBER.issuperset(word) and (word[0] != "0" or word == "0"):
        return int(word)
    if kind == "float" and DECIMAL.issuperset(word) and word[0] != "." and word.count(".") < 2:
        return float(word)
    return None
