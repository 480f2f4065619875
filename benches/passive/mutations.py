"""Captures damaged on purpose, at random: what a program that reads captures has to bear.

A capture is cut into its head and its records (pcap) or blocks (pcapng); one to four faults are put in, and
all is put together again. The same random numbers make the same faults.
"""

import gzip
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

_PCAP = {
    bytes.fromhex("a1b2c3d4"): ">",
    bytes.fromhex("a1b23c4d"): ">",
    bytes.fromhex("a1b2cd34"): ">",
    bytes.fromhex("d4c3b2a1"): "<",
    bytes.fromhex("4d3cb2a1"): "<",
    bytes.fromhex("34cdb2a1"): "<",
}
_PCAPNG = bytes.fromhex("0a0d0d0a")
_GZIP = bytes.fromhex("1f8b")
_LINK_TYPES = (0, 1, 12, 101, 105, 113, 127, 147, 228, 229, 276, 65535)


def is_capture(start: bytes) -> bool:
    """Say by a file's first bytes whether it is a capture, or a gzip file of one."""
    if start[:2] == _GZIP:
        try:
            start = zlib.decompressobj(31).decompress(start, 4)
        except zlib.error:
            return False
    return start[:4] in _PCAP or start[:4] == _PCAPNG


def plain(capture: bytes) -> bytes:
    """Return a capture without compression, as far as it can be had."""
    if capture[:2] != _GZIP:
        return capture
    try:
        return gzip.decompress(capture)
    except (OSError, EOFError, zlib.error):
        return zlib.decompressobj(31).decompress(capture)


@dataclass
class Pieces:
    """A capture in pieces: what stands before the first record, and the records with their headers."""

    order: str
    head: bytearray
    records: list[bytearray]
    time: int
    """Where a record's time of eight bytes is, and its length, and its frame."""
    length: int
    frame: int

    def joined(self) -> bytes:
        """Return it as a file."""
        return bytes(self.head) + b"".join(self.records)


def pieces(capture: bytes) -> Pieces:
    """Cut a capture at its records; what is not understood stays one piece."""
    if order := _PCAP.get(capture[:4]):
        return _cut(capture, order, 24, (0, 8, 16), lambda at: 16 + _number(capture, order, at + 8))
    order = ">" if capture[8:12] == bytes.fromhex("1a2b3c4d") else "<"
    return _cut(capture, order, 0, (12, 20, 28), lambda at: _number(capture, order, at + 4))


def _cut(
    capture: bytes, order: str, at: int, places: tuple[int, int, int], size: Callable[[int], int]
) -> Pieces:
    records, start = [], at
    while at + places[2] <= len(capture) and 12 <= size(at) <= len(capture) - at:
        records.append(bytearray(capture[at : at + size(at)]))
        at += size(at)
    if at < len(capture):
        records.append(bytearray(capture[at:]))
    return Pieces(order, bytearray(capture[:start]), records, *places)


def _number(of: bytes, order: str, at: int) -> int:
    return int.from_bytes(of[at : at + 4], "big" if order == ">" else "little")


def mutated(capture: bytes, of: random.Random) -> tuple[bytes, list[str]]:
    """Return a capture with faults, and what they are called."""
    whole = pieces(plain(capture))
    names = of.choices(list(FAULTS), k=of.randint(1, 4))
    for name in names:
        if whole.records:
            FAULTS[name](whole, of)
    made = whole.joined()
    # A cut comes last: the file ends there.
    if of.random() < 0.2:
        names.append("cut")
        made = made[: of.randrange(len(made) + 1)]
    return made, names


def behind(capture: bytes) -> bytes:
    """Return a capture as seen behind a queue that lost every seventh packet."""
    whole = pieces(plain(capture))
    del whole.records[6::7]
    return whole.joined()


def _flip(record: bytearray, of: random.Random, start: int, end: int, most: int = 4) -> None:
    end = min(end, len(record))
    for _ in range(of.randint(1, most) if start < end else 0):
        record[of.randrange(start, end)] = of.choice((0, 1, 127, 128, 255, of.randrange(256)))


def _some(whole: Pieces, of: random.Random) -> list[bytearray]:
    """Return one record, or a share of all."""
    if of.random() < 0.5:
        return [of.choice(whole.records)]
    share = of.choice((0.01, 0.1, 0.5))
    return [record for record in whole.records if of.random() < share]


def _header(whole: Pieces, of: random.Random) -> None:
    _flip(of.choice(whole.records), of, 0, whole.frame, most=2)


def _packet(whole: Pieces, of: random.Random) -> None:
    for record in _some(whole, of):
        _flip(record, of, whole.frame, whole.frame + 100)


def _transport(whole: Pieces, of: random.Random) -> None:
    """Sequence numbers, flags, options: behind Ethernet and IPv4, where most captures have them."""
    for record in _some(whole, of):
        _flip(record, of, whole.frame + 34, whole.frame + 74)


def _anywhere(whole: Pieces, of: random.Random) -> None:
    record = of.choice([whole.head or whole.records[0], *of.sample(whole.records, 1)])
    _flip(record, of, 0, len(record), most=8)


def _twice(whole: Pieces, of: random.Random) -> None:
    at = of.randrange(len(whole.records))
    for _ in range(of.choice((1, 1, 2, 100))):
        whole.records.insert(of.randint(at, len(whole.records)), bytearray(whole.records[at]))


def _swapped(whole: Pieces, of: random.Random) -> None:
    for _ in range(of.choice((1, 10, len(whole.records)))):
        one, other = (of.randrange(len(whole.records)) for _ in range(2))
        whole.records[one], whole.records[other] = whole.records[other], whole.records[one]


def _lost(whole: Pieces, of: random.Random) -> None:
    del whole.records[of.randrange(len(whole.records))]


def _wrong_length(whole: Pieces, of: random.Random) -> None:
    record, where = of.choice(whole.records), whole.length + of.choice((0, 4))
    if len(record) >= where + 4:
        had = _number(record, whole.order, where)
        wrong = of.choice((0, 1, had + 1, max(0, had - 1), had * 2, 65535, 2**18 + 1, 2**31, 2**32 - 1))
        struct.pack_into(f"{whole.order}I", record, where, wrong % 2**32)


def _wrong_time(whole: Pieces, of: random.Random) -> None:
    """Set the time of a record, or of all from it on, ahead or back."""
    at, word = of.randrange(len(whole.records)), whole.time + of.choice((0, 4))
    by = of.choice((1, 60, 10**6, 10**9, 2**31, of.randrange(2**32))) * of.choice((-1, 1))
    for record in whole.records[at : of.choice((at + 1, len(whole.records)))]:
        if len(record) >= whole.frame:
            struct.pack_into(
                f"{whole.order}I", record, word, (_number(record, whole.order, word) + by) % 2**32
            )


def _link_type(whole: Pieces, of: random.Random) -> None:
    kind = of.choice((*_LINK_TYPES, of.randrange(2**16)))
    if len(whole.head) == 24:
        struct.pack_into(f"{whole.order}I", whole.head, 20, kind)
        return
    for block in whole.records[:4]:
        if len(block) >= 20 and _number(block, whole.order, 0) == 1:
            struct.pack_into(f"{whole.order}H", block, 8, kind)


FAULTS: dict[str, Callable[[Pieces, random.Random], None]] = {
    "record header": _header,
    "packet": _packet,
    "transport header": _transport,
    "anywhere": _anywhere,
    "twice": _twice,
    "swapped": _swapped,
    "lost": _lost,
    "wrong length": _wrong_length,
    "wrong time": _wrong_time,
    "link type": _link_type,
}
