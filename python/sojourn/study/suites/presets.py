"""Presets: the parameters with which another evaluation ran a suite, from ``presets/NAME.toml`` beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.errors import SojournError, quoted
from sojourn.study.suites.catalogue import Case, Suite
from sojourn.study.suites.link import Link, rate_bps
from sojourn.study.units import nanoseconds


@dataclass(frozen=True)
class Preset:
    """Parameters of another evaluation; without a name it changes nothing.

    Attributes
    ----------
    name : str
        Its name; empty for none.
    about : str
        Whose parameters these are.
    link : str
        The link that it uses, where the command line names none.
    aqm : tuple of str
        The schemes that it compares, likewise.
    cases : tuple of str
        The cases that it has, likewise.
    seeds : int or None
    packet_bytes, buffer_pkts : int or None
        Of all links.
    set : dict
        Keys of every study; ``flows.*.KEY`` is that key of each of its groups of TCP flows.
    case : dict
        By name of a case: ``set`` as above, and ``rtt``, ``rate`` and ``buffer`` that count there.
    open : tuple of (str, str)
        What of the other evaluation is taken over and what is not, for the overview.
    """

    name: str = ""
    about: str = ""
    link: str = ""
    aqm: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    seeds: int | None = None
    packet_bytes: int | None = None
    buffer_pkts: int | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    case: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    open: tuple[Sequence[str], ...] = ()

    @classmethod
    def load(cls, suite: Suite, name: str | None) -> Preset:
        """Read a preset of a suite; without a name the empty one.

        Raises
        ------
        SojournError
            One sentence: the suite has no such preset, or its file is not as it should be.
        """
        if name is None:
            return cls()
        folder = suite.folder / "presets"
        known = sorted(file.stem for file in folder.glob("*.toml"))
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise SojournError(f"--preset {quoted(name)}: {suite.name} has no such preset; {has}")
        try:
            table = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
            return cls(
                name,
                **{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()},
            )
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as error:
            raise SojournError(f"{folder / name}.toml is not a preset: {error}") from None

    def of(self, case: Case, link: Link) -> Link:
        """Return the link as it counts for a case."""
        own = self.case.get(case.name, {})
        found = replace(
            link,
            packet_bytes=self.packet_bytes or link.packet_bytes,
            buffer_pkts=self.buffer_pkts or link.buffer_pkts,
        )
        if "rtt" in own:
            found = replace(found, rtt_ns=nanoseconds(own["rtt"]))
        if "rate" in own:
            found = replace(found, rate_bps=rate_bps(own["rate"]))
        return replace(found, buffer_pkts=own["buffer"]) if "buffer" in own else found

    def keys(self, case: Case, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Iterate over the keys that it sets in a study, and their values."""
        for key, value in {**self.set, **self.case.get(case.name, {}).get("set", {})}.items():
            if not key.startswith("flows.*."):
                yield key, str(value)
                continue
            for i, group in enumerate(document.get("flows") or ()):
                if group.get("transport") != "udp":
                    yield f"flows.{group.get('name', i)}.{key.removeprefix('flows.*.')}", str(value)
