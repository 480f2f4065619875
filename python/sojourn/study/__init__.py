"""A study file, read and expanded into points."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from sojourn import _core
from sojourn.errors import SojournError, printable, quoted
from sojourn.study import library
from sojourn.study.entries import counted_from_one
from sojourn.study.grouped import grouped
from sojourn.study.labels import chosen, listed
from sojourn.study.locations import located
from sojourn.study.missing import explained
from sojourn.study.point import Point, axes_of, label_text

Key = TypeVar("Key")
__all__ = [
    "Point",
    "Study",
    "assignments",
    "axes_of",
    "expand",
    "label_text",
    "listed",
    "selection",
    "whole_first",
]


@dataclass(frozen=True)
class Study:
    """A study document and where it came from; made by :meth:`load`.

    Attributes
    ----------
    text : str
        The document (JSON), nothing filled in.
    file : str
        Path of the study file, as it was given.
    sets : tuple of (str, str)
        Keys that were replaced, and by what.
    folder : Path
        Where the study file lies; its traces and tables are looked for there.
    """

    text: str = field(repr=False)
    file: str
    sets: tuple[tuple[str, str], ...] = ()
    folder: Path = Path()

    @classmethod
    def load(cls, file: str | os.PathLike[str], sets: Iterable[tuple[str, str]] = ()) -> Study:
        """Read a study file.

        Parameters
        ----------
        file
            Path of the TOML file.
        sets
            Keys of the study to replace, as ``("path.down.rate", "8Mbit")``.

        Raises
        ------
        SojournError
            One sentence: the file cannot be read.
        StudyError
            One sentence: the file, the line or key, what was found, what was expected.
        """
        path, sets = library.locate(file), tuple(sets)
        text, name = _read(path), printable(str(file))
        if any(key == "extends" for key, _ in sets):
            raise SojournError(f"{name}: extends cannot be replaced; write it in the study file")
        extended: list[tuple[str, str]] = []
        try:
            extended = _extended(text, path)
            document = _core.parse(text, name, whole_first(sets), extended)
        except _core.StudyError as error:
            message = located(explained(str(error), text, sets), [(text, name), *extended])
            raise _core.StudyError(counted_from_one(message)) from None
        return cls(document, str(file), sets, path.parent)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The study as plain JSON."""
        return json.loads(self.text)

    @property
    def name(self) -> str:
        """Name of the study, which is also the name of its directory of results.

        Raises
        ------
        SojournError
            No directory can have it.
        """
        name = self.document["name"]
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise SojournError(
                f"{self.file}: the study's name {quoted(name)} cannot be the name of a directory"
            )
        return name

    @cached_property
    def points(self) -> list[Point]:
        """Every point and replication, in study order.

        Raises
        ------
        SojournError
            One sentence: what a point names is not there, or is not what it should be.
        """
        return [Point.settle(each, folder=self.folder) for each in expand(self.document, self.file)]

    def replicated(self, wanted: Mapping[Key, range], key: Callable[[Mapping[str, Any]], Key]) -> list[Point]:
        """Return the points of the replications that are wanted of cells; `key` names one by its labels."""
        times = max((replications.stop for replications in wanted.values()), default=0)
        entries = expand({**self.document, "repeat": times}, self.file) if wanted else []
        return [
            Point.settle(each, folder=self.folder)
            for each in entries
            if each["replication"] in wanted.get(key(each["point"]), ())
        ]

    @property
    def command(self) -> str:
        """The command that runs this study again."""
        sets = [word for key, value in self.sets for word in ("--set", f"{key}={value}")]
        return shlex.join(["sojourn", "run", self.file, *sets])

    def select(self, only: Mapping[str, Iterable[str]]) -> list[Point]:
        """Return the points whose labels are among those wanted for every axis named in `only`.

        Another spelling of a label is that label, where it can be no other: ``fq-codel`` is ``fq_codel``.

        Raises
        ------
        SojournError
            One sentence: there is no such axis, or no such label on it.
        """
        labels: dict[str, dict[str, None]] = {}
        for point in self.points:
            for axis, label in axes_of(point).items():
                labels.setdefault(axis, {})[label] = None
        wanted: dict[str, set[str]] = {}
        for axis, values in only.items():
            if axis not in labels:
                raise SojournError(f"--only {axis}: {self.file} has no such axis; it has {listed(labels)}")
            wanted[axis] = {chosen(axis, value, labels[axis], self.file) for value in values}
        return [
            point
            for point in self.points
            if all(axes_of(point)[axis] in values for axis, values in wanted.items())
        ]


def _read(path: Path) -> str:
    """Return the text of a study file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        beside = sorted(map(str, path.parent.glob("*.toml")))
        near = get_close_matches(str(path), beside, n=1) + get_close_matches(path.stem, library.names(), n=1)
        meant = (
            f"did you mean {near[0]}?" if near else f"the studies that ship are {listed(library.names(), 20)}"
        )
        raise SojournError(f"{path}: there is no such study file; {meant}") from None
    except IsADirectoryError:
        raise SojournError(f"{path} is a directory; expected a study file (TOML)") from None
    except UnicodeDecodeError as error:
        raise SojournError(
            f"{path} is not UTF-8 text (byte {error.start}); expected a study file (TOML)"
        ) from None
    except (OSError, ValueError) as error:
        raise SojournError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None


def _extended(text: str, path: Path) -> list[tuple[str, str]]:
    """Return the texts and names of the studies that a study extends, nearest first."""
    found: list[tuple[str, str]] = []
    seen = {path.resolve()}
    while (name := _core.extends(text, printable(str(path)))) is not None:
        above, path = path, library.beside(path, name)
        try:
            known, there = path.resolve() in seen, path.is_file()
        except (OSError, ValueError):
            known, there = False, False
        if not there:
            raise SojournError(
                f"{above} extends {quoted(name)}: there is no such study file beside it, "
                "and none of that name ships"
            )
        if known:
            raise SojournError(f"{above} extends {quoted(name)}, which extends it in turn")
        seen.add(path.resolve())
        text = _read(path)
        found.append((text, printable(str(path))))
    return found


def expand(document: dict[str, Any], file: str) -> list[dict[str, Any]]:
    """Return the points of a study document, not settled; an error names the file that it came from."""
    try:
        return [json.loads(text) for text in _core.points(json.dumps(document))]
    except _core.StudyError as error:
        message = explained(str(error), "")
        message = message if file in message else f"{file}: {message}"
        raise SojournError(counted_from_one(message)) from None


def assignments(words: Iterable[str], option: str) -> list[tuple[str, str]]:
    """Split `KEY=VALUE` words of a command-line option."""
    pairs = []
    for word in words:
        key, equals, value = word.partition("=")
        if not word.isascii() and word != word.encode(errors="replace").decode():
            raise SojournError(f"{option} {quoted(word)} is not UTF-8 text")
        if not equals or not key:
            raise SojournError(
                f"{option} {quoted(word)}: expected {'AXIS' if option == '--only' else 'KEY'}=VALUE"
            )
        pairs.append((key.strip(), value))
    return pairs


def whole_first(sets: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return keys to replace with every table before what is in it: in which order they are given is one.

    >>> whole_first([("path.down.queue.limit", "9pkt"), ("path.down.queue", "{ kind = 'codel' }")])[0][0]
    'path.down.queue'
    """
    return sorted(sets, key=lambda pair: pair[0].count("."))


def selection(words: Iterable[str]) -> dict[str, list[str]]:
    """Gather the labels of each axis that `AXIS=VALUE` words of ``--only`` name."""
    return grouped(assignments(words, "--only"))
