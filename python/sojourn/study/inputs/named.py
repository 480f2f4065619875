"""Files that scenarios name and results depend on: found and digested early, read again when a point is run.

A table of a scenario names a file, relative to the study's. When a point is made, the path is made absolute
and the file's SHA-256 put beside it; the digest, and not the path, is part of what names the result. When the
point is run, the text is put beside that, and the file must still have the digest.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError


@dataclass(frozen=True)
class Files:
    """Files of one sort.

    Attributes
    ----------
    key : str
        The key of a table that names the file.
    what : str
        What such a file is called.
    most_bytes : int
    tables
        Iterates over the tables of a scenario that name one, each with what the engine takes the file for.
    text
        Returns what the engine reads, from the path and the content; SojournError if it is no such file.
    wrong : str
        Said between the path of a file and what the engine finds wrong in it.
    """

    key: str
    what: str
    most_bytes: int
    tables: Callable[[Mapping[str, Any]], Iterator[tuple[str, dict[str, Any]]]]
    text: Callable[[Path, bytes], str]
    wrong: str = ""

    def settle(self, document: dict[str, Any], folder: Path) -> None:
        """Find the files of a scenario, check them, and write down where they are and what they hold.

        Parameters
        ----------
        document
            The scenario, changed in place.
        folder
            Where the study file lies.

        Raises
        ------
        SojournError
            One sentence: the file, the line, and what was expected.
        """
        for kind, table in self.tables(document):
            file = (folder / table[self.key]).absolute()
            table["sha256"] = self.digest(file, kind)
            table[self.key] = str(file)

    def identity(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scenario with the digests of its files, but not their places; nothing if it has none."""
        if not any(self.tables(document)):
            return {}
        document = copy.deepcopy(dict(document))
        for _, table in self.tables(document):
            del table[self.key]
        return {"document": document}

    def fill(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a settled scenario with the texts of its files, for the engine to run.

        Raises
        ------
        SojournError
            A file has changed since the scenario was settled.
        """
        if not any(self.tables(document)):
            return document
        document = copy.deepcopy(document)
        for _, table in self.tables(document):
            file = Path(table[self.key])
            content = self._read(file)
            if _sha256(content) != table.get("sha256"):
                raise SojournError(f"{file} has changed since the study was read; run the study again")
            table["content"] = self.text(file, content)
        return document

    def digest(self, file: Path, kind: str) -> str:
        """Check a file and return its digest; one that has changed is read again."""
        try:
            changed = file.stat().st_mtime_ns
        except OSError:
            changed = 0
        return _digest(self, str(file), kind, changed)

    def _read(self, file: Path) -> bytes:
        try:
            if file.stat().st_size > self.most_bytes:
                most = f"{self.most_bytes // 1_000_000} MB"
                raise SojournError(f"{file} is larger than {most}; expected a {self.what}")
            return file.read_bytes()
        except FileNotFoundError:
            raise SojournError(
                f"{file}: there is no such {self.what}; it is looked for beside the study file"
            ) from None
        except OSError as error:
            raise SojournError(f"{file} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=256)
def _digest(files: Files, file: str, kind: str, changed: int) -> str:
    content = files._read(Path(file))
    try:
        _core.check_trace(kind, files.text(Path(file), content))
    except _core.StudyError as error:
        raise SojournError(f"{file}{files.wrong}: {error}") from None
    return _sha256(content)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
