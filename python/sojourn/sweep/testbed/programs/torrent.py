"""A transfer over µTP by libtorrent: one end has the file, the other takes it.

Arguments: ``sends`` (this end does), ``start_ns``, ``stop_ns`` (may be null), ``size``, ``target_ms``. The
file is blanks and is not looked at, so that nobody waits for a disk or for digests. TCP, encryption and
everything by which peers find each other are off.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_PIECE = 1 << 20
_MOST = 8 << 30
"""Bytes of the file: a longer one is not had in any run that libtorrent keeps up with."""
_LOOK_NS = 20_000_000
_COUNTERS = ("utp.utp_packet_resend", "utp.utp_timeout")


def client(host: Host) -> None:
    """Run the client's end."""
    import libtorrent

    told = host.arguments
    size = min(told["size"], _MOST)
    session = libtorrent.session(_settings(libtorrent, host))
    place = host.folder / host.end
    place.mkdir()
    if told["sends"]:
        with (place / "blanks").open("wb") as file:
            file.truncate(size)
    parameters = libtorrent.add_torrent_params()
    parameters.ti = libtorrent.torrent_info(_described(libtorrent, size))
    parameters.save_path = str(place)
    # A torrent that is not started yet refuses who connects.
    parameters.flags &= ~(libtorrent.torrent_flags.paused | libtorrent.torrent_flags.auto_managed)
    if told["sends"]:
        parameters.flags |= libtorrent.torrent_flags.seed_mode
    handle = session.add_torrent(parameters)
    while handle.status().state not in (
        libtorrent.torrent_status.downloading,
        libtorrent.torrent_status.seeding,
    ):
        time.sleep(0.01)
    numbers = {name: libtorrent.find_metric_idx(name) for name in _COUNTERS}
    left: dict[str, Any] = {
        "version": libtorrent.__version__,
        "began_ns": None,
        "ended_ns": None,
        "received": 0,
        "before": 0,
        "resent": 0,
        "timeouts": 0,
    }
    host.begin()
    try:
        host.sleep_until(told["start_ns"])
        if told["sends"]:
            left["began_ns"] = host.now()
            handle.connect_peer((host.other, host.port))
        before: dict[str, int] = {}
        while left["ended_ns"] is None and host.now() < host.duration_ns:
            host.sleep_until(min(host.now() + _LOOK_NS, host.duration_ns))
            measuring = host.now() > host.warmup_ns
            counts = _counts(session, numbers)
            if not measuring or not before:
                before = counts
            left |= {"resent": counts[_COUNTERS[0]] - before[_COUNTERS[0]]}
            left |= {"timeouts": counts[_COUNTERS[1]] - before[_COUNTERS[1]]}
            left["received"] = min(handle.status().total_payload_download, size)
            if not measuring:
                left["before"] = left["received"]
            is_over = told["stop_ns"] is not None and host.now() >= told["stop_ns"]
            if is_over or (not told["sends"] and left["received"] == told["size"]):
                left["ended_ns"] = host.now()
        session.pause()
    finally:
        host.leave(**left)


server = client


def _settings(libtorrent: Any, host: Host) -> dict[str, Any]:
    return {
        "listen_interfaces": f"{host.own}:{host.port}",
        **dict.fromkeys(("enable_dht", "enable_lsd", "enable_upnp", "enable_natpmp"), False),
        **dict.fromkeys(("enable_incoming_tcp", "enable_outgoing_tcp"), False),
        # Peers find nothing to encrypt (pe_disabled).
        "in_enc_policy": 2,
        "out_enc_policy": 2,
        "disable_hash_checks": True,
        "utp_target_delay": host.arguments["target_ms"],
        "alert_mask": 0,
        "alert_queue_size": 10_000,
    }


def _described(libtorrent: Any, size: int) -> dict[bytes, Any]:
    """Return the torrent of a file of so many blanks; nobody checks its digests."""
    pieces = -(-size // _PIECE)
    digest = hashlib.sha1(b"", usedforsecurity=False).digest()
    return {
        b"info": {b"name": b"blanks", b"length": size, b"piece length": _PIECE, b"pieces": digest * pieces}
    }


def _counts(session: Any, numbers: dict[str, int]) -> dict[str, int]:
    """Return counts of a session; asked for, they come as an alert."""
    session.post_session_stats()
    session.wait_for_alert(100)
    for alert in session.pop_alerts():
        if type(alert).__name__ == "session_stats_alert":
            return {name: int(alert.values[name]) for name in numbers}
    return dict.fromkeys(numbers, 0)
