"""Readers of web pages: objects one after another over a persistent connection, a new one for every page.

A page load time runs from the SYN to the last byte of the last object, as in the simulation.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from programs.http11 import ends
from programs.http11.client import Connection, HttpError, open_connection

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_PAUSE_OF_FAILED_S = 0.1


def server(host: Host) -> None:
    """Answer, and leave behind what the kernel told of each connection."""
    ends.serve(host)


def client(host: Host) -> None:
    """Load pages until the end, and leave behind a row for each load."""
    rows: list[dict[str, Any]] = []
    starts = host.arguments["starts_ns"]
    ends.run(host, [_read(host, user, start_ns, rows) for user, start_ns in enumerate(starts)])
    host.leave(loads=rows)


async def _read(host: Host, user: int, start_ns: int, rows: list[dict[str, Any]]) -> None:
    """Load one page after another, until this is cancelled."""
    await ends.sleep_until(host, start_ns)
    while True:
        row = {"user": user, "start_ns": host.now(), "complete": False, "port": 0}
        rows.append(row)
        connection = None
        try:
            connection = await open_connection(
                ends.socket_of(host), (host.other, host.port), host.arguments["request"]
            )
            row["port"] = connection.port
            await _load(connection, host.arguments["objects"])
            row["complete"] = True
        except (OSError, HttpError, asyncio.IncompleteReadError) as error:
            row["failed"] = str(error)
        finally:
            row["plt_ns"] = host.now() - row["start_ns"]
            if connection is not None:
                connection.look()
                row["retransmits"], row["repair_ns"] = (
                    connection.watched.retransmits,
                    connection.watched.repair_ns,
                )
                connection.close()
        await asyncio.sleep(host.arguments["pause_ns"] / 1e9 if row["complete"] else _PAUSE_OF_FAILED_S)


async def _load(connection: Connection, objects: list[int]) -> None:
    for size in objects:
        async for _ in connection.get(size):
            pass
