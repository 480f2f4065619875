"""What a kind of source or user is on the testbed: its programs, and what they left, as a run says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from sojourn import _core
from sojourn.study import Point
from sojourn.study.units import nanoseconds
from sojourn.sweep.testbed import rehearsal
from sojourn.sweep.testbed.program import Left, Program


@dataclass(frozen=True)
class Place:
    """Where an entry stands in a study.

    Attributes
    ----------
    point : Point
        The point.
    part : "flows" or "users"
        The list that it is in.
    number : int
        Its place there.
    first_user : int
        Number of the entry's first user over the whole scenario, which tables have as `user`.
    """

    point: Point
    part: str
    number: int
    first_user: int = 0

    @property
    def key(self) -> str:
        """Its key in the scenario, as ``flows.2``."""
        return f"{self.part}.{self.number}"

    @property
    def entry(self) -> dict[str, Any]:
        """The entry itself."""
        return self.point.document[self.part][self.number]

    @property
    def duration_ns(self) -> int:
        """When the run is over."""
        return nanoseconds(self.point.document["duration"])

    @property
    def warmup_ns(self) -> int:
        """Since when it is measured."""
        return nanoseconds(self.point.document["warmup"])

    def stream(self, k: int) -> _core.Stream:
        """Return the random stream of the entry's k-th source or user: the simulator's own."""
        return _core.Stream(self.point.seed, self.point.replication, f"{self.entry['name']}.{k}")

    def start_ns(self, k: int) -> int:
        """Return when the entry's k-th source starts."""
        within_ns = nanoseconds(self.entry["start-within"])
        return nanoseconds(self.entry.get("start", "0ns")) + int(self.stream(k).uniform() * within_ns)

    def rehearse(self) -> rehearsal.Rehearsal:
        """Return what the entry does on an ideal path; see :mod:`.rehearsal`."""
        return rehearsal.rehearse(self.point, self.entry, self.part)

    @property
    def delay_ns(self) -> int | None:
        """One-way delay of the entry's own hosts, None where they are as far as the path's."""
        if (rtt := self.entry.get("rtt")) is None:
            return None
        hops = self.point.document["path"].get("hop", ())
        return nanoseconds(rtt) // 2 - sum(nanoseconds(hop["delay"]) for hop in hops)


@dataclass(frozen=True)
class Connection:
    """A connection of the background traffic, as its sender saw it in the measured period.

    Attributes
    ----------
    began_ns, ended_ns : int, int or None
        None: it was open at the end.
    retransmits, timeouts, timeout_wait_s
        In the measured period.
    """

    began_ns: int
    ended_ns: int | None
    retransmits: int = 0
    timeouts: int = 0
    timeout_wait_s: float = 0.0


@dataclass(frozen=True)
class Gathered:
    """What the programs of an entry left, as the simulator would have said it.

    Attributes
    ----------
    tables : dict
        Of users: the tables of ``_core.run`` by name, with all their columns.
    delivered : list of int
        Of flows: payload bytes that arrived in the measured period, of each of the entry's sources.
    connections : list of Connection
        Of flows over TCP.
    rtt_ns : list of int
        Of flows over TCP: round-trip times that senders measured in the measured period.
    series : list of list
        Of flows over TCP, in the order of their opening: what :func:`.series.flows` takes of each.
    notes : list of str
        What should be known of it, sentences.
    facts : dict
        Further numbers, as JSON.
    """

    tables: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)
    delivered: list[int] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    rtt_ns: list[int] = field(default_factory=list)
    series: list[Sequence[Sequence[int]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


class Kind(Protocol):
    """A kind of source or user; `kinds` lists them."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run: a key below it, a colon, and the reason. None: it can."""
        ...

    def programs(self, place: Place) -> list[Program]:
        """Return the programs of an entry: one for all of its sources or users, or one for each."""
        ...

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return what its programs left, in their order, as the simulator would have said it."""
        ...
