"""What a choice of buffer comes to: packets, bytes and milliseconds, whatever unit it was written in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sojourn.errors import spaced


@dataclass(frozen=True)
class Size:
    """What the queue of one link holds at most: the least and the most over conditions."""

    link: str
    packets: tuple[int, int]
    bytes: tuple[int, int]
    ms: tuple[float, float] | None

    @property
    def text(self) -> str:
        """The size in words."""
        packets = "packet" if self.packets == (1, 1) else "packets"
        words = f"{_range(self.packets, spaced)} {packets}, {_range(self.bytes, spaced)} bytes"
        return words if self.ms is None else f"{words}, {_range(self.ms, ms_text)} ms"

    def row(self) -> list[str]:
        """Return the cells of a table: link, packets, bytes, ms."""
        ms = "–" if self.ms is None else _range(self.ms, ms_text)
        return [self.link, _range(self.packets, spaced), _range(self.bytes, spaced), ms]


def sizes(results: Iterable[Mapping[str, Any]]) -> list[Size]:
    """Return what the queues of some results hold, link by link; links without a limit are left out."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        for link, about in (result.get("links") or {}).items():
            if about.get("limit"):
                found.setdefault(link, []).append(about["limit"])
    return [
        Size(
            link,
            _ends([limit["packets"] for limit in limits]),
            _ends([limit["bytes"] for limit in limits]),
            None
            if any(limit["ms"] is None for limit in limits)
            else _ends([limit["ms"] for limit in limits]),
        )
        for link, limits in found.items()
    ]


def _ends(numbers: Sequence[Any]) -> tuple[Any, Any]:
    return min(numbers), max(numbers)


def ms_text(ms: float) -> str:
    """Write milliseconds with four digits, or to the millisecond; never with an exponent."""
    return spaced(ms) if ms >= 1000 else _without_exponent(f"{ms:.4g}")


def ms_brief(ms: float) -> str:
    """Write milliseconds with three digits, or to the millisecond; never with an exponent.

    >>> ms_brief(10**6 / 7), ms_brief(2.2371), ms_brief(3e-5)
    ('142 857', '2.24', '0.00003')
    """
    return spaced(ms) if ms >= 1000 else _without_exponent(f"{ms:.3g}")


def _without_exponent(number: str) -> str:
    return f"{Decimal(number):f}" if "e" in number else number


def _range(ends: tuple[float, float], form: Callable[[float], str]) -> str:
    low, high = map(form, ends)
    return low if low == high else f"{low} to {high}"
