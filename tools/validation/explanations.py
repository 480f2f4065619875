"""Why rows are outside: hand-written sentences by row."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable
from importlib.resources import files

from tools.validation.checks import Check


class Explanations:
    """The sentences of ``explanations.toml``, and which of them were wanted."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        if texts is None:
            file = files("tools.validation").joinpath("explanations.toml")
            texts = tomllib.loads(file.read_text(encoding="utf-8"))
        self.texts = texts
        self._used: set[str] = set()

    def of(self, check: Check) -> str | None:
        """Return the explanation of a row that is outside, or None."""
        for pattern, text in self.texts.items():
            if fnmatch.fnmatchcase(check.key, pattern):
                self._used.add(pattern)
                return text
        return None

    def idle(self) -> list[str]:
        """Return the patterns that no row has used."""
        return [pattern for pattern in self.texts if pattern not in self._used]

    def unexplained(self, checks: Iterable[Check]) -> list[Check]:
        """Return the rows that are outside and have no explanation."""
        return [check for check in checks if not check.ok and self.of(check) is None]
