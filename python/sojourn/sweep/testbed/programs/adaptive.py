"""Viewers of adaptive video: the simulator's own players fetch segments over HTTP.

Clips, players, their draws and the times at which connections are opened are those of the simulated viewers
(`_core.viewings`); one GET a segment over a persistent connection, and a new one after a download that was
given up. The session begins when the connection stands; the wait for the first picture, when it is asked for.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from programs.http11 import ends
from programs.http11.client import Connection, open_connection

from sojourn import _core

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_COLUMNS = ("level", "rate_kbps", "bytes", "before_s", "after_s", "estimate_kbps", "given_up")
_TIMES = ("request_s", "first_byte_s", "arrive_s")


def server(host: Host) -> None:
    """Answer with segments of the sizes that are asked for."""
    ends.serve(host)


def client(host: Host) -> None:
    """Watch until the clips are over or the run is; leave behind what each viewer did."""
    point = (host.folder / "point.json").read_text(encoding="utf-8")
    mine = [viewing for viewing in _core.viewings(point) if viewing.entry == host.arguments["entry"]]
    viewers = [_Viewer(host, viewing) for viewing in mine]
    ends.run(host, [viewer.watch() for viewer in viewers])
    host.leave(viewers=[left for viewer in viewers if (left := viewer.left()) is not None])


class _Viewer:
    """One viewer and its connection."""

    def __init__(self, host: Host, viewing: Any) -> None:
        self.host, self.viewing = host, viewing
        self.opened_ns: int | None = None
        self.begun_ns: int | None = None
        self.connection: Connection | None = None

    def _now_s(self) -> float:
        return (self.host.now() - (self.begun_ns or 0)) / 1e9

    async def _open(self) -> Connection:
        host = self.host
        return await open_connection(ends.socket_of(host), (host.other, host.port), host.arguments["request"])

    async def watch(self) -> None:
        """Do what the player says, until the clip has come."""
        await ends.sleep_until(self.host, round(self.viewing.start_s * 1e9))
        self.opened_ns = self.host.now()
        self.connection = await self._open()
        self.begun_ns = self.host.now()
        while (step := self.viewing.next(self._now_s())) is not None:
            if isinstance(step, float):
                await asyncio.sleep(step)
                continue
            while step is not None:
                step = await self._fetch(step[2])
        self.connection.close()

    async def _fetch(self, size: int) -> tuple[int, int, int] | None:
        """Fetch a segment; return what is to be fetched in its place, if it was given up."""
        assert self.connection is not None
        first_s = None
        coming = self.connection.get(size)
        async for came in coming:
            now_s = self._now_s()
            first_s = now_s if first_s is None else first_s
            if (instead := self.viewing.progress(first_s, now_s, came)) is not None:
                await coming.aclose()
                self.connection.abort()
                self.connection = await self._open()
                return instead
        self.viewing.arrived(first_s, self._now_s())
        return None

    def left(self) -> dict[str, Any] | None:
        """Return what it did; None if the run ended before it began."""
        if self.opened_ns is None:
            return None
        table = self.viewing.segments()
        played_s, stalls = self.viewing.playback(self._now_s())
        segment_s, _, sizes = self.viewing.clip()
        return {
            "user": self.viewing.user,
            "opened_ns": self.opened_ns,
            "begun_ns": self.begun_ns,
            "segments": len(sizes),
            "segment_s": segment_s,
            "played_s": played_s,
            "stalls": stalls,
            "rows": {name: table[name].tolist() for name in (*_COLUMNS, *_TIMES)},
        }
