"""Files that a study names: traces of links (mahimahi) and of video frames (EvalVid senders).

A table of a scenario with the key ``trace`` names a file, relative to the study's. When a point is made,
the path is made absolute and the file's SHA-256 put beside it; the digest, and not the path, is part of what
names the result. When the point is run, the text is put beside that, and it must still have the digest.
"""

import copy
import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study.links import access_links, links

_MOST_BYTES = 200_000_000


def settle(document: dict[str, Any], folder: Path) -> None:
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
    for kind, table in _tables(document):
        file = (folder / table["trace"]).absolute()
        table["sha256"] = _digest(str(file), kind, _changed(file))
        table["trace"] = str(file)


def identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario with the digests of its traces, but not their places; nothing if it has none."""
    if not any(_tables(document)):
        return {}
    document = copy.deepcopy(dict(document))
    for _, table in _tables(document):
        del table["trace"]
    return {"document": document}


def fill(document: dict[str, Any]) -> dict[str, Any]:
    """Return a settled scenario with the texts of its traces, for the engine to run.

    Raises
    ------
    SojournError
        A trace has changed since the scenario was settled.
    """
    if not any(_tables(document)):
        return document
    document = copy.deepcopy(document)
    for _, table in _tables(document):
        file = Path(table["trace"])
        content = _read(file)
        if _sha256(content) != table.get("sha256"):
            raise SojournError(f"{file} has changed since the study was read; run the study again")
        table["content"] = content
    return document


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the tables that name a file, each with what the file is: a link's or video's."""
    for table in chain((link for _, link in links(document)), access_links(document)):
        rate = table.get("rate")
        if isinstance(rate, dict) and "trace" in rate:
            yield "link", rate
    for flows in document.get("flows") or ():
        source = flows.get("source")
        if isinstance(source, dict) and "trace" in source:
            yield "video", source


@lru_cache(maxsize=256)
def _digest(file: str, kind: str, changed: int) -> str:
    """Check a file and return its digest; `changed` is here so that a file that changes is read again."""
    content = _read(Path(file))
    try:
        _core.check_trace(kind, content)
    except _core.StudyError as error:
        raise SojournError(f"{file}: {error}") from None
    return _sha256(content)


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SojournError(f"{file} is larger than {_MOST_BYTES // 1_000_000} MB; expected a trace")
        return file.read_bytes().decode()
    except FileNotFoundError:
        raise SojournError(
            f"{file}: there is no such trace; it is looked for beside the study file"
        ) from None
    except UnicodeDecodeError as error:
        raise SojournError(f"{file} is not text (byte {error.start}); expected a trace") from None
    except OSError as error:
        raise SojournError(f"{file} cannot be read: {error.strerror}") from None
