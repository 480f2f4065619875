"""What an observer near A captures of a run of the emulator, and what is true of each packet.

The emulator's capture has a frame for each packet when it left its queue or was dropped; its packet log has
the exact times. The observer sees what left towards A, when it left, and what A sends, when A sent it; it
sees nothing of the port of hidden traffic.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

_EPB = 6
_COMMENT = 1
_PCAP_NS = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
_ETHERNET = 14


@dataclass(frozen=True)
class Frame:
    """A frame of the emulator's capture; `size` is that of the packet on the wire."""

    interface: int
    size: int
    data: bytes
    comment: str


def frames(pcapng: bytes) -> Iterator[Frame]:
    """Iterate over the frames of a capture of the emulator (little-endian, nanoseconds)."""
    at = 0
    while at + 12 <= len(pcapng):
        kind, length = struct.unpack_from("<II", pcapng, at)
        if kind == _EPB:
            interface, _, _, kept, size = struct.unpack_from("<IIIII", pcapng, at + 8)
            data = pcapng[at + 28 : at + 28 + kept]
            yield Frame(
                interface, size, data, _comment(pcapng, at + 28 + (kept + 3) // 4 * 4, at + length - 4)
            )
        at += length


def _comment(pcapng: bytes, at: int, end: int) -> str:
    while at + 4 <= end:
        code, length = struct.unpack_from("<HH", pcapng, at)
        if code == _COMMENT:
            return pcapng[at + 4 : at + 4 + length].decode()
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return ""


def ports(frame: bytes) -> tuple[int, int]:
    """Return the ports of a frame with IPv4 (TCP or UDP); (0, 0) of any other."""
    if frame[12:14] != b"\x08\x00" or frame[23] not in (6, 17):
        return 0, 0
    at = _ETHERNET + (frame[_ETHERNET] & 15) * 4
    return struct.unpack_from(">HH", frame, at)


def observe(pcapng: Path, log: Path, hidden: int, capture: Path) -> NDArray[np.float64]:
    """Write what the observer captures (pcap), and return the true queueing delay of each frame.

    Parameters
    ----------
    pcapng, log
        The emulator's capture and packet log; its queues are FIFO.
    hidden
        The port of hidden traffic.
    capture
        The file to write.

    Returns
    -------
    ndarray, shape (frames,)
        Milliseconds; not a number for what A sent.

    Raises
    ------
    ValueError
        Capture and log do not belong together.
    """
    rows = pl.read_parquet(log, columns=["link", "arrive_ns", "depart_ns", "size_bytes"])
    seen: list[tuple[int, float, Frame]] = []
    left = [frame for frame in frames(pcapng.read_bytes()) if not frame.comment.startswith("dropped")]
    for code, link in enumerate(("down", "up")):
        of_link = rows.filter((pl.col("link") == link) & pl.col("depart_ns").is_not_null()).sort("depart_ns")
        mine = [frame for frame in left if frame.interface == code]
        # The last packets may wait in the queue: the log has a row of them, the capture no frame.
        of_link = of_link.head(len(mine))
        if [frame.size - _ETHERNET for frame in mine] != of_link["size_bytes"].to_list():
            raise ValueError(f"{pcapng} and {log}: the packets of the link {link} differ")
        arrive, depart = of_link["arrive_ns"].to_list(), of_link["depart_ns"].to_list()
        for frame, came, went in zip(mine, arrive, depart, strict=True):
            if hidden not in ports(frame.data):
                seen.append((went, (went - came) / 1e6, frame) if code == 0 else (came, float("nan"), frame))
    seen.sort(key=lambda row: row[0])
    with capture.open("wb") as file:
        file.write(_PCAP_NS)
        for at_ns, _, frame in seen:
            head = struct.pack("<IIII", *divmod(at_ns + 10**18, 10**9), len(frame.data), frame.size)
            file.write(head + frame.data)
    return np.array([delay for _, delay, _ in seen])
