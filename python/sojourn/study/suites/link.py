"""The link that a suite is run on: its rate and round trip, and what of a case follows from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from math import ceil

from sojourn.errors import SojournError, quoted
from sojourn.study.units import nanoseconds

_RATE = re.compile(r"(\d+(?:\.\d+)?)(kbit|Mbit|Gbit)")
_BITS = {"kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
_TERM = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d+)?|)\s*([CRS])\s*")


def rate_bps(text: str) -> int:
    """Read a rate, as ``10Mbit``; one sentence if it is none."""
    found = _RATE.fullmatch(text.strip())
    bits = Decimal(found[1]) * _BITS[found[2]] if found else Decimal(0)
    if not bits:
        why = "; bps does not say bits or bytes" if "bps" in text.lower() else ""
        raise SojournError(
            f"{quoted(text)} is not a rate{why}; expected a number with kbit, Mbit or Gbit, as 10Mbit"
        )
    return int(bits)


def half_up(value: Decimal) -> int:
    """Round to a whole number, halves away from zero: RFC 7928 §8.2 does not say the rule of its ROUND."""
    return int(value.quantize(Decimal(1), ROUND_HALF_UP))


@dataclass(frozen=True)
class Link:
    """A bottleneck.

    Attributes
    ----------
    rate_bps : int
        C, its capacity in bit/s.
    rtt_ns : int
        R, the base round trip in nanoseconds.
    packet_bytes : int
        A full-sized packet at IP, in which S is counted.
    buffer_pkts : int or None
        The buffer where one is given; by default one BDP, rounded up.
    """

    rate_bps: int
    rtt_ns: int
    packet_bytes: int = 1500
    buffer_pkts: int | None = None

    @classmethod
    def read(cls, text: str, packet_bytes: int = 1500) -> Link:
        """Read a link, as ``10Mbit/40ms``.

        Raises
        ------
        SojournError
            One sentence: it is no link.
        """
        rate, slash, rtt = text.partition("/")
        if not slash:
            raise SojournError(f"--link {quoted(text)}: expected a rate and a round trip, as 10Mbit/40ms")
        try:
            link = cls(rate_bps(rate), nanoseconds(rtt), packet_bytes)
        except SojournError as error:
            raise SojournError(f"--link {quoted(text)}: {error}") from None
        if link.rtt_ns < 1000:
            raise SojournError(
                f"--link {quoted(text)}: a round trip of {rtt.strip()} is too short; write 1us or more"
            )
        return link

    @property
    def name(self) -> str:
        """How it is written, and the name of its directory with a hyphen: ``10Mbit/40ms``."""
        return f"{rate_text(self.rate_bps)}/{time_text(self.rtt_ns)}"

    def bdp_pkts(self, rtt_ns: int | None = None) -> Decimal:
        """The bandwidth-delay product in packets, not rounded; of another round trip if one is given."""
        bits = Decimal(self.rate_bps) * Decimal(self.rtt_ns if rtt_ns is None else rtt_ns) / 10**9
        return bits / 8 / self.packet_bytes

    def buffer(self, rtt_ns: int | None = None) -> int:
        """The buffer in packets: that which is given, or one BDP, rounded up, at least 2."""
        if self.buffer_pkts is not None:
            return self.buffer_pkts
        return max(2, ceil(self.bdp_pkts(rtt_ns)))

    @property
    def size_pkts(self) -> Decimal:
        """S of RFC 7928 §8.2.1: BDP and buffer in packets, not rounded."""
        return self.bdp_pkts() + self.buffer()

    def value(self, formula: str) -> str:
        """Return what a formula of a suite comes to, as a study file has it.

        ``2 C`` is a rate, ``0.5 R`` a time, ``0.036 S`` a number of flows: rounded half up, at least 1; of a
        difference of two, as ``0.081 S - 0.036 S``, each is rounded.

        Raises
        ------
        SojournError
            One sentence: it is no formula.
        """
        terms, end = [], 0
        for found in _TERM.finditer(formula):
            if found.start() != end or (terms and not found[1]):
                break
            end = found.end()
            terms.append((-1 if found[1] == "-" else 1, Decimal(found[2] or 1), found[3]))
        kinds = {kind for *_, kind in terms}
        if end != len(formula) or len(kinds) != 1:
            raise SojournError(
                f'{quoted(formula)} is not a formula; expected multiples of C, R or S, as "0.036 S" or "2 C"'
            )
        kind = kinds.pop()
        if kind == "S":
            # With a study of "how many more", both counts are at least one flow, and so is their difference.
            counts = [sign * max(1, half_up(factor * self.size_pkts)) for sign, factor, _ in terms]
            return str(max(1, sum(counts)))
        whole = sum(sign * factor for sign, factor, _ in terms)
        return rate_text(int(whole * self.rate_bps)) if kind == "C" else time_text(int(whole * self.rtt_ns))


def rate_text(bps: int) -> str:
    """Write a rate with the largest unit in which it has at most three decimals."""
    for unit, bits in sorted(_BITS.items(), key=lambda item: -item[1]):
        if bps >= bits and bps * 1000 % bits == 0:
            return f"{_short(Decimal(bps) / bits)}{unit}"
    return f"{_short(Decimal(bps) / 1000)}kbit"


def time_text(ns: int) -> str:
    """Write a time in ms, or in the largest smaller unit that it is a whole number of."""
    for unit, length in (("ms", 10**6), ("us", 10**3)):
        if ns % length == 0:
            return f"{ns // length}{unit}"
    return f"{ns}ns"


def _short(value: Decimal) -> str:
    return f"{value.normalize():f}"
