"""What runs on the testbed for one entry of a study: declared here, run by the agents of `host.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIRST_PAIR = 256
"""Number of the first pair of addresses; smaller ones are the emulator's own."""


@dataclass(frozen=True)
class Settings:
    """What routes between a program's two addresses say to TCP, and how far they are apart.

    Attributes
    ----------
    congestion : str or None
        Congestion control, as the kernel calls it; it is locked.
    initial_window : int or None
        Segments.
    ecn : bool
        Ask for ECN.
    quickack : bool
        Acknowledge every segment.
    min_rto_ms : int or None
        Least retransmission timeout.
    delay_ns : int or None
        One-way delay of both ends together, without that of the hops; None: the path's.
    options : tuple of (int, int, int)
        Options of sockets, for what routes cannot say: level, name, value. See :meth:`Host.tcp`.
    variables : mapping
        Variables of the kernel, which hold for all programs of a point.
    """

    congestion: str | None = None
    initial_window: int | None = None
    ecn: bool = False
    quickack: bool = False
    min_rto_ms: int | None = None
    delay_ns: int | None = None
    options: tuple[tuple[int, int, int], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program with one part at each end.

    Attributes
    ----------
    name : str
        Module of `programs`, whose functions ``client(host)`` and ``server(host)`` are run.
    key : str
        What of the study it is, as ``flows.2`` or ``users.0.3``; names its folder.
    client, server : mapping
        What each part is told, as JSON.
    settings : Settings
        Of the pair of addresses that is its own.
    files : mapping of str to bytes
        Files that lie in its folder when it starts.
    """

    name: str
    key: str
    client: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = Settings()
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def pair(self, number: int) -> dict[str, Any]:
        """Return the pair of addresses of the program in this place of the plan, for the emulator."""
        names = ("congestion", "initial_window", "ecn", "quickack", "min_rto_ms")
        metrics = {name: getattr(self.settings, name) for name in names}
        return {"number": FIRST_PAIR + number, "delay_ns": self.settings.delay_ns, "metrics": metrics}


@dataclass(frozen=True)
class Left:
    """What a program left: what each part handed back, its folder, and the packets between its addresses.

    Attributes
    ----------
    client, server : dict
        As given to :meth:`Host.leave`.
    folder : Path
        Where its files lie until the result is made.
    sent, dropped : (int, int)
        Packets down and up in the measured period, and those of them that queues dropped.
    """

    client: dict[str, Any]
    server: dict[str, Any]
    folder: Path
    sent: tuple[int, int] = (0, 0)
    dropped: tuple[int, int] = (0, 0)
