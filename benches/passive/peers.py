"""The hosts of the passive testbed: B behind the queue sends, A receives, nobody sees C.

Run by `benches.passive.measure` at either end of the emulator, as ``peers.py FOLDER END CASE SECONDS``.
What the study's hosts did: µTP (libtorrent, whose congestion control is LEDBAT), TCP backlogged, TCP chirp
(bursts of 1, 2, 4 … segments a second apart, from the beginning every 30 s) and TCP heartbeat (64 bytes
each 0.2 s).
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree

SEEN, HIDDEN, UP, TORRENT = 8001, 8002, 8003, 8004
"""Ports of B, whose packets to A are seen; to C; that takes uploads; of libtorrent at both ends."""

_SEGMENT = 1448
_PIECES = 256


def backlogged() -> Iterator[tuple[float, int]]:
    """Yield pauses in seconds and bytes: always something to send."""
    while True:
        yield 0.0, 64 * _SEGMENT


def chirp() -> Iterator[tuple[float, int]]:
    """Yield bursts that double, a second apart, for 10 s of every 30."""
    while True:
        for power in range(10):
            yield 1.0, (1 << power) * _SEGMENT
        yield 20.0, 0


def heartbeat() -> Iterator[tuple[float, int]]:
    """Yield 64 bytes each 0.2 s."""
    while True:
        yield 0.2, 64


PATTERNS: dict[str, Callable[[], Iterator[tuple[float, int]]]] = {
    "backlogged": backlogged,
    "chirp": chirp,
    "heartbeat": heartbeat,
}


def serve(port: int, control: bytes, pattern: Callable[[], Iterator[tuple[float, int]]] | None) -> None:
    """Take one connection, and send by a pattern; without one, take what comes."""
    with socket.create_server(("", port)) as listening:
        # Before there is a connection: one that began with BBR, where that is the default, stays paced.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        connection, _ = listening.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        if pattern is None:
            while connection.recv(1 << 16):
                pass
            return
        for pause_s, size in pattern():
            time.sleep(pause_s)
            connection.sendall(bytes(size))
    except OSError:
        return


def connect(address: str, port: int, control: bytes, *, sends: bool) -> None:
    """Open a connection to B; send all the time, or take what comes."""
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        connection.connect((address, port))
        while True:
            if sends:
                connection.sendall(bytes(1 << 16))
            elif not connection.recv(1 << 16):
                return


def offer(folder: Path) -> None:
    """Make the file that B seeds and its torrent, before there is a bed that the hashing would disturb."""
    import libtorrent

    # What an earlier run has fetched would be all there is to fetch.
    rmtree(folder / "client", ignore_errors=True)
    data = folder / "server" / "data"
    data.parent.mkdir(parents=True, exist_ok=True)
    with data.open("wb") as file:
        file.truncate(_PIECES * (1 << 18))
    files = libtorrent.file_storage()
    libtorrent.add_files(files, str(data))
    made = libtorrent.create_torrent(files, piece_size=1 << 18)
    libtorrent.set_piece_hashes(made, str(data.parent))
    (folder / "torrent").write_bytes(libtorrent.bencode(made.generate()))


def torrent(folder: Path, end: str, other: str, seconds: float) -> None:
    """Transfer a file over µTP, by libtorrent: B seeds what :func:`offer` made, A leeches."""
    import libtorrent

    place = folder / end
    place.mkdir(exist_ok=True)
    session = libtorrent.session(
        {
            "listen_interfaces": f"0.0.0.0:{TORRENT}",
            "enable_dht": False,
            "enable_lsd": False,
            "enable_upnp": False,
            "enable_natpmp": False,
            "enable_incoming_tcp": False,
            "enable_outgoing_tcp": False,
            "in_enc_policy": 2,
            "out_enc_policy": 2,
            "alert_mask": 0,
        }
    )
    flags = libtorrent.torrent_flags
    handle = session.add_torrent(
        {
            "ti": libtorrent.torrent_info(str(folder / "torrent")),
            "save_path": str(place),
            "flags": flags.seed_mode
            if end == "server"
            else flags.default_flags & ~flags.auto_managed & ~flags.paused,
        }
    )
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        if end == "client" and not handle.status().num_peers:
            handle.connect_peer((other, TORRENT))
        time.sleep(0.5)


def main(folder: str, end: str, case: str, seconds: str) -> None:
    """Run what a case has at one end, then leave without a word."""
    seen, hidden, up = case.split("+")
    other = os.environ["SOJOURN_SERVER"]
    jobs: list[Callable[[], None]] = []
    for pattern, port in ((seen, SEEN), (hidden, HIDDEN)):
        # Chirps go by Reno, so that slow start follows the size of the bursts.
        control = b"reno" if pattern == "chirp" else b"cubic"
        if pattern == "utp":
            jobs.append(lambda: torrent(Path(folder), end, other, float(seconds)))
        elif pattern and end == "server":
            jobs.append(lambda p=port, c=control, m=PATTERNS[pattern]: serve(p, c, m))
        elif pattern:
            jobs.append(lambda p=port, c=control: connect(other, p, c, sends=False))
    if up:
        jobs.append(
            (lambda: serve(UP, b"cubic", None))
            if end == "server"
            else (lambda: connect(other, UP, b"cubic", sends=True))
        )
    for job in jobs:
        threading.Thread(target=job, daemon=True).start()
    time.sleep(float(seconds))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
