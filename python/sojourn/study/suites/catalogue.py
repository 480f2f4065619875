"""Suites: what is in them, read from their file ``suite.toml`` beside the studies that are their cases."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError, printable, quoted
from sojourn.study import library
from sojourn.study.suites.link import Link

FOLDER = library.SHIPPED / "suites"
"""Where the suites that ship lie."""


@dataclass(frozen=True)
class Under:
    """A queue under test in a case: its key, its share of the buffer, and which scheme stands there."""

    key: str
    buffer: float = 1.0
    scheme: str = "same"


@dataclass(frozen=True)
class Case:
    """A case of a suite.

    Attributes
    ----------
    name : str
        As pages and folders call it: the section, or more.
    study : Path
        Its study file.
    title, weight : str
        What it is about; MUST, SHOULD, RECOMMENDED or MAY.
    classes : tuple of str
        The groups of flows and users that have an ellipse each; none: all traffic together.
    scale : dict
        Keys of the study that follow the link, as formulas.
    queues : tuple of Under
        The queues under test.
    each : str
        An axis whose every value is a case of its own.
    buffer : str
        The round trip whose BDP is the buffer; empty: the link's.
    capacity : str
        The capacity that counts for S and the buffer; empty: the link's.
    ecn : bool
        Queues that can mark do.
    checks : tuple of str
        Which checks are made, see :mod:`sojourn.report.suite.checks`.
    loss : float or None
        The loss that the case is made for.
    open : tuple of (str, str)
        What is left open, and what was chosen.
    solo : str
        The setting in which the first class is alone: harm to it is shown in the others.
    link : str
        The case's own link and, in `packets`, its buffer, in a suite whose cases have links of their own.
    """

    name: str
    study: Path
    title: str
    weight: str
    classes: tuple[str, ...] = ()
    scale: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[Under, ...] = (Under("path.down.queue"),)
    each: str = ""
    buffer: str = ""
    capacity: str = ""
    ecn: bool = False
    checks: tuple[str, ...] = ()
    loss: float | None = None
    open: tuple[tuple[str, str], ...] = ()
    solo: str = ""
    link: str = ""
    packets: int | None = None

    @property
    def named(self) -> str:
        """How a command names its study: that of a suite that ships by name, others by their file."""
        if self.study.is_relative_to(library.SHIPPED):
            return self.study.relative_to(library.SHIPPED).with_suffix("").as_posix()
        return str(self.study)

    @property
    def own_link(self) -> Link | None:
        """The link of a case that has one of its own."""
        return replace(Link.read(self.link), buffer_pkts=self.packets) if self.link else None


@dataclass(frozen=True)
class Suite:
    """A suite: its cases and its defaults; read by :meth:`load`."""

    name: str
    title: str
    folder: Path
    link: str
    aqm: tuple[str, ...]
    seeds: int
    packet_bytes: int
    cases: tuple[Case, ...]
    open: tuple[tuple[str, str], ...] = ()

    @classmethod
    def load(cls, name: str) -> Suite:
        """Read a suite that ships, or one of the user's: a folder with a ``suite.toml``.

        Raises
        ------
        SojournError
            One sentence: there is no such suite, or its file is not as it should be.
        """
        shipped = names()
        folder = FOLDER / name if name in shipped else Path(name)
        file = folder / "suite.toml"
        try:
            table = tomllib.loads(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise SojournError(
                f"{quoted(name)} is not a suite; expected {', '.join(shipped)}, or a folder with a suite.toml"
            ) from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SojournError(f"{printable(str(file))} is not a suite: {error}") from None
        try:
            shared = table.get("scale", {})
            cases = tuple(_case(each, folder, shared) for each in table["case"])
            return cls(
                table["name"],
                table["title"],
                folder,
                table.get("link", ""),
                tuple(table["aqm"]),
                table["seeds"],
                int(table.get("packet", "1500B").removesuffix("B")),
                cases,
                tuple(map(tuple, table.get("open", ()))),
            )
        except KeyError as error:
            raise SojournError(f"{printable(str(file))}: the key {error} is missing") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise SojournError(f"{printable(str(file))} is not as a suite should be: {error}") from None

    @property
    def called(self) -> str:
        """What its results are called: a copy is not what it was copied from, whatever its file says."""
        shipped = names()
        if self.folder.parent == FOLDER or self.name not in shipped:
            return self.name
        folder = self.folder.resolve().name
        return f"own-{folder}" if folder in shipped else folder

    def choose(self, names: list[str] | None) -> tuple[Case, ...]:
        """Return the cases that are wanted, by name; ``8.2`` stands for all that begin with ``8.2.``."""
        if not names:
            return self.cases
        found = []
        for name in names:
            some = [
                case
                for case in self.cases
                if case.name == name or case.name.startswith((f"{name}.", f"{name}-"))
            ]
            if not some:
                known = ", ".join(case.name for case in self.cases)
                raise SojournError(f"--case {quoted(name)}: {self.name} has no such case; it has {known}")
            found += some
        return tuple(case for case in self.cases if case in found)


def names() -> list[str]:
    """Return the names of the suites that ship."""
    return sorted(file.parent.name for file in FOLDER.glob("*/suite.toml"))


def _case(table: Mapping[str, Any], folder: Path, shared: Mapping[str, str]) -> Case:
    known = {each.name for each in fields(Case)}
    if unknown := table.keys() - known:
        raise ValueError(f"a case has no key {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    queues = table.get("queues", ({"key": "path.down.queue"},))
    made = {
        "name": table.get("name", table["study"]),
        "study": folder / f"{table['study']}.toml",
        "title": table["title"],
        "weight": table["weight"],
        "scale": {key: formula for key, formula in {**shared, **table.get("scale", {})}.items() if formula},
        "queues": tuple(Under(**each) for each in queues),
        "open": tuple(map(tuple, table.get("open", ()))),
    }
    made |= {key: tuple(table[key]) for key in ("classes", "checks") if key in table}
    return Case(**{**table, **made})
