"""The queues among which the advice is chosen: sizes of a FIFO for each direction, and disciplines.

A FIFO's sizes are 1/8 to 4 bandwidth-delay products, and on lines where that is next to nothing 4 to 128
packets. Disciplines have their own defaults, except that a target delay is never below the time of one and a
half full packets (RFC 8290, 5.2.1; what SQM does on slow links): below it a single packet counts as a queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from sojourn.errors import SojournError, quoted
from sojourn.study.links import WAYS
from sojourn.sweep.advice.line import FULL_BITS, Line, point

Queue = dict[str, Any]

KINDS = ("fifo", "codel", "fq-codel", "cake", "pie", "fq-pie", "cobalt", "sfq", "red")
"""What can be a candidate, from the simplest."""
DEFAULT = ("fifo", "codel", "fq-codel", "cake", "pie")
_TARGETS = {"codel": 5.0, "fq-codel": 5.0, "cake": 5.0, "cobalt": 5.0, "pie": 15.0, "fq-pie": 15.0}
"""Default targets in ms."""
_LIMITS = {"cobalt": "1000pkt", "sfq": "127pkt", "red": "1000pkt"}
"""Limits of those that have none of their own: Linux's of SFQ, and a device's usual 1000 packets."""
_SHARES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
_LEAST = (4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Candidate:
    """A pair of queues, as study files write them."""

    down: Queue
    up: Queue

    @property
    def kind(self) -> str:
        """The discipline, the same both ways."""
        return self.down["kind"]

    @property
    def limits(self) -> tuple[str, str]:
        """Both limits as written; empty where the discipline's own holds."""
        return self.down.get("limit", ""), self.up.get("limit", "")


def read_candidates(text: str | None) -> list[str]:
    """Read ``fifo,codel``: kinds of queues, in the order of :data:`KINDS`.

    Raises
    ------
    SojournError
        A discipline that nobody knows, or one twice.
    """
    if text is None:
        return list(DEFAULT)
    found: list[str] = []
    for word in text.split(","):
        name = word.strip()
        kind = name.replace("_", "-")
        if kind not in KINDS:
            raise SojournError(
                f"--candidates {quoted(text)}: there is no candidate {quoted(name)}; "
                f"expected {', '.join(KINDS)}"
            )
        if kind in found:
            raise SojournError(f"--candidates {quoted(text)}: {kind} is there twice")
        found.append(kind)
    return sorted(found, key=KINDS.index)


def fifo(limits: Sequence[int]) -> Candidate:
    """Return FIFOs of so many packets, down and up."""
    return Candidate(*({"kind": "fifo", "limit": f"{packets}pkt"} for packets in limits))


def sizes(line: Line, way: str) -> list[int]:
    """Return the sizes of a FIFO that are tried, in packets, from the smallest."""
    bdp = line.packets(way, line.rtt_s)
    return [max(least, round(bdp * share)) for share, least in zip(_SHARES, _LEAST, strict=True)]


def discipline(kind: str, line: Line) -> Candidate:
    """Return a discipline on both links of a line."""
    made = []
    for way in WAYS:
        queue: Queue = {"kind": kind}
        one_and_a_half = 1.5e3 * FULL_BITS / line.rate_bps(way)
        if kind in _TARGETS and one_and_a_half > _TARGETS[kind]:
            queue["target"] = f"{ceil(one_and_a_half)}ms"
        if kind in _LIMITS:
            queue["limit"] = _LIMITS[kind]
        made.append(queue)
    candidate = Candidate(*made)
    links = {way: {"rate": getattr(line, way), "queue": getattr(candidate, way)} for way in WAYS}
    point(f"--candidates {kind}", {**links, "rtt": line.rtt})
    return candidate


@dataclass(frozen=True)
class Rule:
    """A rule of thumb for the size of a FIFO."""

    name: str
    limits: tuple[int, int]


def rules(line: Line, flows: tuple[int, int] | None) -> list[Rule]:
    """Return what rules of thumb come to on a line; `flows` long ones share each direction at the worst.

    Where their number is not known, there is no rule of it.
    """
    bdp = [line.packets(way, line.rtt_s) for way in WAYS]

    def rule(name: str, down: float, up: float) -> Rule:
        return Rule(name, (max(1, round(down)), max(1, round(up))))

    return [
        rule("1 BDP", bdp[0], bdp[1]),
        *([rule("BDP/√n", bdp[0] / sqrt(flows[0]), bdp[1] / sqrt(flows[1]))] if flows else []),
        rule("2 BDP", 2 * bdp[0], 2 * bdp[1]),
        rule("tiny: 10 packets", 10, 10),
        rule("vendor's 1000 packets", 1000, 1000),
    ]
